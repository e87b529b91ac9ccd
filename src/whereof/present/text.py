"""Tables as Markdown, CSV and JSON."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

from whereof.table import WORDS, Cell, Column, Table, cell_text

_PAIRS = {"interval": ("low", "high"), "deviation": ("mean", "std")}


def markdown(table: Table, level: int = 2) -> str:
    """A heading, the note and the table; `level` 0 omits heading and note."""
    parts = [f"{'#' * level} {table.title}", ""] if level and table.title else []
    parts += [table.note, ""] if level and table.note else []
    return "\n".join([*parts, *_lines(table)]) + "\n"


def records(table: Table) -> list[dict[str, Any]]:
    """One dict per row, by column name; None for values that are not finite."""
    names = [column.name for column in table.columns]
    return [dict(zip(names, map(_value, row), strict=True)) for row in table.rows]


def csv_text(table: Table) -> str:
    """The table as CSV with a header; a pair takes two columns, such as `pd_low` and `pd_high`."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(name for column in table.columns for name in _names(column))
    for row in table.rows:
        pairs = zip(row, table.columns, strict=True)
        writer.writerow(value for each, column in pairs for value in _values(each, column))
    return file.getvalue()


def _lines(table: Table) -> Iterator[str]:
    yield _line([column.title for column in table.columns])
    yield _line(["---" if column.unit in WORDS else "---:" for column in table.columns])
    for row in table.rows[: table.most]:
        yield _line(list(map(cell_text, row, table.columns)))
    more = len(table.rows) - len(table.rows[: table.most])
    if more:
        yield f"\nand {more:,} more {'row' if more == 1 else 'rows'}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_safe, cells))} |"


def _safe(text: str) -> str:
    """An escaped text for a Markdown cell."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _names(column: Column) -> list[str]:
    ends = _PAIRS.get(column.pair)
    return [f"{column.name}_{end}" for end in ends] if ends else [column.name]


def _values(value: Any, column: Column) -> list[Any]:
    plain = _value(value)
    if not column.pair:
        return [plain]
    return plain if isinstance(plain, list) else [plain, None]


def _value(value: Any) -> Any:
    if isinstance(value, Cell):
        return _value(value.value)
    if isinstance(value, tuple | list):
        return [_value(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
