"""Write answers, explanations and retrainings to files; the ending decides the format.

Explanations of many predictions have a journal, so that interrupted work can continue.
"""

import csv
import errno
import gzip
import hashlib
import io
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import compress, islice
from pathlib import Path
from typing import Any, Final, TextIO, get_type_hints

import msgspec

from whereof._version import __version__
from whereof.errors import Interrupted, WhereofError, need
from whereof.events import Advanced, Events, Note
from whereof.explain.explanation import FACT_COLUMNS, Explanation, fact_row
from whereof.predict.answers import ANSWER_COLUMNS, Answers, Failed, answer_rows
from whereof.predict.prediction import Listed
from whereof.present.rdf import annotations
from whereof.records import record_columns, record_row
from whereof.run.files import (
    check_free,
    draft_of,
    lock,
    read_sealed_line,
    sealed_line,
    writing_to,
)
from whereof.table import Cell, Table, arrow_schema, arrow_table
from whereof.types import PLACES

Document = Mapping[str, Any]
"""Plain JSON values."""
Write = Callable[[Document], None]

_ENDS_A_CELL: Final = dict.fromkeys(map(ord, "\t\n\r"), " ")
_FORMULA: Final = re.compile(r"[=+@\t\r]|-(?![\d.]+\Z)")
"""How a text begins that a spreadsheet would run; a negative number is none."""
_NOT_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEXTS: Final = (".tsv", ".txt", ".csv", ".jsonl")


@dataclass(frozen=True)
class RowFormat:
    """How a document appears in a table; a file of JSON lines has the document itself."""

    columns: Mapping[str, Any]
    """Types by name, such as `float | None`."""
    rows: Callable[[Document], Iterable[Iterable[Any]]]
    others: Mapping[str, Callable[[TextIO], Write]] = field(default_factory=dict)
    """Formats that are not tables, by the ending of their files."""


def find_ending(path: Path, others: Iterable[str] = ()) -> tuple[str, bool]:
    """The ending that says the format of a file, and whether the file is packed.

    others: endings besides those of tables.
    """
    name, texts = path.name.lower(), (*_TEXTS, *others)
    packed, ending = name.endswith(".gz"), Path(name.removesuffix(".gz")).suffix
    if ending not in texts and (packed or ending != ".parquet"):
        allowed = f"{', '.join(texts)}, each also with .gz, or .parquet"
        raise WhereofError(f"{path}: unknown ending {path.suffix!r}; choose from {allowed}")
    return ending, packed


def check_output(
    path: Path, others: Iterable[str] = (), *, force: bool, inputs: Sequence[Path] = ()
) -> None:
    """Raise an error if a file cannot be written, before any work is done."""
    find_ending(path, others)
    check_free(path, force=force, inputs=inputs)


@contextmanager
def new_file(path: Path, layout: RowFormat) -> Iterator[Write]:
    """A new file in the format of its ending. It gets its name when it is complete."""
    ending, packed = find_ending(path, layout.others)
    with draft_of(path) as draft:
        if ending == ".parquet":
            with _parquet(draft, layout) as write:
                yield write
            return
        with draft.open("wb") as raw:
            # Without a name and a time, the same results give the same bytes.
            binary: Any = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw
            with io.TextIOWrapper(binary, encoding="utf-8", newline="") as file:
                yield text_writer(file, layout, ending)


def text_writer(file: TextIO, layout: RowFormat, ending: str) -> Write:
    """JSON lines, or a table with a header. Only .csv quotes cells, where it is necessary."""
    if ending in layout.others:
        return layout.others[ending](file)
    if ending == ".jsonl":
        return lambda document: print(json_line(document), file=file)
    tabs = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}
    dialect: dict[str, Any] = {} if ending == ".csv" else tabs
    writer = csv.writer(_LineFeeds(file), lineterminator="\r\n", **dialect)
    writer.writerow(layout.columns)

    def write(document: Document) -> None:
        for row in layout.rows(document):
            writer.writerow([_cell(value, clean=bool(dialect)) for value in row])

    return write


def _cell(value: Any, *, clean: bool) -> Any:
    """A list becomes text, separated by blanks; clean: TABs and line ends become spaces.

    Otherwise, a text that a spreadsheet would run as a formula begins with an apostrophe.
    """
    value = " ".join(map(str, value)) if isinstance(value, tuple) else value
    if not isinstance(value, str):
        return value
    if clean:
        return value.translate(_ENDS_A_CELL)
    return f"'{value}" if _FORMULA.match(value) else value


class _LineFeeds:
    """Ends lines with a line feed. csv quotes a carriage return only if its own lines have one."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.removesuffix("\r\n") + "\n")


def json_line(document: Document) -> str:
    """A document as one line of JSON; raises ValueError for NaN and infinity."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


@contextmanager
def _parquet(path: Path, layout: RowFormat) -> Iterator[Write]:
    from pyarrow import parquet

    schema = arrow_schema(layout.columns)
    rows: list[Iterable[Any]] = []

    def flush() -> None:
        file.write_table(arrow_table(schema, rows))
        rows.clear()

    def write(document: Document) -> None:
        rows.extend(layout.rows(document))
        if len(rows) >= 1 << 16:
            flush()

    with parquet.ParquetWriter(path, schema) as file:
        yield write
        if rows:
            flush()


