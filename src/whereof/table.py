"""Tables as data: what is shown, and in which unit. The room `present` draws them."""

import math
from collections.abc import Callable, Iterable, Sequence
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


def show(value: Any, unit: str = "text", pair: str = "") -> str:
    """A value as people read it, with its unit; `-` where it is not known."""
    if pair and value is not None:
        low, high = (show(each, unit) for each in value)
        if pair == "deviation":
            return low if not value[1] else f"{low} ± {high}"
        return f"{low} to {high}"
    if unit == "text":
        return "" if value is None else str(value)
    if value is None or not math.isfinite(value):
        return "-"
    return _SHOW[unit](value)


def count(n: float, noun: str) -> str:
    """`1 fact`, `1,592 facts`, `261.4 facts`."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{show(n, 'mean')} {noun if n == 1 else several}"


def _mean(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() or value >= 1000 else f"{value:.1f}"


def _percent(value: float) -> str:
    share = 100 * abs(value)
    digits = f"{share:.1f}" if share >= 0.1 or not share else f"{share:.2g}"
    if share < 100 and digits == "100.0":
        digits = ">99.9"
    return f"{'-' if value < 0 else ''}{digits}%"


def _number(value: float) -> str:
    size = abs(value)
    if 1000 <= size < 1e7:
        return f"{value:,.0f}"
    return f"{value:.3f}".rstrip("0").rstrip(".") if 0.1 <= size < 10 else f"{value:.3g}"


def _seconds(value: float) -> str:
    if value < 1:
        return f"{1000 * value:.3g} ms" if value else "0 s"
    if value < 60:
        return f"{value:.3g} s"
    minutes, seconds = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def _bytes(value: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


_SHOW: dict[str, Callable[[float], str]] = {
    "count": "{:,}".format,
    "mean": _mean,
    "percent": _percent,
    "points": lambda value: f"{100 * value:+.1f} points",
    "probability": "{:.4f}".format,
    "influence": "{:+.4f}".format,
    "correlation": "{:.3f}".format,
    "number": _number,
    "p-value": lambda value: "< 0.001" if value < 0.001 else f"{value:.3f}",
    "seconds": _seconds,
    "bytes": _bytes,
}
"""By unit: a number as text."""
