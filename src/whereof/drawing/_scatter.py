"""Points against the diagonal, one panel beside another."""

from collections.abc import Sequence
from dataclasses import dataclass

from whereof.drawing._axes import Plot, Scale, is_number, nice_ticks
from whereof.drawing._fitting import fit
from whereof.drawing._scene import PLAIN, SMALL
from whereof.drawing._strokes import Look, Stroke, chart, empty_chart, filled, line, text

_SIDE, _LEFT, _TOP, _BOTTOM, _GAP = 210, 58, 58, 44, 18
_DRAWN = 1000
"""More points than this are thinned."""


@dataclass(frozen=True)
class Scatter:
    """One panel: its points, and what stands above them."""

    title: str
    points: Sequence[tuple[float | None, float | None]]
    """x and y; a point that lacks either is left out."""
    note: str = ""
    """Such as the correlation and the Lipschitz constant."""

    @property
    def known(self) -> list[tuple[float, float]]:
        return [(x, y) for x, y in self.points if is_number(x) and is_number(y)]


def scatter_svg(
    panels: Sequence[Scatter],
    *,
    title: str,
    x_label: str = "predicted probability",
    y_label: str = "actual probability",
    columns: int = 2,
) -> str:
    """Panels of points with the diagonal on which both numbers are equal.

    All panels and both of their axes share one range, so that they can be compared. Panels of more
    than 1,000 points show so many of them, evenly chosen along x, and say so.
    """
    values = [value for panel in panels for point in panel.known for value in point]
    about = f"{y_label} against {x_label}; on the dashed diagonal they are equal."
    if not values:
        return empty_chart(title, about, "There are no points.")
    ticks = nice_ticks([*values, 0.0] if min(values) >= 0 else values)
    columns = max(1, min(columns, len(panels)))
    cell = (_LEFT + _SIDE + _GAP, _TOP + _SIDE + _BOTTOM)
    parts: list[str] = []
    for index, panel in enumerate(panels):
        row, column = divmod(index, columns)
        x, y = column * cell[0] + _LEFT, row * cell[1] + _TOP
        plot = Plot(Scale(ticks, x, x + _SIDE), Scale(ticks, y + _SIDE, y), x_label, y_label)
        parts += _panel(panel, plot)
    rows = -(-len(panels) // columns)
    notes = "; ".join(", ".join(filter(None, (p.title, p.note, _count(p)))) for p in panels)
    return chart(columns * cell[0] + 8, rows * cell[1], title, f"{about} {notes}.", parts)


def _panel(panel: Scatter, plot: Plot) -> list[str]:
    x, y, ticks = plot.x, plot.y, plot.x.ticks
    dots = [
        f'<circle {filled(0)} fill-opacity="0.5" cx="{x.at(first):.2f}" cy="{y.at(second):.2f}" '
        'r="2.3"/>'
        for first, second in thin(panel.known)
    ]
    room = _SIDE + _GAP
    return [
        text(x.start, y.end - 38, fit(panel.title, room, PLAIN), Look(size=PLAIN, bold=True)),
        text(x.start, y.end - 23, fit(panel.note, room, SMALL)),
        text(x.start, y.end - 9, _count(panel), Look(muted=True)),
        *plot.below(),
        *plot.left(),
        line(
            x.start,
            y.start,
            x.at(ticks[-1]),
            y.at(ticks[-1]),
            Stroke(dashes="5 4", name="diagonal"),
        ),
        *dots,
    ]


def thin(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most 1,000 of the points, evenly chosen in the order of x, with both ends."""
    if len(points) <= _DRAWN:
        return list(points)
    ordered = sorted(points)
    return [ordered[index * (len(ordered) - 1) // (_DRAWN - 1)] for index in range(_DRAWN)]


def _count(panel: Scatter) -> str:
    n_points = len(panel.known)
    drawn = f", {_DRAWN:,} of them drawn" if n_points > _DRAWN else ""
    return f"{n_points:,} point{'s' * (n_points != 1)}{drawn}"
