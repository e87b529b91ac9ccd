"""Explanations of many predictions as a file, with a journal that lets work continue."""

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, get_type_hints

import msgspec

from whereof._version import __version__
from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Events
from whereof.explain.explanation import FACT_COLUMNS, ExplainedFact, Explanation, fact_row
from whereof.explain.options import ExplainOptions
from whereof.predict.answers import Failed
from whereof.predict.prediction import Listed
from whereof.present.files import Document, RowFormat, find_ending, json_line, new_file, write_text
from whereof.run.files import check_free, lock, writing_to


class Unfinished:
    """Finished results, one JSON document per line, after a header line that describes the work."""

    def __init__(self, path: Path, file: IO[bytes], n_done: int) -> None:
        self._path, self._file = path, file
        self.n_done = n_done

    def add(self, record: Document) -> None:
        """Write one more record to disk."""
        _write(self._file, record)
        self.n_done += 1

    def records(self) -> Iterator[dict[str, Any]]:
        """All records, in order."""
        with self._path.open("rb") as file:
            file.readline()
            yield from map(json.loads, file)


@contextmanager
def open_journal(
    out: Path, header: Document, *, force: bool = False, resume: bool = False
) -> Iterator[Unfinished]:
    """The journal of a file's work, locked by this process and removed when the work is done."""
    path = out.with_name(f".{out.name}.unfinished")
    there = path.exists()
    if not there or force:
        check_free(out, force=force)
    if resume and not there:
        raise WhereofError(f"no unfinished work for {out}; leave out --resume to begin it")
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            held = lock(path)
        except WhereofError:
            raise WhereofError(
                f"{out} is being written by another process; wait, or choose another file"
            ) from None
    with held, path.open("r+b") as file:
        with writing_to(path):
            n_done = _continue(file, out, json.loads(json_line(header)), force=force)
        yield Unfinished(path, file, n_done)
    path.unlink()


def _continue(file: IO[bytes], out: Path, header: Document, *, force: bool) -> int:
    """Truncate a journal after its last complete line; return the number of records."""
    end, n_lines = 0, 0
    for line in () if force else file:
        found = _parsed(line)
        if not n_lines and line.endswith(b"\n") and found != header:
            others = [name for name in header if not found or found.get(name) != header[name]]
            raise WhereofError(
                f"unfinished work for {out} has another {' and '.join(others)}: "
                "finish it as it was begun, choose another file, or start again with --force"
            )
        if found is None:
            break
        end, n_lines = end + len(line), n_lines + 1
    file.seek(end)
    file.truncate()
    if not n_lines:
        _write(file, header)
    return max(n_lines - 1, 0)


def _write(file: IO[bytes], record: Document) -> None:
    file.write(json_line(record).encode() + b"\n")
    file.flush()


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The document of a line; None if the line was cut short or damaged."""
    try:
        found = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


Explain = Callable[[Sequence[Listed]], Iterator[Explanation | Failed]]
"""Explains predictions in order."""

_PREDICTION = ("subject", "relation", "object", "probability", "score", "rank")
_COMMON = ("method", "of", "n_adjacent")
_ALWAYS = ("prediction", *_COMMON, "facts")
_WHERE_ASKED = ("contrast", "without", "stability", "graph", "notes")


def _fact_rows(document: Document) -> Iterator[Sequence[Any]]:
    return map(fact_row, document["facts"])


def _explanation_rows(document: Document) -> Iterator[Sequence[Any]]:
    """One row per fact: the prediction, then the fact."""
    prediction = [document["prediction"][name] for name in _PREDICTION]
    common = (*prediction, *(document[name] for name in _COMMON))
    return ((*common, *row) for row in _fact_rows(document))


def _layout(names: Iterable[str], rows: Callable[[Document], Iterator[Sequence[Any]]]) -> RowFormat:
    """Columns with the types of the records; labels are text."""
    hints = get_type_hints(Explanation)
    hints |= get_type_hints(ExplainedFact) | {"parts": str}
    predicted = get_type_hints(hints["prediction"])
    hints |= {f"prediction_{name}": kind for name, kind in predicted.items()}
    return RowFormat({name: hints.get(name, str) for name in names}, rows)


_FACTS = _layout(FACT_COLUMNS, _fact_rows)
_PREDICTED = (f"prediction_{name}" for name in _PREDICTION)
_EXPLANATIONS = _layout((*_PREDICTED, *_COMMON, *FACT_COLUMNS), _explanation_rows)


@dataclass(frozen=True)
class WrittenExplanations:
    """The number of explanations, and the file they are in."""

    path: str
    n_predictions: int
    """Number of explained predictions, including those of an earlier call."""
    n_facts: int
    n_resumed: int
    """Number that an earlier, interrupted call has finished."""
    failed: tuple[Failed, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def write_explanations(
    explain: Explain,
    predictions: Sequence[Listed],
    options: ExplainOptions,
    out: Path,
    *,
    run: str,
    device: str = "cpu",
    force: bool = False,
    resume: bool = False,
    events: Events | None = None,
) -> WrittenExplanations:
    """Explain predictions into a file, in the format of its ending.

    Finished explanations are kept in a journal, and a later call with the same `run`, `device` and
    `options` continues after them. `force` starts again and overwrites; `resume` fails if there
    is nothing to continue.
    """
    if force and resume:
        raise WhereofError("--resume continues and --force starts again; choose one of them")
    start = time.perf_counter()
    find_ending(out)
    events = events or Events()
    explain(())  # raises errors before anything is written
    asked = hashlib.sha256(repr([(each.line, each.asked) for each in predictions]).encode())
    header = {  # what must be equal in a later call that continues the work
        "whereof version": __version__,
        "run": run,
        "device": device,
        "set of options": options.to_dict(),
        "list of predictions": asked.hexdigest(),
    }
    with open_journal(out, header, force=force, resume=resume) as journal:
        n_resumed, n_facts = journal.n_done, 0
        for result in explain(predictions[n_resumed:]):
            _keep(journal, predictions[journal.n_done].line, result)
            events.emit(Advanced(journal.n_done, len(predictions), "predictions"))
            if events.should_stop():
                raise Interrupted("interrupted; run the same command again to continue")
        records = (record["failed"] for record in journal.records() if "failed" in record)
        failed = msgspec.convert([*records], tuple[Failed, ...])
        if len(failed) < len(predictions):
            with new_file(out, _EXPLANATIONS) as write:
                for document in (each for each in journal.records() if "failed" not in each):
                    write(document)
                    n_facts += len(document["facts"])
    seconds = time.perf_counter() - start
    n_predictions = len(predictions) - len(failed)
    return WrittenExplanations(str(out), n_predictions, n_facts, n_resumed, failed, seconds)


def facts_csv(explanation: Explanation) -> str:
    """The facts of one explanation as CSV."""
    file = io.StringIO(newline="")
    write_text(file, _FACTS, ".csv")(explanation.to_dict())
    return file.getvalue()


def _keep(journal: Unfinished, line: int, result: Explanation | Failed) -> None:
    if isinstance(result, Explanation):
        document = result.to_dict()
        names = (*_ALWAYS, *(name for name in _WHERE_ASKED if document[name]))
        try:
            journal.add({name: document[name] for name in names})
            return
        except ValueError:  # JSON has no such numbers
            stated = result.prediction
            prediction = tuple(filter(None, (stated.subject, stated.relation, stated.object)))
            result = Failed(line, prediction, "its influences are not finite: too large to compute")
    journal.add({"failed": asdict(result)})
