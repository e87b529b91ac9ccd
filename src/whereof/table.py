"""Tables as data: what is shown, and in which unit. The room `present` draws them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

UNITS: Final = (
    "text",  # as it is
    "count",  # 1,234
    "mean",  # 261.4: a mean of counts
    "percent",  # a fraction: 0.123 is 12.3%
    "points",  # a difference of fractions: 0.123 is +12.3 points
    "probability",  # four digits after the point
    "influence",  # with its sign
    "correlation",  # three digits after the point
    "number",  # three digits
    "p-value",
    "seconds",
    "bytes",
)
"""What a value is. A value may also be a pair: see `Column.pair`."""


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    """Of the value in CSV and JSON."""
    title: str
    """For people."""
    unit: str = "text"
    pair: str = ""
    """`interval` where values are (low, high), `deviation` where they are (mean, deviation)."""
    about: str = ""
    """What it means, in a few words."""


@dataclass(frozen=True)
class Table:
    """Rows under columns; None is a value that is not known."""

    name: str
    """Of the table in files and links."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""
    """What the numbers mean, below the table."""

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        columns: Iterable[Column],
        rows: Iterable[Sequence[Any]],
        note: str = "",
    ) -> "Table":
        return cls(name, title, tuple(columns), tuple(map(tuple, rows)), note)
