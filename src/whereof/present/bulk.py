"""Explanations of many predictions as a file, with a journal that lets work continue."""

import hashlib
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from whereof._version import __version__
from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Events
from whereof.explain.explanation import FACT_COLUMNS, Explanation, fact_row
from whereof.explain.options import ExplainOptions
from whereof.predict.answers import Failed
from whereof.predict.prediction import Listed
from whereof.present.files import Document, RowFormat, find_format, new_file, write_commas
from whereof.run.files import check_free, lock, writing_to


@dataclass(frozen=True)
class BulkTask:
    """The file to write, and what to do with unfinished work for it."""

    path: Path
    force: bool = False
    """Start from the beginning and overwrite."""
    resume: bool = False
    """Continue unfinished work, and fail if there is none; without it, continue or start."""

    def __post_init__(self) -> None:
        if self.force and self.resume:
            raise WhereofError("--resume continues and --force starts again; choose one of them")

    @property
    def journal(self) -> Path:
        return self.path.with_name(f".{self.path.name}.unfinished")


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
def open_journal(task: BulkTask, header: dict[str, Any]) -> Iterator[Unfinished]:
    """The journal of a task, locked by this process and removed when the work is done."""
    path, header = task.journal, json.loads(_line(header))
    there = path.exists()
    if not there or task.force:
        check_free(task.path, force=task.force)
    if task.resume and not there:
        raise WhereofError(f"no unfinished work for {task.path}; leave out --resume to begin it")
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        held = _hold(task)
    with held, path.open("r+b") as file:
        start = 0 if task.force else _check_header(task, file, header)
        with writing_to(path):
            n_done = _go_on(file, start, header)
        yield Unfinished(path, file, n_done)
    path.unlink()


def _hold(task: BulkTask) -> IO[bytes]:
    try:
        return lock(task.journal)
    except WhereofError:
        raise WhereofError(f"{task.path} is being written by another process") from None


def _check_header(task: BulkTask, file: IO[bytes], header: dict[str, Any]) -> int:
    """The length of the header line, which must match; 0 if there is none yet."""
    line = file.readline()
    if not line.endswith(b"\n"):
        return 0
    found = _parsed(line)
    if found != header:
        names = [name for name in header if not found or found.get(name) != header[name]]
        raise WhereofError(
            f"unfinished work for {task.path} has another {_listed(names)}: "
            "finish it as it was begun, choose another file, or start again with --force"
        )
    return len(line)


def _go_on(file: IO[bytes], start: int, header: dict[str, Any]) -> int:
    """Truncate a file after its last complete line; return the number of records."""
    end, n_done = start, 0
    if start:
        for line in file:
            if not line.endswith(b"\n") or _parsed(line) is None:
                break
            end, n_done = end + len(line), n_done + 1
    file.seek(end)
    file.truncate()
    if not start:
        file.write(_line(header))
        file.flush()
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
_TYPES = {
    **dict.fromkeys(("n_adjacent", "fact_id", "rank", "prediction_rank"), "int64"),
    **dict.fromkeys(("influence", "probability_without", "share"), "float64"),
    **dict.fromkeys(("score_without", "rating"), "float64"),
    **dict.fromkeys(("prediction_probability", "prediction_score"), "float64"),
    "top_answer_changes": "bool",
}
_COLUMNS = (*(f"prediction_{name}" for name in _PREDICTION), *_COMMON, *FACT_COLUMNS)
_ALWAYS = ("prediction", *_COMMON, "facts")
_WHERE_ASKED = ("contrast", "without", "stability", "graph", "notes")


def _explanation_rows(document: Document) -> Iterator[tuple[Any, ...]]:
    """One row per fact: the prediction, then the fact."""
    prediction = [document["prediction"][name] for name in _PREDICTION]
    common = (*prediction, *(document[name] for name in _COMMON))
    for fact in document["facts"]:
        yield (*common, *fact_row(fact))


def _fact_rows(document: Document) -> Iterator[tuple[Any, ...]]:
    return map(fact_row, document["facts"])


def _layout(columns: Iterable[str], rows: Callable[[Document], Any]) -> RowFormat[Document]:
    return RowFormat({name: _TYPES.get(name, "string") for name in columns}, rows, dict)


_EXPLANATIONS, _FACTS = _layout(_COLUMNS, _explanation_rows), _layout(FACT_COLUMNS, _fact_rows)


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
    task: BulkTask,
    *,
    run: str,
    device: str = "cpu",
    events: Events | None = None,
) -> WrittenExplanations:
    """Explain predictions into a file, in the format of its ending.

    Finished explanations are kept in a journal, and a later call with the same `run`, `device` and
    `options` continues after them.
    """
    start, fill = time.perf_counter(), find_format(task.path, _EXPLANATIONS)
    events = events or Events()
    explain(())  # raises errors before anything is written
    with open_journal(task, _header(run, device, predictions, options)) as journal:
        n_resumed, n_facts = journal.n_done, 0
        for result in explain(predictions[n_resumed:]):
            _keep(journal, predictions[journal.n_done].line, result)
            events.emit(Advanced(journal.n_done, len(predictions), "predictions"))
            if events.should_stop():
                raise Interrupted("interrupted; the same command continues where it stopped")
        failed = tuple(_failed(record) for record in journal.records() if "failed" in record)
        if len(failed) < len(predictions):
            with new_file(task.path, fill) as write:
                for document in (each for each in journal.records() if "failed" not in each):
                    write(document)
                    n_facts += len(document["facts"])
    seconds = time.perf_counter() - start
    n_predictions = len(predictions) - len(failed)
    return WrittenExplanations(str(task.path), n_predictions, n_facts, n_resumed, failed, seconds)


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
    """The document of an explanation."""
    document = explanation.to_dict()
    return {name: document[name] for name in _ALWAYS} | {
        name: document[name] for name in _WHERE_ASKED if document[name]
    }


def _failed(record: Document) -> Failed:
    values = record["failed"]
    return Failed(**values | {"prediction": tuple(values["prediction"])})
