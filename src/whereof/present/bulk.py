"""Explanations of many predictions as a file, with a journal that lets work continue."""

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, get_type_hints

import msgspec

from whereof._version import __version__
from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Events
from whereof.explain.explanation import FACT_COLUMNS, ExplainedFact, Explanation, fact_row
from whereof.predict.answers import Failed
from whereof.predict.prediction import Listed
from whereof.present.files import Document, RowFormat, find_ending, json_line, new_file, write_text
from whereof.run.files import check_free, lock, writing_to


class Unfinished:
    """Finished results, one JSON document per line, after a header line that describes the work."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self.n_done = -1  # the header does not count

    def add(self, record: Document) -> None:
        """Write one more record to disk."""
        self._file.write(json_line(record).encode() + b"\n")
        self._file.flush()
        self.n_done += 1

    def begin(self, header: Document, out: Path, *, force: bool) -> None:
        """Go on after the last complete line, if the header is the same; or start again."""
        end, header = 0, json.loads(json_line(header))
        for line in () if force else self._file:
            try:
                found = json.loads(line)
            except ValueError:  # cut short or damaged
                found = None
            if not line.endswith(b"\n") or (end and found is None):
                break
            if not end and found != header:
                found = found if isinstance(found, dict) else {}
                others = [name for name in header if found.get(name) != header[name]]
                raise WhereofError(
                    f"unfinished work for {out} has another {' and '.join(others)}: "
                    "finish it as it was begun, choose another file, or start again with --force"
                )
            end, self.n_done = end + len(line), self.n_done + 1
        self._file.seek(end)
        self._file.truncate()
        if not end:
            self.add(header)

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
        busy = f"{out} is being written by another process; wait, or choose another file"
        held = lock(path, busy)
    with held, path.open("r+b") as file:
        journal = Unfinished(path, file)
        with writing_to(path):
            journal.begin(header, out, force=force)
        yield journal
    path.unlink()


_PREDICTION = ("subject", "relation", "object", "probability", "score", "rank")
_COMMON = ("method", "of", "n_adjacent")
_WHERE_ASKED = ("contrast", "without", "stability", "graph", "notes")


def _fact_rows(document: Document) -> Iterator[Sequence[Any]]:
    return map(fact_row, document["facts"])


def _explanation_rows(document: Document) -> Iterator[Sequence[Any]]:
    prediction = [document["prediction"][name] for name in _PREDICTION]
    common = (*prediction, *(document[name] for name in _COMMON))
    return ((*common, *row) for row in _fact_rows(document))


_HINTS = get_type_hints(Explanation) | get_type_hints(ExplainedFact) | {"parts": str}
_FACTS = RowFormat({name: _HINTS.get(name, str) for name in FACT_COLUMNS}, _fact_rows)
_PREDICTED = get_type_hints(_HINTS["prediction"])
_EXPLANATIONS = RowFormat(
    {f"prediction_{name}": _PREDICTED[name] for name in _PREDICTION}
    | {name: _HINTS[name] for name in _COMMON}
    | dict(_FACTS.columns),
    _explanation_rows,
)


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
    explain: Callable[[Sequence[Listed]], Iterator[Explanation | Failed]],
    predictions: Sequence[Listed],
    work: Document,
    out: Path,
    *,
    force: bool = False,
    resume: bool = False,
    events: Events | None = None,
) -> WrittenExplanations:
    """Explain predictions into a file, in the format of its ending.

    Finished explanations are kept in a journal, and a later call that describes the same `work`
    continues after them. `force` starts again and overwrites; `resume` fails if there is nothing
    to continue.
    """
    if force and resume:
        raise WhereofError("--resume continues and --force starts again; choose one of them")
    start = time.perf_counter()
    find_ending(out)
    events = events or Events()
    explain(())  # raises errors before anything is written
    asked = hashlib.sha256(repr([(each.line, each.asked) for each in predictions]).encode())
    header = {"whereof version": __version__, **work, "list of predictions": asked.hexdigest()}
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
        del document["seconds"]
        asked = {name: part for name, part in document.items() if part or name not in _WHERE_ASKED}
        try:
            journal.add(asked)
            return
        except ValueError:  # JSON has no such numbers
            stated = result.prediction
            prediction = tuple(filter(None, (stated.subject, stated.relation, stated.object)))
            result = Failed(line, prediction, "its influences are not finite: too large to compute")
    journal.add({"failed": asdict(result)})
