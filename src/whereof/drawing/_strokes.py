"""Lines, words and marks of a chart, and the file that holds them."""

from collections.abc import Iterable
from dataclasses import dataclass

from whereof.drawing._colours import DARK_SERIES, GROUND, INK, MUTED, RIM, SERIES
from whereof.drawing._fitting import wrap
from whereof.drawing._scene import FONT, PLAIN, SMALL
from whereof.drawing._text import safe

# Attributes hold the colours of a light ground; a browser that shows dark pages overrules them.
_DARK = (
    "@media screen and (prefers-color-scheme: dark) {"
    ".whereof-chart .ground { fill: #181818; } .whereof-chart .ink { fill: #eeeeee; }"
    ".whereof-chart .muted { fill: #b5b5b5; } .whereof-chart .rim { stroke: #777777; }"
    ".whereof-chart .dark { stroke: #eeeeee; }"
    + "".join(
        f" .whereof-chart .fill{index} {{ fill: {colour}; }}"
        f" .whereof-chart .line{index} {{ stroke: {colour}; }}"
        for index, colour in enumerate(DARK_SERIES)
    )
    + "}"
)


@dataclass(frozen=True)
class Look:
    """How words stand."""

    anchor: str = "start"
    size: float = SMALL
    bold: bool = False
    muted: bool = False
    turned: float = 0
    """Degrees."""


@dataclass(frozen=True)
class Stroke:
    """How a line is drawn."""

    colour: str = INK
    width: float = 1
    faint: bool = False
    """It lies behind the data."""
    dashes: str = ""
    name: str = ""
    """What it stands for."""


EDGE, GRID = Stroke(RIM), Stroke(RIM, faint=True)
"""The line of an axis, and those behind the data."""
TICK, MIDDLE = Look(anchor="end", muted=True), Look(anchor="middle")
"""Words left of an axis, and centred ones."""
_PLAIN_LOOK, _THIN_STROKE = Look(), Stroke()


def chart(width: float, height: float, title: str, about: str, parts: Iterable[str]) -> str:
    """A whole SVG file: the title above the parts; `about` is what a screen reader says of it."""
    lines = wrap(title, 0.9 * (width - 32), PLAIN, 3)
    heading = [
        text(16, 20 + 16 * row, words, Look(size=PLAIN, bold=True))
        for row, words in enumerate(lines)
    ]
    above = 12 + 16 * len(lines)
    height += above
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="whereof-chart" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{safe(title)}" font-family="{FONT}" font-size="{SMALL}" fill="{INK}">\n'
        f"<title>{safe(title)}</title>\n<desc>{safe(about)}</desc>\n<style>{_DARK}</style>\n"
        f'<rect class="ground" width="100%" height="100%" fill="{GROUND}"/>\n'
        + "\n".join(heading)
        + f'\n<g transform="translate(0 {above})">\n'
        + "\n".join(parts)
        + "\n</g>\n</svg>\n"
    )


def text(x: float, y: float, words: str, look: Look = _PLAIN_LOOK) -> str:
    """A line of words."""
    colour = f'class="{"muted" if look.muted else "ink"}" fill="{MUTED if look.muted else INK}"'
    weight = ' font-weight="bold"' if look.bold else ""
    turn = f' transform="rotate({look.turned:g} {x:.2f} {y:.2f})"' if look.turned else ""
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" font-size="{look.size:g}" text-anchor="{look.anchor}" '
        f"{colour}{weight}{turn}>{safe(words)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, stroke: Stroke = _THIN_STROKE) -> str:
    """A straight line."""
    kind = "rim" if stroke.colour == RIM else "dark"
    kind += f" {stroke.name}" if stroke.name else ""
    more = ' stroke-opacity="0.35"' if stroke.faint else ""
    more += f' stroke-dasharray="{stroke.dashes}"' if stroke.dashes else ""
    return (
        f'<line class="{kind}" x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" '
        f'stroke="{stroke.colour}" stroke-width="{stroke.width:g}"{more}/>'
    )


def filled(series: int) -> str:
    """The attributes of a surface in a series' colour."""
    index = series % len(SERIES)
    return f'class="fill{index}" fill="{SERIES[index]}"'


def stroked(series: int) -> str:
    """The attributes of a line in a series' colour."""
    index = series % len(SERIES)
    return f'class="line{index}" stroke="{SERIES[index]}" fill="none"'


def with_tip(tip: str, *parts: str) -> str:
    """A group that says what it stands for when it is pointed at."""
    return f"<g><title>{safe(tip)}</title>{''.join(parts)}</g>"


def empty_chart(title: str, about: str, words: str) -> str:
    """What is drawn where there is nothing to draw."""
    return chart(360, 40, title, f"{about} {words}", [text(16, 18, words, Look(muted=True))])
