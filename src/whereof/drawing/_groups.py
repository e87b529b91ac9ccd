"""Bars in groups, each with its interval, named in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from whereof.drawing._axes import Plot, Scale, is_number, nice_ticks
from whereof.drawing._fitting import fit, text_width
from whereof.drawing._scene import SMALL
from whereof.drawing._strokes import (
    TICK,
    Look,
    Stroke,
    chart,
    empty_chart,
    filled,
    line,
    text,
    with_tip,
)
from whereof.drawing._text import percent, plain

_TOP, _LENGTH, _ROW, _HEADING, _THICK, _VALUE, _BOTTOM = 4, 250, 20, 22, 12, 56, 44
_LONGEST = 150


@dataclass(frozen=True)
class Bar:
    """One bar: the group and the series that it stands for, its length and its interval."""

    group: str
    series: str
    value: float
    interval: tuple[float | None, float | None] | None = None


def bars_svg(bars: Sequence[Bar], *, title: str, x_label: str, in_percent: bool = True) -> str:
    """Bars from zero, side by side with their names; whiskers span 95% intervals.

    Bars of one group stand together, in the order in which they are given; one without a value is
    left out. With `in_percent` values are fractions, and the axis reaches 100%.
    """
    drawn = [bar for bar in bars if is_number(bar.value)]
    if not drawn:
        return empty_chart(title, x_label, "There is nothing to draw.")
    reach = [0.0, 1.0] if in_percent else [0.0]
    for bar in drawn:
        reach += [bar.value, *(end for end in bar.interval or () if is_number(end))]
    series = list(dict.fromkeys(bar.series for bar in drawn))
    left = 24 + min(max(text_width(name, SMALL) for name in series), _LONGEST)
    groups = [(name, list(of)) for name, of in groupby(drawn, key=lambda bar: bar.group)]
    bottom = _TOP + sum(_HEADING + _ROW * len(of) for _, of in groups) + 6
    scale = Scale(nice_ticks(reach), left, left + _LENGTH)
    plot = Plot(scale, Scale((0.0, 1.0), bottom, _TOP), x_label, x_percent=in_percent)
    parts = plot.below()
    y = float(_TOP)
    for name, of in groups:
        parts.append(text(16, y + 16, name, Look(bold=True)))
        y += _HEADING
        for bar in of:
            parts += _row(bar, series.index(bar.series), scale, y, in_percent)
            y += _ROW
    told = "; ".join(f"{bar.group}, {_told(bar, in_percent)}" for bar in drawn)
    return chart(left + _LENGTH + _VALUE, bottom + _BOTTOM, title, f"{x_label}: {told}.", parts)


def _row(bar: Bar, series: int, scale: Scale, y: float, in_percent: bool) -> list[str]:
    """The name, the bar with its whiskers, and its value in words after both."""
    zero, end = scale.at(0.0), scale.at(bar.value)
    middle = y + _ROW / 2
    low, high = bar.interval or (None, None)
    whiskers, reach = [], max(zero, end)
    if is_number(low) and is_number(high):
        first, last = scale.at(low), scale.at(high)
        reach = max(reach, last)
        whiskers = [
            line(first, middle, last, middle, Stroke(width=1.3, name="interval")),
            *(line(x, middle - 4, x, middle + 4, Stroke(width=1.3)) for x in (first, last)),
        ]
    length = f'x="{min(zero, end):.2f}" width="{abs(end - zero):.2f}"'
    body = f'<rect {filled(series)} {length} y="{middle - _THICK / 2:.2f}" height="{_THICK}"/>'
    return [
        text(scale.start - 6, middle + 4, fit(bar.series, _LONGEST, SMALL), TICK),
        with_tip(_told(bar, in_percent), body, *whiskers),
        text(reach + 5, middle + 4, _value(bar.value, in_percent)),
    ]


def _told(bar: Bar, in_percent: bool) -> str:
    told = f"{bar.series}: {_value(bar.value, in_percent)}"
    low, high = bar.interval or (None, None)
    if is_number(low) and is_number(high):
        told += f" (95% from {_value(low, in_percent)} to {_value(high, in_percent)})"
    return told


def _value(value: float, in_percent: bool) -> str:
    return percent(value) if in_percent else plain(value)
