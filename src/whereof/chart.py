"""Charts as data: marks with their values. The room `present` draws them.

A value that is None, NaN or infinite is not drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from whereof.table import Column

Place = tuple[float | None, float | None]
"""x and y."""


@dataclass(frozen=True)
class Bar:
    """A bar from zero, with its interval. Bars of one group are drawn together."""

    group: str
    series: str
    value: float | None
    interval: tuple[float | None, float | None] | None = None


@dataclass(frozen=True)
class Box:
    """A box plot: five numbers and the mean."""

    label: str
    low: float
    first_quarter: float
    median: float
    third_quarter: float
    high: float
    mean: float
    count: float | None = None
    """The mean number of removed facts; has its own axis."""


@dataclass(frozen=True)
class Points:
    """Points of a scatter plot against the diagonal; each series has a panel."""

    series: str
    points: Sequence[Place]
    note: str = ""
    """Words above the panel, such as the correlation."""


@dataclass(frozen=True)
class Curve:
    """A line through points."""

    series: str
    points: Sequence[Place]


@dataclass(frozen=True)
class Strip:
    """Values of one row as dots, for example one per seed."""

    label: str
    values: Sequence[float | None]


_NO_AXIS = Column("y", "")

Mark = Bar | Box | Points | Curve | Strip


@dataclass(frozen=True)
class Chart:
    """Marks of one kind over two axes."""

    name: str
    title: str
    marks: Sequence[Mark]
    x: Column
    """Title and unit of the values' axis; for scatter plots and curves, of the x axis."""
    y: Column = _NO_AXIS
    """Title and unit of the y axis of scatter plots and curves."""
