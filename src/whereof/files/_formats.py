"""Formats of results by the ending of their file: a table as text or Parquet, or JSON lines."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TextIO, TypeVar

from whereof._extras import need
from whereof.errors import WhereofError

Result = TypeVar("Result")
Write = Callable[[Result], None]
Format = Callable[[Path], AbstractContextManager[Write[Result]]]
"""Opens a file, and closes it when every result is written."""

_ENDS_A_CELL = dict.fromkeys(map(ord, "\t\n\r"), " ")
_PARQUET_ROWS = 1 << 16


@dataclass(frozen=True)
class Layout(Generic[Result]):
    """What a file holds of a result: some rows of a table, or one document."""

    columns: Mapping[str, str]
    """Names of the table's columns, with their types as Arrow calls them; `list int64` is one of
    lists, which stand in one cell of a text, with blanks between."""
    rows: Callable[[Result], Iterable[tuple[Any, ...]]]
    document: Callable[[Result], dict[str, Any]]


def find_format(path: Path, layout: Layout[Result]) -> Format[Result]:
    """The format that a file's name ends in."""
    name = path.name.lower()
    packed, ending = name.endswith(".gz"), Path(name.removesuffix(".gz")).suffix
    if ending == ".parquet" and not packed:
        arrow = need("pyarrow", "parquet", "writing Parquet")
        parquet = need("pyarrow.parquet", "parquet", "writing Parquet")
        return partial(_parquet, arrow, parquet, layout)
    if ending not in _TEXTS:
        allowed = f"{', '.join(_TEXTS)}, each also with .gz, or .parquet"
        raise WhereofError(f"{path}: unknown ending {path.suffix!r}; choose from {allowed}")
    return partial(_text, _TEXTS[ending], packed, layout)


@contextmanager
def _text(
    start: Callable[[TextIO, Layout[Result]], Write[Result]],
    packed: bool,
    layout: Layout[Result],
    path: Path,
) -> Iterator[Write[Result]]:
    with path.open("wb") as raw:
        # Without name and time, the same results are the same bytes.
        binary: Any = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw
        with io.TextIOWrapper(binary, encoding="utf-8", newline="") as file:
            yield start(file, layout)


def write_commas(file: TextIO, layout: Layout[Result]) -> Write[Result]:
    """A table by commas, its heading first; cells are quoted where they must be."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(layout.columns)
    return lambda result: writer.writerows(map(_joined, layout.rows(result)))


def _tabs(file: TextIO, layout: Layout[Result]) -> Write[Result]:
    """Cells as they are, without quotes; a blank stands for what would end one."""
    file.write("\t".join(layout.columns) + "\n")
    return lambda result: file.writelines(
        "\t".join(map(_cell, _joined(row))) + "\n" for row in layout.rows(result)
    )


def _joined(row: tuple[Any, ...]) -> list[Any]:
    """A row with its lists as texts."""
    return [" ".join(map(str, cell)) if isinstance(cell, tuple) else cell for cell in row]


def _cell(value: Any) -> str:
    return "" if value is None else str(value).translate(_ENDS_A_CELL)


def _json_lines(file: TextIO, layout: Layout[Result]) -> Write[Result]:
    def write(result: Result) -> None:
        document = layout.document(result)
        file.write(json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n")

    return write


_TEXTS: dict[str, Callable[[TextIO, Layout[Any]], Write[Any]]] = {
    ".tsv": _tabs,
    ".txt": _tabs,
    ".csv": write_commas,
    ".jsonl": _json_lines,
}


@contextmanager
def _parquet(
    arrow: Any, parquet: Any, layout: Layout[Result], path: Path
) -> Iterator[Write[Result]]:
    columns = [(name, _arrow_type(arrow, kind)) for name, kind in layout.columns.items()]
    schema = arrow.schema(columns)
    rows: list[tuple[Any, ...]] = []

    def flush() -> None:
        columns = map(arrow.array, zip(*rows, strict=True), schema.types)
        file.write_table(arrow.Table.from_arrays(list(columns), schema=schema))
        rows.clear()

    def write(result: Result) -> None:
        rows.extend(layout.rows(result))
        if len(rows) >= _PARQUET_ROWS:
            flush()

    with parquet.ParquetWriter(path, schema) as file:
        yield write
        if rows:
            flush()


def _arrow_type(arrow: Any, kind: str) -> Any:
    *lists, item = kind.split()
    found = getattr(arrow, item)()
    return arrow.list_(found) if lists else found
