"""Files of answers by their endings: a table as text or Parquet, or JSON lines."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, TextIO

from whence._extras import need
from whence.errors import WhenceError
from whence.predict._answers import Answer, Answers

Write = Callable[[Answers], None]
Format = Callable[[Path], AbstractContextManager[Write]]
"""Opens a file, and closes it when the answers to every query are written."""

_FIELDS = tuple(field.name for field in fields(Answer))
_COLUMNS = ("subject", "relation", "object", "asks", *_FIELDS)
_ENDS_A_CELL = dict.fromkeys(map(ord, "\t\n\r"), " ")
_PARQUET_TYPES = {"probability": "float64", "score": "float64", "rank": "int64"}
_PARQUET_ROWS = 1 << 16


def find_format(path: Path) -> Format:
    """The format that a file's name ends in."""
    name = path.name.lower()
    packed, ending = name.endswith(".gz"), Path(name.removesuffix(".gz")).suffix
    if ending == ".parquet" and not packed:
        arrow = need("pyarrow", "parquet", "writing Parquet")
        return partial(_parquet, arrow, need("pyarrow.parquet", "parquet", "writing Parquet"))
    if ending not in _TEXTS:
        allowed = f"{', '.join(_TEXTS)}, each also with .gz, or .parquet"
        raise WhenceError(f"{path}: unknown ending {path.suffix!r}; choose from {allowed}")
    return partial(_text, _TEXTS[ending], packed)


@contextmanager
def _text(start: Callable[[TextIO], Write], packed: bool, path: Path) -> Iterator[Write]:
    with path.open("wb") as raw:
        # Without name and time, the same answers are the same bytes.
        binary: Any = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw
        with io.TextIOWrapper(binary, encoding="utf-8", newline="") as file:
            yield start(file)


def _commas(file: TextIO) -> Write:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    return lambda answers: writer.writerows(_rows(answers))


def _tabs(file: TextIO) -> Write:
    """Cells as they are, without quotes; a blank stands for what would end one."""
    file.write("\t".join(_COLUMNS) + "\n")
    return lambda answers: file.writelines(
        "\t".join(map(_cell, row)) + "\n" for row in _rows(answers)
    )


def _cell(value: Any) -> str:
    return "" if value is None else str(value).translate(_ENDS_A_CELL)


def _json_lines(file: TextIO) -> Write:
    def write(answers: Answers) -> None:
        file.write(json.dumps(answers.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")

    return write


_TEXTS: dict[str, Callable[[TextIO], Write]] = {
    ".tsv": _tabs,
    ".txt": _tabs,
    ".csv": _commas,
    ".jsonl": _json_lines,
}

_values = attrgetter(*_FIELDS)


def _rows(answers: Answers) -> Iterator[tuple[Any, ...]]:
    """One row an answer: the query, then the answer."""
    query = (*answers.query.values(), answers.asks)
    return (query + _values(answer) for answer in answers.answers)


@contextmanager
def _parquet(arrow: Any, parquet: Any, path: Path) -> Iterator[Write]:
    schema = arrow.schema(
        [(name, getattr(arrow, _PARQUET_TYPES.get(name, "string"))()) for name in _COLUMNS]
    )
    rows: list[tuple[Any, ...]] = []

    def flush() -> None:
        columns = map(arrow.array, zip(*rows, strict=True), schema.types)
        file.write_table(arrow.Table.from_arrays(list(columns), schema=schema))
        rows.clear()

    def write(answers: Answers) -> None:
        rows.extend(_rows(answers))
        if len(rows) >= _PARQUET_ROWS:
            flush()

    with parquet.ParquetWriter(path, schema) as file:
        yield write
        if rows:
            flush()
