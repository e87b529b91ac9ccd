"""Charts as SVG: one function for each kind of mark, all over the same axes."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeGuard

from whereof import units
from whereof.chart import Bar, Box, Chart, Curve, Place, Points, Strip
from whereof.present.svg import (
    PLAIN,
    SMALL,
    chart_file,
    disc,
    filled,
    fit,
    line,
    stroked,
    text_width,
    with_tip,
    words,
)
from whereof.table import Column

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROUNDING = 1e-9
_DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2")
_LONGEST = 150
"""The largest width of a label beside an axis."""
_BOTTOM = 46
"""Room below an axis for its numbers and its title."""
_DRAWN = 1000
"""Panels with more points than this are thinned."""
_MARKED = 40
"""Curves of up to this number of points have a disc at each."""


def chart_svg(chart: Chart) -> str:
    """A whole SVG file; a chart without values says so."""
    for kind, draw in _DRAWERS.items():
        if chart.marks and isinstance(chart.marks[0], kind):
            made = draw(chart)
            if made is not None:
                return made
    about = f"{chart.x.title}. There is nothing to draw."
    parts = [words(16, 18, "There is nothing to draw.", muted=True)]
    return chart_file(360, 40, chart.title, about, parts)


def nice_ticks(values: Iterable[float | None], most: int = 6) -> tuple[float, ...]:
    """At least two round numbers, evenly spaced, that enclose all values."""
    there = [float(value) for value in values if _known(value)]
    low, high = (min(there), max(there)) if there else (0.0, 1.0)
    if high - low <= _ROUNDING * max(abs(low), abs(high)):
        # A single value is in the middle of a range of its own size.
        room = abs(low) / 2 or 0.5
        low, high = low - room, high + room
    least = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * each for each in _STEPS if power * each >= least * (1 - _ROUNDING))
    first = math.floor(low / step + _ROUNDING)
    last = math.ceil(high / step - _ROUNDING)
    return tuple(float(f"{index * step:.12g}") for index in range(first, last + 1))


def tick_texts(ticks: Sequence[float], *, percent: bool = False) -> list[str]:
    """Numbers with enough digits to distinguish them."""
    scale = 100 if percent else 1
    step = scale * (ticks[1] - ticks[0])
    digits = max(0, -math.floor(math.log10(step) + _ROUNDING))
    # 2.5 and 0.25 need one digit more than their size says.
    digits += not math.isclose(step * 10**digits, round(step * 10**digits))
    texts = (f"{scale * tick:,.{digits}f}" for tick in ticks)
    return [f"{text}%" if percent else text for text in texts]


@dataclass(frozen=True)
class Scale:
    """Maps numbers to positions in the picture; may run in either direction."""

    ticks: tuple[float, ...]
    start: float
    end: float

    def at(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return self.start + (self.end - self.start) * (value - low) / (high - low)


@dataclass(frozen=True)
class _Plot:
    """A rectangle with an axis below and one on the left."""

    x: Scale
    y: Scale

    def below(self, column: Column) -> list[str]:
        """The axis of x: ticks, their numbers and the title."""
        bottom, top = self.y.start, self.y.end
        parts = []
        labels = tick_texts(self.x.ticks, percent=_in_percent(column))
        for tick, label in zip(self.x.ticks, labels, strict=True):
            x = self.x.at(tick)
            parts.append(line((x, bottom), (x, top), "rim grid"))
            parts.append(words(x, bottom + 15, label, "middle", muted=True))
        middle = (self.x.start + self.x.end) / 2
        parts.append(words(middle, bottom + 31, column.title, "middle"))
        return [*parts, line((self.x.start, bottom), (self.x.end, bottom), "rim")]

    def left(self, column: Column) -> list[str]:
        """The axis of y."""
        start, end = self.x.start, self.x.end
        parts = []
        labels = tick_texts(self.y.ticks, percent=_in_percent(column))
        for tick, label in zip(self.y.ticks, labels, strict=True):
            y = self.y.at(tick)
            parts.append(line((start, y), (end, y), "rim grid"))
            parts.append(words(start - 6, y + SMALL / 3, label, "end", muted=True))
        middle = (self.y.start + self.y.end) / 2
        title = fit(column.title, abs(self.y.start - self.y.end), SMALL)
        parts.append(words(start - 44, middle, title, "middle", turned=-90))
        return [*parts, line((start, self.y.start), (start, self.y.end), "rim")]


def _bars(chart: Chart) -> str | None:
    """Bars from zero, side by side with their names; whiskers span the intervals."""
    top, length, row, heading = 4, 250, 20, 22
    drawn = [bar for bar in _marks(chart, Bar) if _known(bar.value)]
    if not drawn:
        return None
    reach = [0.0, 1.0] if _in_percent(chart.x) else [0.0]
    for bar in drawn:
        reach += [each for each in (bar.value, *(bar.interval or ())) if _known(each)]
    series = list(dict.fromkeys(bar.series for bar in drawn))
    left = _left(series)
    groups = [(name, list(of)) for name, of in groupby(drawn, key=lambda bar: bar.group)]
    bottom = top + sum(heading + row * len(of) for _, of in groups) + 6
    scale = Scale(nice_ticks(reach), left, left + length)
    parts = _Plot(scale, Scale((0.0, 1.0), bottom, top)).below(chart.x)
    y = float(top)
    for name, of in groups:
        parts.append(words(16, y + 16, name, bold=True))
        y += heading
        for bar in of:
            parts += _bar(bar, series.index(bar.series), scale, y + row / 2, chart.x.unit)
            y += row
    told = "; ".join(f"{bar.group}, {_bar_words(bar, chart.x.unit)}" for bar in drawn)
    about = f"{chart.x.title}: {told}."
    return chart_file(left + length + 60, bottom + _BOTTOM, chart.title, about, parts)


def _bar(bar: Bar, series: int, scale: Scale, y: float, unit: str) -> list[str]:
    """The name, the bar with its whiskers, and its value in words after both."""
    thick = 12
    zero, end = scale.at(0.0), scale.at(bar.value or 0.0)
    whiskers, reach = [], max(zero, end)
    low, high = bar.interval or (None, None)
    if _known(low) and _known(high):
        first, last = scale.at(low), scale.at(high)
        reach = max(reach, last)
        whiskers = [line((first, y), (last, y), "dark interval", width=1.3)]
        whiskers += [line((x, y - 4), (x, y + 4), width=1.3) for x in (first, last)]
    length = f'x="{min(zero, end):.2f}" width="{abs(end - zero):.2f}"'
    body = f'<rect {filled(series)} {length} y="{y - thick / 2:.2f}" height="{thick}"/>'
    return [
        words(scale.start - 6, y + 4, fit(bar.series, _LONGEST, SMALL), "end", muted=True),
        with_tip(_bar_words(bar, unit), body, *whiskers),
        words(reach + 5, y + 4, units.show(bar.value, unit)),
    ]


def _bar_words(bar: Bar, unit: str) -> str:
    told = f"{bar.series}: {units.show(bar.value, unit)}"
    low, high = bar.interval or (None, None)
    if _known(low) and _known(high):
        told += f" (95% from {units.show(low, unit)} to {units.show(high, unit)})"
    return told


def _boxes(chart: Chart) -> str | None:
    """Median, quartiles, whiskers, the mean as a disc and the count as a diamond."""
    step, left, top, height = 96, 64, 12, 230
    drawn = [box for box in _marks(chart, Box) if all(map(_known, _heights(box)))]
    if not drawn:
        return None
    x = Scale((0.0, float(len(drawn))), left, left + step * max(len(drawn), 4))
    y = Scale(nice_ticks([0.0, *(each for box in drawn for each in _heights(box))]), height, top)
    counts = [box.count for box in drawn if _known(box.count)]
    right = Scale(nice_ticks([0.0, *counts]), y.start, y.end) if counts else None
    parts = _Plot(x, y).left(chart.x)
    parts.append(line((x.start, y.at(0.0)), (x.end, y.at(0.0)), "dark zero", dashes="3 3"))
    parts += [] if right is None else _right_axis(right, x.end, chart.count)
    for index, box in enumerate(drawn):
        at = x.at(index + 0.5)
        parts.append(with_tip(_box_words(box, chart.x.unit), *_box(box, at, y)))
        label = [fit(part, step - 4, SMALL) for part in box.label.split(", ", 1)]
        parts += [words(at, y.start + 15 + 13 * n, part, "middle") for n, part in enumerate(label)]
        if right is not None and _known(box.count):
            tip = units.show(box.count, "mean")
            parts.append(with_tip(tip, _diamond(at + 26, right.at(box.count))))
    parts += _box_legend(y.start + 64, chart.count if right is not None else "")
    about = f"{chart.x.title}: whiskers, quartiles and median, a disc at the mean. " + "; ".join(
        _box_words(box, chart.x.unit) for box in drawn
    )
    return chart_file(x.end + 64, y.start + 76, chart.title, f"{about}.", parts)


def _box(box: Box, x: float, y: Scale) -> list[str]:
    """Whiskers, the box, its median and its mean."""
    half = 17
    top, bottom = y.at(box.third_quarter), y.at(box.first_quarter)
    place = f'x="{x - half:.2f}" y="{top:.2f}" width="{2 * half}" height="{bottom - top:.2f}"'
    median = y.at(box.median)
    return [
        line((x, y.at(box.low)), (x, bottom), "dark whisker"),
        line((x, top), (x, y.at(box.high)), "dark whisker"),
        *(
            line((x - half / 2, y.at(end)), (x + half / 2, y.at(end)))
            for end in (box.low, box.high)
        ),
        f'<rect {filled(0)} fill-opacity="0.3" {place}/>',
        f"<rect {stroked(0)} {place}/>",
        line((x - half, median), (x + half, median), "dark median", width=2.4),
        disc(1, x, y.at(box.mean), 3.4),
    ]


def _right_axis(scale: Scale, x: float, title: str) -> list[str]:
    parts = [line((x, scale.start), (x, scale.end), "rim")]
    for tick, label in zip(scale.ticks, tick_texts(scale.ticks), strict=True):
        y = scale.at(tick)
        parts.append(line((x, y), (x + 4, y), "rim"))
        parts.append(words(x + 7, y + SMALL / 3, label, muted=True))
    return [*parts, words(x + 50, (scale.start + scale.end) / 2, title, "middle", turned=-90)]


def _box_legend(y: float, count: str) -> list[str]:
    """A legend for line, disc and diamond."""
    parts = [
        line((16, y - 4), (34, y - 4), width=2.4),
        words(40, y, "median"),
        disc(1, 100, y - 4, 3.4),
        words(109, y, "mean"),
    ]
    return [*parts, _diamond(158, y - 4), words(168, y, f"{count} (right)")] if count else parts


def _diamond(x: float, y: float) -> str:
    return f'<path {filled(2)} d="M{x:.2f} {y - 5:.2f}l5 5l-5 5l-5 -5Z"/>'


def _heights(box: Box) -> tuple[float, ...]:
    return (box.low, box.first_quarter, box.median, box.third_quarter, box.high, box.mean)


def _box_words(box: Box, unit: str) -> str:
    count = f", count {units.show(box.count, 'mean')}" if _known(box.count) else ""
    low, first, median, third, high, mean = (units.show(each, unit) for each in _heights(box))
    return (
        f"{box.label}: {low} to {high}, quartiles {first} and {third}, "
        f"median {median}, mean {mean}{count}"
    )


def _scatter(chart: Chart) -> str | None:
    """Panels of points with the diagonal on which both numbers are equal.

    All panels and both of their axes share one range, so that they can be compared.
    """
    side, left, top, bottom, gap = 210, 58, 58, 44, 18
    panels, vertical = _marks(chart, Points), _other_axis(chart)
    values = [value for panel in panels for place in _places(panel.points) for value in place]
    if not values:
        return None
    ticks = nice_ticks([*values, 0.0] if min(values) >= 0 else values)
    columns = min(2, len(panels))
    width, height = left + side + gap, top + side + bottom
    parts: list[str] = []
    for index, panel in enumerate(panels):
        row, column = divmod(index, columns)
        x, y = column * width + left, row * height + top
        plot = _Plot(Scale(ticks, x, x + side), Scale(ticks, y + side, y))
        parts += [
            words(x, y - 38, fit(panel.series, side + gap, PLAIN), size=PLAIN, bold=True),
            words(x, y - 23, fit(panel.note, side + gap, SMALL)),
            words(x, y - 9, _points_words(panel), muted=True),
            *plot.below(chart.x),
            *plot.left(vertical),
            line((x, y + side), (x + side, y), "dark diagonal", dashes="5 4"),
            *(
                disc(0, plot.x.at(a), plot.y.at(b), 2.3, opacity=0.5)
                for a, b in _thinned(_places(panel.points))
            ),
        ]
    notes = "; ".join(", ".join(filter(None, (p.series, p.note, _points_words(p)))) for p in panels)
    about = (
        f"{vertical.title} against {chart.x.title}; on the dashed diagonal they are equal. {notes}."
    )
    rows = -(-len(panels) // columns)
    return chart_file(columns * width + 8, rows * height, chart.title, about, parts)


def _thinned(places: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """At most 1,000 of the points, chosen evenly along x, including both ends."""
    if len(places) <= _DRAWN:
        return places
    ordered = sorted(places)
    return [ordered[index * (len(ordered) - 1) // (_DRAWN - 1)] for index in range(_DRAWN)]


def _points_words(panel: Points) -> str:
    n_points = len(_places(panel.points))
    drawn = f", {_DRAWN:,} of them drawn" if n_points > _DRAWN else ""
    return f"{units.count(n_points, 'point')}{drawn}"


def _curves(chart: Chart) -> str | None:
    """Curves with a legend, distinguished by dashes as well as colour."""
    left, top, width, height = 64, 12, 300, 170
    drawn = [curve for curve in _marks(chart, Curve) if _places(curve.points)]
    if not drawn:
        return None
    vertical = _other_axis(chart)
    places = [place for curve in drawn for place in _places(curve.points)]
    x = Scale(nice_ticks([x for x, _ in places]), left, left + width)
    y = Scale(nice_ticks([y for _, y in places]), top + height, top)
    plot = _Plot(x, y)
    parts = [*plot.below(chart.x), *plot.left(vertical)]
    for index, curve in enumerate(drawn):
        parts += _curve(curve, index, plot)
    right = 28.0
    if len(drawn) > 1:
        parts += _curve_key(drawn, x.end + 10, top + 10)
        right += 24 + min(max(text_width(curve.series, SMALL) for curve in drawn), _LONGEST)
    about = f"{vertical.title} by {chart.x.title}."
    for curve in drawn:
        ends = (_places(curve.points)[0], _places(curve.points)[-1])
        told = (f"{units.show(b, vertical.unit)} at {a:g}" for a, b in ends)
        about += f" {curve.series}: {', '.join(told)}."
    return chart_file(x.end + right, y.start + _BOTTOM, chart.title, about, parts)


def _curve(curve: Curve, index: int, plot: _Plot) -> list[str]:
    spots = [(plot.x.at(x), plot.y.at(y)) for x, y in _places(curve.points)]
    course = " ".join(f"{x:.2f},{y:.2f}" for x, y in spots)
    discs = [disc(index, x, y, 2.6) for x, y in spots] if len(spots) <= _MARKED else []
    return [f'<polyline {_dashed(index)} points="{course}"/>', *discs]


def _curve_key(curves: Sequence[Curve], x: float, top: float) -> list[str]:
    """A legend on the right, in the order of the curves' last points from the top."""
    order = sorted(range(len(curves)), key=lambda index: -_places(curves[index].points)[-1][1])
    parts = []
    for row, index in enumerate(order):
        y = top + 17 * row
        parts.append(f'<path {_dashed(index)} d="M{x:.2f} {y - 4}h20"/>')
        parts.append(words(x + 26, y, fit(curves[index].series, _LONGEST, SMALL)))
    return parts