_ANSWERS = RowFormat(ANSWER_COLUMNS, answer_rows)


@dataclass(frozen=True)
class Written:
    """The number of answers, and the file they are in."""

    path: str
    n_queries: int
    n_answers: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def write_answers(
    path: Path, answers: Iterable[Answers], n_queries: int, *, force: bool, events: Events
) -> Written:
    """Write answers as they come, in the format of the file's ending."""
    start, n_answers = time.perf_counter(), 0
    check_output(path, force=force)
    with new_file(path, _ANSWERS) as write:
        for number, each in enumerate(answers, 1):
            write(each.to_dict())
            n_answers += len(each.answers)
            events.emit(Advanced(number, n_queries, "queries"))
            if events.should_stop():
                raise Interrupted("interrupted; nothing was written")
    return Written(str(path), n_queries, n_answers, time.perf_counter() - start)


def write_retrainings(path: Path, rows: Iterable[Document], force: bool) -> None:
    """Retrainings in the format of the file's ending, one row each."""
    from whereof.evaluate.sample import Retraining  # slow to import

    check_output(path, force=force)
    layout = RowFormat(get_type_hints(Retraining), lambda row: [row.values()])
    with new_file(path, layout) as write:
        for row in rows:
            write(row)


def write_suspicious(path: Path, facts: Sequence[Document], force: bool) -> None:
    """Suspicious facts in the format of the file's ending, one row each; no empty columns."""
    from whereof.evaluate.audit import SuspiciousFact  # slow to import

    check_output(path, force=force)
    types = record_columns(SuspiciousFact)
    columns = [*zip(*(record_row(fact, SuspiciousFact) for fact in facts), strict=True)]
    used = [any(value is not None for value in column) for column in columns]
    layout = RowFormat(
        dict(compress(types.items(), used)),
        lambda fact: [[*compress(record_row(fact, SuspiciousFact), used)]],
    )
    with new_file(path, layout) as write:
        for fact in facts:
            write(fact)


