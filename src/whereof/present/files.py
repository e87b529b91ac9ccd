"""Write answers and retrainings to files; the ending decides: text, Parquet or JSON lines."""

import csv
import gzip
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, fields
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Generic, TextIO, TypeVar

from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Events
from whereof.predict.answers import Answer, Answers
from whereof.run.files import check_free, draft_of

Result = TypeVar("Result")
Write = Callable[[Result], None]
Format = Callable[[Path], AbstractContextManager[Write[Result]]]
"""Opens a file and closes it when every result is written."""
Document = dict[str, Any]
"""Plain JSON values."""

_ENDS_A_CELL: Final = dict.fromkeys(map(ord, "\t\n\r"), " ")
_PARQUET_ROWS: Final = 1 << 16


@dataclass(frozen=True)
class RowFormat(Generic[Result]):
    """How a result appears in a file: as rows of a table, or as one document."""

    columns: Mapping[str, str]
    """The columns of the table and their Arrow types. A text file holds a `list int64` in one
    cell, separated by blanks."""
    rows: Callable[[Result], Iterable[tuple[Any, ...]]]
    document: Callable[[Result], dict[str, Any]]


def find_format(path: Path, layout: RowFormat[Result]) -> Format[Result]:
    """The file format for the ending of a name."""
    name = path.name.lower()
    packed, ending = name.endswith(".gz"), Path(name.removesuffix(".gz")).suffix
    if ending == ".parquet" and not packed:
        return partial(_parquet, layout)
    if ending not in _TEXTS:
        allowed = f"{', '.join(_TEXTS)}, each also with .gz, or .parquet"
        raise WhereofError(f"{path}: unknown ending {path.suffix!r}; choose from {allowed}")
    return partial(_text, _TEXTS[ending], packed, layout)


@contextmanager
def _text(
    start: Callable[[TextIO, RowFormat[Result]], Write[Result]],
    packed: bool,
    layout: RowFormat[Result],
    path: Path,
) -> Iterator[Write[Result]]:
    with path.open("wb") as raw:
        # Without a name and a time, the same results give the same bytes.
        binary: Any = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw
        with io.TextIOWrapper(binary, encoding="utf-8", newline="") as file:
            yield start(file, layout)


def write_commas(file: TextIO, layout: RowFormat[Result]) -> Write[Result]:
    """A CSV table with a header; cells are quoted if necessary."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(layout.columns)
    return lambda result: writer.writerows(map(_joined, layout.rows(result)))


def _tabs(file: TextIO, layout: RowFormat[Result]) -> Write[Result]:
    """Cells without quotes; TABs and line ends become spaces."""
    file.write("\t".join(layout.columns) + "\n")
    return lambda result: file.writelines(
        "\t".join(map(_cell, _joined(row))) + "\n" for row in layout.rows(result)
    )


def _joined(row: tuple[Any, ...]) -> list[Any]:
    """A row with lists as text."""
    return [" ".join(map(str, cell)) if isinstance(cell, tuple) else cell for cell in row]


def _cell(value: Any) -> str:
    return "" if value is None else str(value).translate(_ENDS_A_CELL)


def _json_lines(file: TextIO, layout: RowFormat[Result]) -> Write[Result]:
    def write(result: Result) -> None:
        document = layout.document(result)
        file.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")

    return write


_TEXTS: dict[str, Callable[[TextIO, RowFormat[Any]], Write[Any]]] = {
    ".tsv": _tabs,
    ".txt": _tabs,
    ".csv": write_commas,
    ".jsonl": _json_lines,
}


@contextmanager
def _parquet(layout: RowFormat[Result], path: Path) -> Iterator[Write[Result]]:
    import pyarrow as pa
    from pyarrow import parquet

    types = {"list int64": pa.list_(pa.int64())}
    schema = pa.schema(
        [
            (name, types.get(kind) or pa.type_for_alias(kind))
            for name, kind in layout.columns.items()
        ]
    )
    rows: list[tuple[Any, ...]] = []

    def flush() -> None:
        columns = map(pa.array, zip(*rows, strict=True), schema.types)
        file.write_table(pa.Table.from_arrays(list(columns), schema=schema))
        rows.clear()

    def write(result: Result) -> None:
        rows.extend(layout.rows(result))
        if len(rows) >= _PARQUET_ROWS:
            flush()

    with parquet.ParquetWriter(path, schema) as file:
        yield write
        if rows:
            flush()


@contextmanager
def new_file(path: Path, fill: Format[Result]) -> Iterator[Write[Result]]:
    """A new file that gets its name when it is complete."""
    with draft_of(path) as draft, fill(draft) as write:
        yield write


_FIELDS = tuple(field.name for field in fields(Answer))
_ANSWER_TYPES = {"probability": "float64", "score": "float64", "rank": "int64"}
_ANSWER_COLUMNS = ("subject", "relation", "object", "asks", *_FIELDS)

_answer_values = attrgetter(*_FIELDS)


def _answer_rows(answers: Answers) -> Iterator[tuple[Any, ...]]:
    """One row per answer: the query, then the answer."""
    query = (*answers.query.values(), answers.asks)
    return (query + _answer_values(answer) for answer in answers.answers)


_ANSWERS = RowFormat(
    {name: _ANSWER_TYPES.get(name, "string") for name in _ANSWER_COLUMNS},
    _answer_rows,
    Answers.to_dict,
)


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
    path: Path,
    answers: Iterable[Answers],
    n_queries: int,
    *,
    force: bool = False,
    events: Events | None = None,
) -> Written:
    """Write answers as they come, in the format of the file's ending."""
    start, n_answers, events = time.perf_counter(), 0, events or Events()
    fill = find_format(path, _ANSWERS)
    check_free(path, force=force)
    with new_file(path, fill) as write:
        for number, each in enumerate(answers, 1):
            write(each)
            n_answers += len(each.answers)
            events.emit(Advanced(number, n_queries, "queries"))
            if events.should_stop():
                raise Interrupted("interrupted; nothing was written")
    return Written(str(path), n_queries, n_answers, time.perf_counter() - start)


_RETRAINING_COLUMNS = {
    "protocol": "string",
    "method": "string",
    "k": "string",
    "seed": "int64",
    **dict.fromkeys(("constraint", "subject", "relation", "object", "asks"), "string"),
    "removed": "list int64",
    **dict.fromkeys(("original", "predicted", "actual"), "float64"),
    **dict.fromkeys(("original_score", "actual_score"), "float64"),
    **dict.fromkeys(("rank_before", "rank_after"), "int64"),
    **dict.fromkeys(("top_before", "top_after", "top_released"), "string"),
}


def _retraining_rows(row: Document) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in _RETRAINING_COLUMNS)]


_RETRAININGS: RowFormat[Document] = RowFormat(
    _RETRAINING_COLUMNS, _retraining_rows, lambda row: row | {"removed": list(row["removed"])}
)


def check_retrainings(path: Path, *, force: bool) -> None:
    """Raise an error if the file cannot be written, before anything is retrained."""
    find_format(path, _RETRAININGS)
    check_free(path, force=force)


def write_retrainings(path: Path, rows: Iterable[Document], *, force: bool = False) -> None:
    """Retrainings in the format of the file's ending, one row each."""
    fill = find_format(path, _RETRAININGS)
    check_free(path, force=force)
    with new_file(path, fill) as write:
        for row in rows:
            write(row)