def _dashed(index: int) -> str:
    dashes = _DASHES[index % len(_DASHES)]
    more = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'{stroked(index)} stroke-width="1.8"{more}'


def _strips(chart: Chart) -> str | None:
    """A row of discs for every label, one disc per value, and a line at their mean."""
    top, width, row = 12, 300, 22
    found = [(s.label, [each for each in s.values if _known(each)]) for s in _marks(chart, Strip)]
    drawn = [(label, values) for label, values in found if values]
    if not drawn:
        return None
    left, bottom = _left([label for label, _ in drawn]), top + row * len(drawn)
    x = Scale(nice_ticks([each for _, values in drawn for each in values]), left, left + width)
    parts = _Plot(x, Scale((0.0, 1.0), bottom, top)).below(chart.x)
    told = []
    for index, (label, values) in enumerate(drawn):
        y, mean = top + row * (index + 0.5), sum(values) / len(values)
        said = ", ".join(units.show(value, chart.x.unit) for value in values)
        told.append(f"{label}: {said}; mean {units.show(mean, chart.x.unit)}")
        parts.append(words(left - 8, y + 4, fit(label, _LONGEST, SMALL), "end", muted=True))
        at = x.at(mean)
        stroke = line((at, y - 8), (at, y + 8), "dark mean", width=2.2)
        discs = (disc(0, x.at(value), y, 4, opacity=0.65) for value in values)
        parts.append(with_tip(told[-1], *discs, stroke))
    about = f"{chart.x.title}: discs are single values, strokes their means. {'. '.join(told)}."
    return chart_file(left + width + 28, bottom + _BOTTOM, chart.title, about, parts)


_DRAWERS: dict[type, Callable[[Chart], str | None]] = {
    Bar: _bars,
    Box: _boxes,
    Points: _scatter,
    Curve: _curves,
    Strip: _strips,
}


def _marks(chart: Chart, kind: type[Any]) -> list[Any]:
    return [mark for mark in chart.marks if isinstance(mark, kind)]


def _known(value: float | None) -> TypeGuard[float]:
    return units.is_number(value)


def _places(points: Sequence[Place]) -> list[tuple[float, float]]:
    """The points with both coordinates."""
    return [(x, y) for x, y in points if _known(x) and _known(y)]


def _left(labels: Iterable[str]) -> float:
    """Space for labels left of an axis."""
    return 24 + min(max(text_width(label, SMALL) for label in labels), _LONGEST)


def _other_axis(chart: Chart) -> Column:
    return chart.y if chart.y is not None else Column("y", "")


def _in_percent(column: Column) -> bool:
    return column.unit in ("percent", "share")
