"""Tables as values for programs: JSON and CSV."""

import csv
import io
import math
from collections.abc import Iterator
from typing import Any

from whereof.table import Cell, Column, Table

_PAIRS = {"interval": ("low", "high"), "deviation": ("mean", "std")}


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


def _names(column: Column) -> list[str]:
    if not column.pair:
        return [column.name]
    return [f"{column.name}_{end}" for end in _PAIRS[column.pair]]


def _values(value: Any, column: Column) -> Iterator[Any]:
    plain = _value(value)
    if column.pair:
        yield from plain if isinstance(plain, list) else (plain, None)
    else:
        yield plain


def _value(value: Any) -> Any:
    if isinstance(value, Cell):
        return _value(value.value)
    if isinstance(value, tuple | list):
        return [_value(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
