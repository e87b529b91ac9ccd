"""Explanations of many predictions as a file, with a journal that lets work continue."""

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from whereof._version import __version__
from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Events
from whereof.explain.explanation import FACT_COLUMNS, Explanation, fact_row
from whereof.explain.options import ExplainOptions
from whereof.predict.answers import Failed
from whereof.predict.prediction import Listed
from whereof.present.files import Document, RowFormat, find_ending, new_file, write_commas
from whereof.run.files import check_free, lock, writing_to


class Unfinished:
    """Finished results, one JSON document per line, after a header line that describes the work."""

    def __init__(self, path: Path, file: IO[bytes], n_done: int) -> None:
        self._path, self._file = path, file
        self.n_done = n_done

    def add(self, record: dict[str, Any]) -> None:
        """Write one more record to disk."""
        self._file.write(_line(record))
        self._file.flush()
        self.n_done += 1

    def records(self) -> Iterator[dict[str, Any]]:
        """All records, in order."""
        with self._path.open("rb") as file:
            file.readline()
            yield from map(json.loads, file)


@contextmanager
def open_journal(
    out: Path, header: dict[str, Any], *, force: bool = False, resume: bool = False
) -> Iterator[Unfinished]:
    """The journal of a file's work, locked by this process and removed when the work is done."""
    path, header = out.with_name(f".{out.name}.unfinished"), json.loads(_line(header))
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
            n_done = _continue(file, out, header, force=force)
        yield Unfinished(path, file, n_done)
    path.unlink()


def _continue(file: IO[bytes], out: Path, header: dict[str, Any], *, force: bool) -> int:
    """Truncate a journal after its last complete line; return the number of records."""
    first = b"" if force else file.readline()
    end, n_done = len(first), 0
    if not first.endswith(b"\n"):
        file.seek(0)
        file.truncate()
        file.write(_line(header))
        file.flush()
        return 0
    found = _parsed(first)
    if found != header:
        names = [name for name in header if not found or found.get(name) != header[name]]
        raise WhereofError(
            f"unfinished work for {out} has another {_listed(names)}: "
            "finish it as it was begun, choose another file, or start again with --force"
        )
    for line in file:
        if not line.endswith(b"\n") or _parsed(line) is None:
            break
        end, n_done = end + len(line), n_done + 1
    file.seek(end)
    file.truncate()
    return n_done


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


Explain = Callable[[Sequence[Listed]], Iterator[Explanation | Failed]]
"""Explains predictions in order."""

_PREDICTION = ("subject", "relation", "object", "probability", "score", "rank")
_COMMON = ("method", "of", "n_adjacent")
_COLUMNS = (*(f"prediction_{name}" for name in _PREDICTION), *_COMMON, *FACT_COLUMNS)
_ALWAYS = ("prediction", *_COMMON, "facts")
_WHERE_ASKED = ("contrast", "without", "stability", "graph", "notes")


def _explanation_rows(document: Document) -> Iterator[tuple[Any, ...]]:
    """One row per fact: the prediction, then the fact."""
    prediction = [document["prediction"][name] for name in _PREDICTION]
    common = (*prediction, *(document[name] for name in _COMMON))
    for fact in document["facts"]:
        yield (*common, *fact_row(fact))


_EXPLANATIONS = RowFormat(_COLUMNS, _explanation_rows, dict)
_FACTS: RowFormat[Document] = RowFormat(
    FACT_COLUMNS, lambda document: map(fact_row, document["facts"]), dict
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
    header = _header(run, device, predictions, options)
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
    write_commas(file, _FACTS)(explanation.to_dict())
    return file.getvalue()


def _header(
    run: str, device: str, predictions: Sequence[Listed], options: ExplainOptions
) -> dict[str, Any]:
    """What must be equal in a later call that continues the work."""
    asked = hashlib.sha256(repr([(each.line, each.asked) for each in predictions]).encode())
    return {
        "whereof version": __version__,
        "run": run,
        "device": device,
        "set of options": options.to_dict(),
        "list of predictions": asked.hexdigest(),
    }


def _keep(journal: Unfinished, line: int, result: Explanation | Failed) -> None:
    if isinstance(result, Explanation):
        try:
            journal.add(_document(result))
            return
        except ValueError:  # JSON has no such numbers
            names = (result.prediction.subject, result.prediction.relation)
            prediction = tuple(filter(None, (*names, result.prediction.object)))
            result = Failed(line, prediction, "its influences are not finite: too large to compute")
    journal.add({"failed": asdict(result)})


def _document(explanation: Explanation) -> Document:
    document = explanation.to_dict()
    names = (*_ALWAYS, *(name for name in _WHERE_ASKED if document[name]))
    return {name: document[name] for name in names}
