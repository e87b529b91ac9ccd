"""Charts as data: marks with their values. The room `present` draws them."""

from dataclasses import dataclass

from whereof.table import Column


@dataclass(frozen=True)
class Bar:
    """A bar from zero, with its interval."""

    group: str
    series: str
    value: float | None
    interval: tuple[float, float] | None = None


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
    """Such as the mean number of removed facts; on an axis of its own."""


@dataclass(frozen=True)
class Points:
    """Points of a scatter plot."""

    series: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Curve:
    """A line through points."""

    series: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Strip:
    """Values of one row, each as a dot: such as one for every seed."""

    label: str
    values: tuple[float, ...]


Mark = Bar | Box | Points | Curve | Strip


@dataclass(frozen=True)
class Chart:
    """Marks of one kind over two axes."""

    name: str
    title: str
    marks: tuple[Mark, ...]
    x: Column
    """Title and unit of the values' axis; `y` is that of scatter plots and curves."""
    y: Column | None = None
