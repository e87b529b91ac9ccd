"""Charts as SVG: one function for each kind of mark, all over the same axes."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

from whereof.chart import Bar, Box, Chart, Curve, Mark, Place, Points, Strip
from whereof.present import svg
from whereof.present.svg import MUTED, PLAIN, SMALL, disc, fit, line, tag, with_tip, words
from whereof.table import Column
from whereof.units import count, is_number, show, typographic

_ROUNDING = 1e-9
_DASHES = (None, "7 4", "2 3", "9 3 2 3", "12 4", "4 2")
_LONGEST = 150
"""The largest width of a label beside an axis."""
_BOTTOM = 46
"""Room below an axis for its numbers and its title."""
_COUNT = Column("count", "facts removed, on average")
_DRAWN = 1000
"""Panels with more points than this are thinned."""


def chart_svg(chart: Chart, *, styled: bool = True) -> str:
    """A whole SVG file; a chart without values says so.

    styled: with its colours for a dark page; our pages have them in their style sheet.
    """
    marks = [mark for mark in chart.marks if _has_values(mark)]
    nothing = "There is nothing to draw."
    drawn = (360.0, 40.0, f"{chart.x.title}. {nothing}", [words(16, 18, nothing, fill=MUTED)])
    width, height, about, parts = _DRAWERS[type(marks[0])](chart, marks) if marks else drawn
    lines = svg.wrap(chart.title, 0.9 * (width - 32), PLAIN, 3)
    title = [words(16, 20 + 16 * n, it, font_size=PLAIN, bold=True) for n, it in enumerate(lines)]
    above = 12 + 16 * len(lines)
    body = tag("g", "\n".join(parts), transform=f"translate(0 {above})")
    return svg.picture(
        chart.title, width, height + above, about, [*title, body], dark=True, styled=styled
    )


def _has_values(mark: Mark) -> bool:
    if isinstance(mark, Points | Curve):
        return bool(_places(mark.points))
    if isinstance(mark, Strip):
        return any(map(is_number, mark.values))
    return all(map(is_number, _heights(mark) if isinstance(mark, Box) else [mark.value]))


def nice_ticks(values: Iterable[float | None]) -> tuple[float, ...]:
    """At least two round numbers, evenly spaced, that enclose all values."""
    there = [float(value) for value in values if is_number(value)]
    low, high = (min(there), max(there)) if there else (0.0, 1.0)
    if high - low <= _ROUNDING * max(abs(low), abs(high)):
        # A single value is in the middle of a range of its own size.
        room = abs(low) / 2 or 0.5
        low, high = low - room, high + room
    least = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(least))
    steps = (power * each for each in (1, 2, 2.5, 5, 10))
    step = next(each for each in steps if each >= least * (1 - _ROUNDING))
    first = math.floor(low / step + _ROUNDING)
    last = math.ceil(high / step - _ROUNDING)
    return tuple(float(f"{index * step:.12g}") for index in range(first, last + 1))


def axis_ticks(values: Iterable[float | None], column: Column) -> tuple[float, ...]:
    """Round numbers for an axis; an axis of shares ends at 0% and at 100%."""
    there = [value for value in values if is_number(value)]
    ticks = nice_ticks(there)
    if column.unit not in ("percent", "share") or not all(0 <= each <= 1 for each in there):
        return ticks
    return tuple(tick for tick in ticks if 0 <= tick <= 1)


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


def _below(x: Scale, bottom: float, top: float, column: Column) -> list[str]:
    parts = []
    for at, label in _labels(x, column):
        parts.append(line((at, bottom), (at, top), "rim grid"))
        parts.append(words(at, bottom + 15, label, "middle", fill=MUTED))
    parts.append(words((x.start + x.end) / 2, bottom + 31, column.title, "middle"))
    return [*parts, line((x.start, bottom), (x.end, bottom), "rim")]


def _beside(y: Scale, edge: float, end: float, column: Column, *, right: bool = False) -> list[str]:
    """The axis of y at an edge, on the left or on the right; ticks reach to `end`."""
    kind, anchor, *away = ("rim", "start", 7, 50) if right else ("rim grid", "end", -6, -44)
    parts = []
    for at, label in _labels(y, column):
        parts.append(line((edge, at), (end, at), kind))
        parts.append(words(edge + away[0], at + SMALL / 3, label, anchor, fill=MUTED))
    x, middle = edge + away[1], (y.start + y.end) / 2
    title = fit(column.title, abs(y.start - y.end), SMALL)
    parts.append(words(x, middle, title, "middle", transform=f"rotate(-90 {x:g} {middle:g})"))
    return [*parts, line((edge, y.start), (edge, y.end), "rim")]


def _labels(scale: Scale, column: Column) -> Iterator[tuple[float, str]]:
    texts = tick_texts(scale.ticks, percent=column.unit in ("percent", "share"))
    return zip(map(scale.at, scale.ticks), map(typographic, texts), strict=True)


_Drawn = tuple[float, float, str, list[str]]
"""Width, height, the description for screen readers, and the parts."""


def _bars(chart: Chart, bars: Sequence[Bar]) -> _Drawn:
    """Bars from zero, side by side with their names; whiskers span the intervals."""
    top, length, row, heading = 4, 250, 20, 22
    reach = [0.0, 1.0 if chart.x.unit in ("percent", "share") else 0.0]
    reach += [end for bar in bars for end in (bar.value, *(bar.interval or ())) if is_number(end)]
    series = list(dict.fromkeys(bar.series for bar in bars))
    left = _label_room(series)
    groups = [(name, list(of)) for name, of in groupby(bars, key=lambda bar: bar.group)]
    bottom = top + sum(heading + row * len(of) for _, of in groups) + 6
    scale = Scale(axis_ticks(reach, chart.x), left, left + length)
    parts = _below(scale, bottom, top, chart.x)
    y = float(top)
    for name, of in groups:
        parts.append(words(16, y + 16, name, bold=True))
        y += heading
        for bar in of:
            parts += _bar(bar, series.index(bar.series), scale, y + row / 2, chart.x.unit)
            y += row
    told = "; ".join(f"{bar.group}, {_bar_words(bar, chart.x.unit)}" for bar in bars)
    return left + length + 60, bottom + _BOTTOM, f"{chart.x.title}: {told}.", parts


def _bar(bar: Bar, series: int, scale: Scale, y: float, unit: str) -> list[str]:
    thick = 12
    zero, end = scale.at(0.0), scale.at(bar.value or 0.0)
    whiskers, ends = [], [scale.at(each) for each in _interval(bar)]
    if ends:
        whiskers = [line((ends[0], y), (ends[1], y), "dark interval", width=1.3)]
        whiskers += [line((x, y - 4), (x, y + 4), width=1.3) for x in ends]
    place = {"x": min(zero, end), "y": y - thick / 2, "width": abs(end - zero), "height": thick}
    body = tag("rect", **svg.filled(series), **place)
    return [
        words(scale.start - 6, y + 4, fit(bar.series, _LONGEST, SMALL), "end", fill=MUTED),
        with_tip(_bar_words(bar, unit), body, *whiskers),
        words(max(zero, end, *ends[1:]) + 5, y + 4, typographic(show(bar.value, unit))),
    ]


def _bar_words(bar: Bar, unit: str) -> str:
    ends = " to ".join(show(end, unit) for end in _interval(bar))
    interval = f" (95% from {ends})" if ends else ""
    return typographic(f"{bar.series}: {show(bar.value, unit)}{interval}")


def _interval(bar: Bar) -> list[float]:
    """Both ends; empty if one is not known."""
    ends = [end for end in bar.interval or () if is_number(end)]
    return ends if len(ends) == 2 else []


def _boxes(chart: Chart, boxes: Sequence[Box]) -> _Drawn:
    """Median, quartiles, whiskers, the mean as a disc and the count as a diamond."""
    step, left, top, height = 96, 64, 12, 230
    x = Scale((0.0, float(len(boxes))), left, left + step * max(len(boxes), 4))
    y = Scale(nice_ticks([0.0, *(each for box in boxes for each in _heights(box))]), height, top)
    counts = [box.count for box in boxes if is_number(box.count)]
    right = Scale(nice_ticks([0.0, *counts]), y.start, y.end)
    parts = _beside(y, x.start, x.end, chart.x)
    parts.append(line((x.start, y.at(0.0)), (x.end, y.at(0.0)), "dark zero", dashes="3 3"))
    parts += _beside(right, x.end, x.end + 4, _COUNT, right=True) if counts else []
    for index, box in enumerate(boxes):
        at = x.at(index + 0.5)
        parts.append(with_tip(_box_words(box, chart.x.unit), *_box(box, at, y)))
        label = [fit(part, step - 4, SMALL) for part in box.label.split(", ", 1)]
        parts += [words(at, y.start + 15 + 13 * n, part, "middle") for n, part in enumerate(label)]
        if is_number(box.count):
            parts.append(with_tip(show(box.count, "mean"), _diamond(at + 26, right.at(box.count))))
    below = y.start + 64
    parts += [line((16, below - 4), (34, below - 4), width=2.4), words(40, below, "median")]
    parts += [disc(1, 100, below - 4, 3.4), words(109, below, "mean")]
    if counts:
        parts += [_diamond(158, below - 4), words(168, below, f"{_COUNT.title} (right)")]
    told = "; ".join(_box_words(box, chart.x.unit) for box in boxes)
    about = f"{chart.x.title}: whiskers, quartiles and median, a disc at the mean. {told}."
    return x.end + 64, y.start + 76, about, parts


def _box(box: Box, x: float, y: Scale) -> list[str]:
    half = 17
    low, bottom, median, top, high, mean = map(y.at, _heights(box))
    place = {"x": x - half, "y": top, "width": 2 * half, "height": bottom - top}
    return [
        line((x, low), (x, bottom), "dark whisker"),
        line((x, top), (x, high), "dark whisker"),
        *(line((x - half / 2, end), (x + half / 2, end)) for end in (low, high)),
        tag("rect", **svg.filled(0), fill_opacity=0.3, **place),
        tag("rect", **svg.stroked(0), **place),
        line((x - half, median), (x + half, median), "dark median", width=2.4),
        disc(1, x, mean, 3.4),
    ]


def _diamond(x: float, y: float) -> str:
    return tag("path", **svg.filled(2), d=f"M{x:.2f} {y - 5:.2f}l5 5l-5 5l-5 -5Z")


def _heights(box: Box) -> tuple[float, ...]:
    return (box.low, box.first_quarter, box.median, box.third_quarter, box.high, box.mean)


def _box_words(box: Box, unit: str) -> str:
    count = f", count {show(box.count, 'mean')}" if is_number(box.count) else ""
    low, first, median, third, high, mean = (show(each, unit) for each in _heights(box))
    quartiles = f"quartiles {first} and {third}, median {median}"
    return typographic(f"{box.label}: {low} to {high}, {quartiles}, mean {mean}{count}")


def _scatter(chart: Chart, panels: Sequence[Points]) -> _Drawn:
    """Panels of points with the diagonal on which both numbers are equal.

    All panels and both of their axes share one range, so that they can be compared.
    """
    side, left, top, bottom, gap = 210, 58, 58, 44, 18
    values = [value for panel in panels for place in _places(panel.points) for value in place]
    ticks = nice_ticks([*values, 0.0] if min(values) >= 0 else values)
    columns = min(2, len(panels))
    width, height = left + side + gap, top + side + bottom
    parts: list[str] = []
    for index, panel in enumerate(panels):
        row, column = divmod(index, columns)
        left_edge, top_edge = column * width + left, row * height + top
        x = Scale(ticks, left_edge, left_edge + side)
        y, places = Scale(ticks, top_edge + side, top_edge), _thinned(_places(panel.points))
        series = fit(panel.series, side + gap, PLAIN)
        parts += [
            words(x.start, y.end - 38, series, font_size=PLAIN, bold=True),
            words(x.start, y.end - 23, fit(typographic(panel.note), side + gap, SMALL)),
            words(x.start, y.end - 9, _points_words(panel), fill=MUTED),
            *_below(x, y.start, y.end, chart.x),
            *_beside(y, x.start, x.end, chart.y),
            line((x.start, y.start), (x.end, y.end), "dark diagonal", dashes="5 4"),
            *(disc(0, x.at(a), y.at(b), 2.3, opacity=0.5) for a, b in places),
        ]
    notes = "; ".join(", ".join(filter(None, (p.series, p.note, _points_words(p)))) for p in panels)
    titles = f"{chart.y.title} against {chart.x.title}"
    about = f"{titles}; on the dashed diagonal they are equal. {notes}."
    return columns * width + 8, -(-len(panels) // columns) * height, about, parts


def _thinned(places: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """At most 1,000 of the points, chosen evenly along x, including both ends."""
    if len(places) <= _DRAWN:
        return places
    ordered = sorted(places)
    return [ordered[index * (len(ordered) - 1) // (_DRAWN - 1)] for index in range(_DRAWN)]


def _points_words(panel: Points) -> str:
    n_points = len(_places(panel.points))
    drawn = f", {_DRAWN:,} of them drawn" if n_points > _DRAWN else ""
    return f"{count(n_points, 'point')}{drawn}"


def _curves(chart: Chart, curves: Sequence[Curve]) -> _Drawn:
    """Curves with a legend, distinguished by dashes as well as colour."""
    left, top, width, height = 64, 12, 300, 170
    courses = [_places(curve.points) for curve in curves]
    xs, ys = (list(each) for each in zip(*chain.from_iterable(courses), strict=True))
    x = Scale(axis_ticks(xs, chart.x), left, left + width)
    y = Scale(axis_ticks(ys, chart.y), top + height, top)
    parts = [*_below(x, y.start, y.end, chart.x), *_beside(y, x.start, x.end, chart.y)]
    about = f"{chart.y.title} by {chart.x.title}."
    for index, (curve, course) in enumerate(zip(curves, courses, strict=True)):
        spots = [(x.at(a), y.at(b)) for a, b in course]
        points = " ".join(f"{a:.2f},{b:.2f}" for a, b in spots)
        parts.append(tag("polyline", **_dashed(index), points=points))
        parts += [disc(index, a, b, 2.6) for a, b in spots] if len(spots) <= 40 else []
        told = (f"{show(b, chart.y.unit)} at {a:g}" for a, b in (course[0], course[-1]))
        about += f" {curve.series}: {', '.join(told)}."
    right = 28.0
    if len(curves) > 1:
        right += _label_room(curve.series for curve in curves)
        # The legend has the order of the last points, from the top.
        order = sorted(range(len(curves)), key=lambda index: -courses[index][-1][1])
        for row, index in enumerate(order):
            at = top + 10 + 17 * row
            parts.append(tag("path", **_dashed(index), d=f"M{x.end + 10:.2f} {at - 4}h20"))
            parts.append(words(x.end + 36, at, fit(curves[index].series, _LONGEST, SMALL)))
    return x.end + right, y.start + _BOTTOM, about, parts


def _dashed(index: int) -> dict[str, Any]:
    dashes = _DASHES[index % len(_DASHES)]
    return {**svg.stroked(index), "stroke_width": 1.8, "stroke_dasharray": dashes}


def _strips(chart: Chart, strips: Sequence[Strip]) -> _Drawn:
    """A row of discs for every label, one disc per value, and a line at their mean."""
    top, width, row = 12, 300, 22
    rows = [(strip.label, list(filter(is_number, strip.values))) for strip in strips]
    left, bottom = _label_room(label for label, _ in rows), top + row * len(rows)
    values = [each for _, theirs in rows for each in theirs]
    x = Scale(axis_ticks(values, chart.x), left, left + width)
    parts = _below(x, bottom, top, chart.x)
    told = []
    for index, (label, values) in enumerate(rows):
        y, mean = top + row * (index + 0.5), sum(values) / len(values)
        said = ", ".join(show(value, chart.x.unit) for value in values)
        told.append(typographic(f"{label}: {said}; mean {show(mean, chart.x.unit)}"))
        parts.append(words(left - 8, y + 4, fit(label, _LONGEST, SMALL), "end", fill=MUTED))
        stroke = line((x.at(mean), y - 8), (x.at(mean), y + 8), "dark mean", width=2.2)
        discs = (disc(0, x.at(value), y, 4, opacity=0.65) for value in values)
        parts.append(with_tip(told[-1], *discs, stroke))
    about = f"{chart.x.title}: discs are single values, strokes their means. {'. '.join(told)}."
    return left + width + 28, bottom + _BOTTOM, about, parts


_DRAWERS: dict[type[Mark], Callable[[Chart, Any], _Drawn]] = {
    Bar: _bars,
    Box: _boxes,
    Points: _scatter,
    Curve: _curves,
    Strip: _strips,
}


def _places(points: Sequence[Place]) -> list[tuple[float, float]]:
    return [(x, y) for x, y in points if is_number(x) and is_number(y)]


def _label_room(labels: Iterable[str]) -> float:
    return 24 + min(max(svg.text_width(label, SMALL) for label in labels), _LONGEST)
