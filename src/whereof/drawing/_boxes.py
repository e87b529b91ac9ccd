"""Box plots with a count beside each, on an axis of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from whereof.drawing._axes import Plot, Scale, is_number, nice_ticks, tick_texts
from whereof.drawing._fitting import wrap
from whereof.drawing._scene import SMALL
from whereof.drawing._strokes import (
    EDGE,
    MIDDLE,
    Look,
    Stroke,
    chart,
    empty_chart,
    filled,
    line,
    stroked,
    text,
    with_tip,
)
from whereof.drawing._text import plain

_STEP, _LEFT, _TOP, _HEIGHT, _RIGHT = 76, 64, 12, 230, 64
_HALF = 17
"""Half as wide as a box."""


@dataclass(frozen=True)
class Box:
    """The numbers of one box plot."""

    label: str
    low: float
    first_quarter: float
    median: float
    third_quarter: float
    high: float
    mean: float
    count: float | None = None
    """Such as the mean number of removed facts; on the axis at the right."""

    @property
    def heights(self) -> tuple[float, ...]:
        return (
            self.low,
            self.first_quarter,
            self.median,
            self.third_quarter,
            self.high,
            self.mean,
        )


def boxes_svg(
    boxes: Sequence[Box],
    *,
    title: str,
    y_label: str,
    count_label: str = "facts removed, on average",
) -> str:
    """One box a label: median, quartiles, whiskers, the mean as a disc and the count as a diamond.

    A box that lacks a number is left out.
    """
    drawn = [box for box in boxes if all(map(is_number, box.heights))]
    about = f"{y_label}: whiskers, quartiles and median, a disc at the mean."
    if not drawn:
        return empty_chart(title, about, "There is nothing to draw.")
    ticks = nice_ticks([0.0, *(height for box in drawn for height in box.heights)])
    width = _STEP * max(len(drawn), 4)
    x = Scale((0.0, float(len(drawn))), _LEFT, _LEFT + width)
    y = Scale(ticks, _TOP + _HEIGHT, _TOP)
    counts = [box.count for box in drawn if is_number(box.count)]
    right = Scale(nice_ticks([0.0, *counts]), y.start, y.end) if counts else None
    parts = Plot(x, y, y_label=y_label).left()
    parts.append(line(x.start, y.at(0.0), x.end, y.at(0.0), Stroke(dashes="3 3", name="zero")))
    if right is not None:
        parts += _right_axis(right, x.end, count_label)
    for index, box in enumerate(drawn):
        parts.append(_box(box, x.at(index + 0.5), y))
        parts += _label(box.label, x.at(index + 0.5), y.start)
        if right is not None and is_number(box.count):
            parts.append(_diamond(x.at(index + 0.5) + _HALF + 9, right.at(box.count), box.count))
    parts += _legend(y.start + 64, count_label if right is not None else "")
    told = "; ".join(_told(box) for box in drawn)
    return chart(x.end + _RIGHT, y.start + 76, title, f"{about} {told}.", parts)


def _box(box: Box, x: float, y: Scale) -> str:
    """Whiskers, the box, its median and its mean."""
    top, bottom = y.at(box.third_quarter), y.at(box.first_quarter)
    ends = [line(x - _HALF / 2, y.at(end), x + _HALF / 2, y.at(end)) for end in (box.low, box.high)]
    return with_tip(
        _told(box),
        line(x, y.at(box.low), x, bottom, Stroke(name="whisker")),
        line(x, top, x, y.at(box.high), Stroke(name="whisker")),
        *ends,
        f'<rect {filled(0)} fill-opacity="0.3" x="{x - _HALF:.2f}" y="{top:.2f}" '
        f'width="{2 * _HALF}" height="{bottom - top:.2f}"/>',
        f'<rect {stroked(0)} x="{x - _HALF:.2f}" y="{top:.2f}" width="{2 * _HALF}" '
        f'height="{bottom - top:.2f}"/>',
        line(
            x - _HALF,
            y.at(box.median),
            x + _HALF,
            y.at(box.median),
            Stroke(width=2.4, name="median"),
        ),
        f'<circle {filled(1)} cx="{x:.2f}" cy="{y.at(box.mean):.2f}" r="3.4"/>',
    )


def _diamond(x: float, y: float, count: float) -> str:
    return with_tip(
        f"{count:,.1f}",
        f'<path {filled(2)} d="M{x:.2f} {y - 5:.2f}l5 5l-5 5l-5 -5Z"/>',
    )


def _right_axis(scale: Scale, x: float, label: str) -> list[str]:
    parts = [line(x, scale.start, x, scale.end, EDGE)]
    for tick, words in zip(scale.ticks, tick_texts(scale.ticks), strict=True):
        parts.append(line(x, scale.at(tick), x + 4, scale.at(tick), EDGE))
        parts.append(text(x + 7, scale.at(tick) + SMALL / 3, words, Look(muted=True)))
    middle = (scale.start + scale.end) / 2
    return [*parts, text(x + 50, middle, label, Look(anchor="middle", turned=-90))]


def _label(label: str, x: float, bottom: float) -> list[str]:
    lines = wrap(label, _STEP - 4, SMALL, 2)
    return [text(x, bottom + 15 + 13 * index, words, MIDDLE) for index, words in enumerate(lines)]


def _legend(y: float, count_label: str) -> list[str]:
    """What line, disc and diamond are."""
    parts = [
        line(16, y - 4, 34, y - 4, Stroke(width=2.4)),
        text(40, y, "median"),
        f'<circle {filled(1)} cx="100" cy="{y - 4:.2f}" r="3.4"/>',
        text(109, y, "mean"),
    ]
    if count_label:
        parts.append(f'<path {filled(2)} d="M158 {y - 9:.2f}l5 5l-5 5l-5 -5Z"/>')
        parts.append(text(168, y, f"{count_label} (right)"))
    return parts


def _told(box: Box) -> str:
    count = f", count {box.count:,.1f}" if is_number(box.count) else ""
    numbers = [plain(value) if value else "0" for value in box.heights]
    return (
        f"{box.label}: {numbers[0]} to {numbers[4]}, quartiles {numbers[1]} and {numbers[3]}, "
        f"median {numbers[2]}, mean {numbers[5]}{count}"
    )
