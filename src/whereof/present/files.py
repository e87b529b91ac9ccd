"""Write answers and retrainings to files; the ending decides: text, Parquet or JSON lines."""

import csv
import gzip
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Final, Generic, TextIO, TypeVar

from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Events
from whereof.predict.answers import Answer, Answers
from whereof.run.files import check_free, draft_of

Result = TypeVar("Result")
Write = Callable[[Result], None]
Document = dict[str, Any]
"""Plain JSON values."""

_ENDS_A_CELL: Final = dict.fromkeys(map(ord, "\t\n\r"), " ")
_PARQUET_ROWS: Final = 1 << 16
_TYPES: Final = {
    "int64": "seed fact_id n_adjacent rank rank_before rank_after prediction_rank",
    "float64": "probability score rating influence probability_without score_without share "
    "prediction_probability prediction_score original predicted actual original_score actual_score",
    "bool": "top_answer_changes",
    "list int64": "removed",
}
"""The columns of every Arrow type; all others are text."""


@dataclass(frozen=True)
class RowFormat(Generic[Result]):
    """How a result appears in a file: as rows of a table, or as one document."""

    columns: Sequence[str]
    """A text file holds a list in one cell, separated by blanks."""
    rows: Callable[[Result], Iterable[tuple[Any, ...]]]
    document: Callable[[Result], dict[str, Any]]


def find_ending(path: Path) -> tuple[str, bool]:
    """The ending that says the format of a file, and whether the file is packed."""
    name = path.name.lower()
    packed, ending = name.endswith(".gz"), Path(name.removesuffix(".gz")).suffix
    if ending not in _TEXTS and (packed or ending != ".parquet"):
        allowed = f"{', '.join(_TEXTS)}, each also with .gz, or .parquet"
        raise WhereofError(f"{path}: unknown ending {path.suffix!r}; choose from {allowed}")
    return ending, packed


@contextmanager
def new_file(path: Path, layout: RowFormat[Result]) -> Iterator[Write[Result]]:
    """A new file in the format of its ending. It gets its name when it is complete."""
    ending, packed = find_ending(path)
    with draft_of(path) as draft:
        if ending == ".parquet":
            with _parquet(draft, layout) as write:
                yield write
            return
        with draft.open("wb") as raw:
            # Without a name and a time, the same results give the same bytes.
            binary: Any = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw
            with io.TextIOWrapper(binary, encoding="utf-8", newline="") as file:
                yield _TEXTS[ending](file, layout)


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
def _parquet(path: Path, layout: RowFormat[Result]) -> Iterator[Write[Result]]:
    import pyarrow as pa
    from pyarrow import parquet

    types = {name: kind for kind, names in _TYPES.items() for name in names.split()}
    lists = {"list int64": pa.list_(pa.int64())}
    kinds = {name: types.get(name, "string") for name in layout.columns}
    schema = pa.schema((name, lists.get(kind, kind)) for name, kind in kinds.items())
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


_FIELDS = tuple(field.name for field in fields(Answer))
_answer_values = attrgetter(*_FIELDS)


def _answer_rows(answers: Answers) -> Iterator[tuple[Any, ...]]:
    """One row per answer: the query, then the answer."""
    query = (*answers.query.values(), answers.asks)
    return (query + _answer_values(answer) for answer in answers.answers)


_ANSWERS = RowFormat(
    ("subject", "relation", "object", "asks", *_FIELDS), _answer_rows, Answers.to_dict
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
    check_file(path, force=force)
    with new_file(path, _ANSWERS) as write:
        for number, each in enumerate(answers, 1):
            write(each)
            n_answers += len(each.answers)
            events.emit(Advanced(number, n_queries, "queries"))
            if events.should_stop():
                raise Interrupted("interrupted; nothing was written")
    return Written(str(path), n_queries, n_answers, time.perf_counter() - start)


_RETRAINING_COLUMNS = (
    *("protocol", "method", "k", "seed", "constraint", "subject", "relation", "object", "asks"),
    *("removed", "original", "predicted", "actual", "original_score", "actual_score"),
    *("rank_before", "rank_after", "top_before", "top_after", "top_released"),
)
_RETRAININGS: RowFormat[Document] = RowFormat(
    _RETRAINING_COLUMNS,
    lambda row: [itemgetter(*_RETRAINING_COLUMNS)(row)],
    lambda row: row | {"removed": list(row["removed"])},
)


def check_file(path: Path, *, force: bool) -> None:
    """Raise an error if a file cannot be written, before any work is done."""
    find_ending(path)
    check_free(path, force=force)


def write_retrainings(path: Path, rows: Iterable[Document], *, force: bool = False) -> None:
    """Retrainings in the format of the file's ending, one row each."""
    check_file(path, force=force)
    with new_file(path, _RETRAININGS) as write:
        for row in rows:
            write(row)