class Unfinished:
    """Finished results, one per line with a checksum, after a line that describes the work."""

    def __init__(self, path: Path, file: io.FileIO) -> None:
        self._path, self._file = path, file
        self.n_done = -1  # the header does not count

    def add(self, record: Document) -> None:
        line = sealed_line(record, ensure_ascii=False, allow_nan=False) + b"\n"
        with writing_to(self._path):
            if self._file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.n_done += 1

    def begin(self, header: Document, out: Path, *, force: bool) -> None:
        """Go on after the last complete line, if the header is the same; or start again."""
        end, header = 0, json.loads(json_line(header))
        for line in () if force else self._lines():
            try:
                found = read_sealed_line(line)
            except ValueError:  # cut short or damaged
                found = None
            if not line.endswith(b"\n") or (end and found is None):
                break
            if not end and found != header:
                found = found if isinstance(found, dict) else {}
                others = [name for name in header if found.get(name) != header[name]]
                raise WhereofError(
                    f"unfinished work for {out} has another {' and '.join(others)}: "
                    "finish it as it was begun, choose another file, or start again with force=True"
                )
            end, self.n_done = end + len(line), self.n_done + 1
        self._file.truncate(end)
        self._file.seek(end)
        if not end:
            self.add(header)

    def records(self) -> Iterator[dict[str, Any]]:
        yield from map(read_sealed_line, islice(self._lines(), 1, None))

    def _lines(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            yield from file


@contextmanager
def open_unfinished(
    out: Path, header: Document, *, force: bool, resume: bool
) -> Iterator[Unfinished]:
    """The journal of a file's work, locked by this process and removed when the work is done."""
    path = out.with_name(f".{out.name}.unfinished")
    there = path.exists()
    if not there or force:
        check_free(out, force=force)
    if resume and not there:
        raise WhereofError(f"no unfinished work for {out}; leave out resume=True to begin it")
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        busy = f"{out} is being written by another process; wait, or choose another file"
        held = lock(path, busy)
    # Without a buffer, closing the file after a full disk does not fail once more.
    with held, path.open("r+b", buffering=0) as file:
        journal = Unfinished(path, file)
        with writing_to(path):
            journal.begin(header, out, force=force)
        yield journal
    path.unlink()


_PREDICTION = (*PLACES[3], "probability", "score", "rank")
_COMMON = ("method", "of", "n_adjacent")
_WHERE_ASKED = (
    *("n_history", "contrast", "without", "stability", "graph", "groups", "seeds"),
    *("sweep_epochs", "reliability", "costs", "recommended", "notes"),
)


def _explanation_rows(document: Document) -> Iterator[Sequence[Any]]:
    prediction = [document["prediction"][name] for name in _PREDICTION]
    common = (*prediction, *(document[name] for name in _COMMON))
    estimate = document["estimate"]
    return ((*common, *fact_row(fact, estimate=estimate)) for fact in document["facts"])


_HINTS = get_type_hints(Explanation)
_PREDICTED = get_type_hints(_HINTS["prediction"])
_EXPLANATIONS = RowFormat(
    {f"prediction_{name}": _PREDICTED[name] for name in _PREDICTION}
    | {name: _HINTS[name] for name in _COMMON}
    | FACT_COLUMNS,
    _explanation_rows,
    {ending: partial(annotations, turtle=ending == ".ttl") for ending in (".ttl", ".nt")},
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
    notes: tuple[str, ...] = ()
    """Notes of the explanations, each once."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def write_explanations(
    explain: Callable[[Sequence[Listed]], Iterator[Explanation | Failed]],
    predictions: Sequence[Listed],
    work: Document,
    out: Path,
    *,
    force: bool,
    resume: bool,
    events: Events,
) -> WrittenExplanations:
    """Explain predictions into a file, in the format of its ending.

    Finished explanations are kept in a journal, and a later call that describes the same `work`
    continues after them. `force` starts again and overwrites; `resume` fails if there is nothing
    to continue.
    """
    if force and resume:
        raise WhereofError("resume=True continues and force=True starts again; choose one of them")
    start = time.perf_counter()
    find_ending(out, _EXPLANATIONS.others)
    explain(())  # raises errors before anything is written
    asked = hashlib.sha256(repr([(each.line, each.asked) for each in predictions]).encode())
    header = {"whereof version": __version__, **work, "list of predictions": asked.hexdigest()}
    with open_unfinished(out, header, force=force, resume=resume) as journal:
        n_resumed, n_facts, notes = journal.n_done, 0, dict[str, None]()
        for result in explain(predictions[n_resumed:]):
            _keep(journal, predictions[journal.n_done].line, result)
            for note in () if isinstance(result, Failed) else result.notes:
                if note not in notes:
                    events.emit(Note(note))
                    notes[note] = None
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
                    notes |= dict.fromkeys(document.get("notes", ()))
    seconds = time.perf_counter() - start
    n_predictions = len(predictions) - len(failed)
    counts = n_predictions, n_facts, n_resumed
    return WrittenExplanations(str(out), *counts, failed, seconds, (*notes,))


def check_explanation_file(path: Path, *, force: bool) -> None:
    """Raise an error if one explanation cannot be written to this file."""
    check_output(path, (".graphml", *_EXPLANATIONS.others), force=force)
    if find_ending(path, [".graphml", *_EXPLANATIONS.others])[0] == ".graphml":
        need("networkx", "networkx", "writing GraphML")


def write_explanation(path: Path, explanation: Explanation, force: bool) -> None:
    """Write one explanation in the format of the file's ending; it may also be a graph."""

    def graphml(file: TextIO) -> Write:
        lines = need("networkx", "networkx", "writing GraphML").generate_graphml

        def write(_: Document) -> None:
            # XML has no way to write control characters: they appear as \x1b.
            for line in lines(explanation.to_networkx()):
                print(_NOT_XML.sub(lambda found: ascii(found[0])[1:-1], line), file=file)

        return write

    check_explanation_file(path, force=force)
    layout = replace(_EXPLANATIONS, others={".graphml": graphml, **_EXPLANATIONS.others})
    with new_file(path, layout) as write:
        write(explanation.to_dict())


def facts_csv(explanation: Explanation) -> str:
    """The facts of one explanation as CSV."""
    file = io.StringIO(newline="")
    row = partial(fact_row, estimate=explanation.estimate)
    layout = RowFormat(FACT_COLUMNS, lambda document: map(row, document["facts"]))
    text_writer(file, layout, ".csv")(explanation.to_dict())
    return file.getvalue()


def tables_csv(tables: Iterable[Table]) -> str:
    """All rows of some tables as one CSV; its first column says which table a row is from."""
    found = [*tables]
    every = dict.fromkeys(column.name for table in found for column in table.columns)

    def rows(_: Document) -> Iterator[list[Any]]:
        for table in found:
            own = [column.name for column in table.columns]
            for row in table.rows:
                values = (each.value if isinstance(each, Cell) else each for each in row)
                named = dict(zip(own, values, strict=True))
                yield [table.name, *(named.get(name) for name in every)]

    file = io.StringIO(newline="")
    text_writer(file, RowFormat({"table": str} | dict.fromkeys(every), rows), ".csv")({})
    return file.getvalue()


def _keep(journal: Unfinished, line: int, result: Explanation | Failed) -> None:
    if isinstance(result, Explanation):
        document = result.to_dict()
        del document["seconds"]
        asked = {
            name: part
            for name, part in document.items()
            if part or part == 0 or name not in _WHERE_ASKED
        }
        try:
            journal.add(asked)
            return
        except ValueError:  # JSON has no such numbers
            stated = result.prediction
            prediction = tuple(filter(None, (stated.subject, stated.relation, stated.object)))
            result = Failed(line, prediction, "its influences are not finite: too large to compute")
    journal.add({"failed": asdict(result)})
