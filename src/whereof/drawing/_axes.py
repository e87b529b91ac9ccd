"""Axes: round numbers that cover the data, and where a number stands between them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from whereof.drawing._fitting import fit
from whereof.drawing._scene import SMALL
from whereof.drawing._strokes import EDGE, GRID, MIDDLE, TICK, Look, line, text

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROUNDING = 1e-9


def is_number(value: float | None) -> TypeGuard[float]:
    """Whether there is something to draw."""
    return value is not None and math.isfinite(value)


def nice_ticks(values: Iterable[float | None], most: int = 6) -> tuple[float, ...]:
    """At least two round numbers, evenly spaced, the least and the largest around all values."""
    there = [float(value) for value in values if is_number(value)]
    low, high = (min(there), max(there)) if there else (0.0, 1.0)
    if high - low <= _ROUNDING * max(abs(low), abs(high)):
        # One value stands in the middle of a range of its own size.
        room = abs(low) / 2 or 0.5
        low, high = low - room, high + room
    step = _step((high - low) / max(most - 1, 1))
    first = math.floor(low / step + _ROUNDING)
    last = math.ceil(high / step - _ROUNDING)
    return tuple(float(f"{index * step:.12g}") for index in range(first, last + 1))


def _step(least: float) -> float:
    """The smallest round number that is no less."""
    size = 10.0 ** math.floor(math.log10(least))
    return next(size * step for step in _STEPS if size * step >= least * (1 - _ROUNDING))


def tick_texts(ticks: Sequence[float], *, percent: bool = False) -> list[str]:
    """Numbers with as many digits as tell them apart."""
    scale = 100 if percent else 1
    step = scale * (ticks[1] - ticks[0])
    digits = max(0, -math.floor(math.log10(step) + _ROUNDING))
    # 2.5 and 0.25 need one digit more than their size says.
    digits += not math.isclose(step * 10**digits, round(step * 10**digits))
    texts = (f"{scale * tick:,.{digits}f}".replace("-", "\N{MINUS SIGN}") for tick in ticks)
    return [f"{text}%" if percent else text for text in texts]


@dataclass(frozen=True)
class Scale:
    """Where numbers stand, in points of the picture; it may run either way."""

    ticks: tuple[float, ...]
    start: float
    end: float

    def at(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return self.start + (self.end - self.start) * (value - low) / (high - low)


@dataclass(frozen=True)
class Plot:
    """A rectangle with an axis below and one on its left."""

    x: Scale
    y: Scale
    x_label: str = ""
    y_label: str = ""
    x_percent: bool = False
    y_percent: bool = False

    def below(self) -> list[str]:
        """The axis of x: ticks, their numbers and the label."""
        bottom, top = self.y.start, self.y.end
        parts = []
        labels = tick_texts(self.x.ticks, percent=self.x_percent)
        for tick, label in zip(self.x.ticks, labels, strict=True):
            x = self.x.at(tick)
            parts.append(line(x, bottom, x, top, GRID))
            parts.append(text(x, bottom + 15, label, Look(anchor="middle", muted=True)))
        middle = (self.x.start + self.x.end) / 2
        if self.x_label:
            parts.append(text(middle, bottom + 31, self.x_label, MIDDLE))
        return [*parts, line(self.x.start, bottom, self.x.end, bottom, EDGE)]

    def left(self) -> list[str]:
        """The axis of y."""
        start, end = self.x.start, self.x.end
        parts = []
        labels = tick_texts(self.y.ticks, percent=self.y_percent)
        for tick, label in zip(self.y.ticks, labels, strict=True):
            y = self.y.at(tick)
            parts.append(line(start, y, end, y, GRID))
            parts.append(text(start - 6, y + SMALL / 3, label, TICK))
        if self.y_label:
            middle = (self.y.start + self.y.end) / 2
            label = fit(self.y_label, abs(self.y.start - self.y.end), SMALL)
            parts.append(text(start - 44, middle, label, Look(anchor="middle", turned=-90)))
        return [*parts, line(start, self.y.start, start, self.y.end, EDGE)]
