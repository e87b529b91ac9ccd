"""Curves over one axis, and dots along one."""

from collections.abc import Sequence
from dataclasses import dataclass

from whereof.drawing._axes import Plot, Scale, is_number, nice_ticks
from whereof.drawing._fitting import fit, text_width
from whereof.drawing._scene import SMALL
from whereof.drawing._strokes import (
    TICK,
    Stroke,
    chart,
    empty_chart,
    filled,
    line,
    stroked,
    text,
    with_tip,
)
from whereof.drawing._text import percent, plain

_LEFT, _TOP, _WIDTH, _HEIGHT, _BOTTOM = 64, 12, 300, 170, 46
_LONGEST, _ROW = 150, 22
_DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2")
_MARKED = 40
"""Up to so many points of a curve have discs."""


@dataclass(frozen=True)
class Curve:
    """One curve, from point to point."""

    label: str
    points: Sequence[tuple[float, float | None]]
    """x and y; those without y are passed over."""

    @property
    def known(self) -> list[tuple[float, float]]:
        return [(x, y) for x, y in self.points if is_number(x) and is_number(y)]


def line_svg(
    curves: Sequence[Curve], *, title: str, x_label: str, y_label: str, in_percent: bool = False
) -> str:
    """Curves, each named at its end and told apart by dashes as well as colour."""
    drawn = [curve for curve in curves if curve.known]
    about = f"{y_label} by {x_label}."
    if not drawn:
        return empty_chart(title, about, "There are no points.")
    points = [point for curve in drawn for point in curve.known]
    named = len(drawn) > 1
    x = Scale(nice_ticks([x for x, _ in points]), _LEFT, _LEFT + _WIDTH)
    y = Scale(nice_ticks([y for _, y in points]), _TOP + _HEIGHT, _TOP)
    plot = Plot(x, y, x_label, y_label, y_percent=in_percent)
    parts = [*plot.below(), *plot.left()]
    for index, curve in enumerate(drawn):
        parts += _curve(curve, index, plot)
    if named:
        parts += _names(drawn, plot)
    widest = max(text_width(curve.label, SMALL) for curve in drawn) if named else 0
    right = 28 + min(widest, _LONGEST) + 24 * named
    about += "".join(f" {_told(curve, in_percent)}" for curve in drawn)
    return chart(x.end + right, y.start + _BOTTOM, title, about, parts)


def _curve(curve: Curve, index: int, plot: Plot) -> list[str]:
    places = [(plot.x.at(x), plot.y.at(y)) for x, y in curve.known]
    course = " ".join(f"{x:.2f},{y:.2f}" for x, y in places)
    dashes = _DASHES[index % len(_DASHES)]
    parts = [
        f'<polyline {stroked(index)} stroke-width="1.8" points="{course}"'
        + (f' stroke-dasharray="{dashes}"/>' if dashes else "/>")
    ]
    if len(places) <= _MARKED:
        parts += [f'<circle {filled(index)} cx="{x:.2f}" cy="{y:.2f}" r="2.6"/>' for x, y in places]
    return parts


def _names(curves: Sequence[Curve], plot: Plot) -> list[str]:
    """A key at the right, in the order of the curves' last points from the top."""
    order = sorted(range(len(curves)), key=lambda index: -curves[index].known[-1][1])
    parts, x = [], plot.x.end + 10
    for row, index in enumerate(order):
        y = _TOP + 10 + 17 * row
        dashes = _DASHES[index % len(_DASHES)]
        parts.append(
            f'<path {stroked(index)} stroke-width="1.8" d="M{x:.2f} {y - 4}h20"'
            + (f' stroke-dasharray="{dashes}"/>' if dashes else "/>")
        )
        parts.append(text(x + 26, y, fit(curves[index].label, _LONGEST, SMALL)))
    return parts


def _told(curve: Curve, in_percent: bool) -> str:
    first, last = curve.known[0], curve.known[-1]
    say = percent if in_percent else plain
    return f"{curve.label}: {say(first[1])} at {first[0]:g}, {say(last[1])} at {last[0]:g}."


@dataclass(frozen=True)
class Strip:
    """The values of one row, such as one of every seed."""

    label: str
    values: Sequence[float | None]

    @property
    def known(self) -> list[float]:
        return [value for value in self.values if is_number(value)]


def strip_svg(strips: Sequence[Strip], *, title: str, x_label: str, in_percent: bool = True) -> str:
    """A row of discs for every label, one disc a value, and a stroke at their mean."""
    drawn = [strip for strip in strips if strip.known]
    if not drawn:
        return empty_chart(title, x_label, "There is nothing to draw.")
    left = 24 + min(max(text_width(strip.label, SMALL) for strip in drawn), _LONGEST)
    bottom = _TOP + _ROW * len(drawn)
    ticks = nice_ticks([value for strip in drawn for value in strip.known])
    plot = Plot(
        Scale(ticks, left, left + _WIDTH),
        Scale((0.0, 1.0), bottom, _TOP),
        x_label,
        x_percent=in_percent,
    )
    parts = plot.below()
    say = percent if in_percent else plain
    told = []
    for row, strip in enumerate(drawn):
        y, mean = _TOP + _ROW * (row + 0.5), sum(strip.known) / len(strip.known)
        told.append(f"{strip.label}: {', '.join(map(say, strip.known))}; mean {say(mean)}")
        label = fit(strip.label, _LONGEST, SMALL)
        parts.append(text(left - 8, y + 4, label, TICK))
        parts.append(with_tip(told[-1], *_discs(strip, mean, plot.x, y)))
    about = f"{x_label}: discs are single values, strokes their means. {'. '.join(told)}."
    return chart(left + _WIDTH + 28, bottom + _BOTTOM, title, about, parts)


def _discs(strip: Strip, mean: float, x: Scale, y: float) -> list[str]:
    stroke = line(x.at(mean), y - 8, x.at(mean), y + 8, Stroke(width=2.2, name="mean"))
    return [
        *(
            f'<circle {filled(0)} fill-opacity="0.65" cx="{x.at(value):.2f}" cy="{y:.2f}" r="4"/>'
            for value in strip.known
        ),
        stroke,
    ]
