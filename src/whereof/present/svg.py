"""Parts of a picture as SVG: colours, fitted text, lines and words."""

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from whereof.units import typographic

SMALL, PLAIN, LARGE = 11, 12, 16
"""Sizes of text."""
FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"

INK, MUTED, RIM, GROUND = "#222222", "#555555", "#9a9a9a", "#ffffff"
"""Colours of text, secondary text, lines and the background."""
SERIES = ("#0072b2", "#d55e00", "#00795a", "#a9457f", "#7a6a00", "#555555")
"""Colours of series on a light background; colour-blind readers can distinguish them."""
DARK_SERIES = ("#56b4e9", "#ff9a4d", "#3fd0a4", "#e59cc4", "#e6d050", "#b5b5b5")
"""The same on a dark background."""

# The attributes are the colours of a light page; a browser in dark mode overrides them.
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
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NARROW = frozenset("iljtfrI.,:;'|!()[]{} /\\`-\"")
_BROAD = frozenset("mwMW@%…—")
_LONGEST = 300
"""Longer texts are cut to this before they are measured."""


@dataclass(frozen=True)
class Sign:
    """What a fact does to the prediction."""

    word: str
    line: str
    """Colour of lines and bars."""
    text: str
    """Colour of words on a light background: a contrast of at least 4.5 to 1."""


SUPPORTS = Sign("supports", "#0072b2", "#00598c")
OPPOSES = Sign("opposes", "#d55e00", "#a34700")
NEITHER = Sign("no influence", "#8a8a8a", "#5c5c5c")
PREDICTED = Sign("predicted", "#222222", "#222222")


def sign_of(influence: float) -> Sign:
    """Positive supports, negative opposes."""
    if influence == 0 or math.isnan(influence):
        return NEITHER
    return SUPPORTS if influence > 0 else OPPOSES


def safe(text: str) -> str:
    """A text for XML and HTML, between tags or in quotes."""
    return escape(clean(text))


def clean(text: str) -> str:
    """A text without the characters that XML does not allow."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def text_width(text: str, size: float) -> float:
    """An upper estimate of the width of a text."""
    return size * sum(map(_char_width, text))


def fit(text: str, room: float, size: float) -> str:
    """A text shortened in the middle to fit a width."""
    cut = text = _cut(" ".join(text.split()), _LONGEST)
    width = len(text)
    while text_width(cut, size) > room and width > 1:
        width -= 1
        cut = _cut(text, width)
    return cut


def wrap(text: str, room: float, size: float, most: int) -> tuple[str, ...]:
    """A text in at most `most` lines; the last one is shortened if necessary."""
    words = text.split()
    lines: list[str] = []
    while words and len(lines) < most - 1:
        taken = 1
        while taken < len(words) and text_width(" ".join(words[: taken + 1]), size) <= room:
            taken += 1
        lines.append(fit(" ".join(words[:taken]), room, size))
        words = words[taken:]
    if words:
        lines.append(fit(" ".join(words), room, size))
    return tuple(lines)


def _cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def _char_width(char: str) -> float:
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    if char in _NARROW:
        return 0.4
    return 0.98 if char in _BROAD else 0.75 if char.isupper() else 0.63


def chart_file(title: str, width: float, height: float, about: str, parts: Iterable[str]) -> str:
    """A whole SVG file: the title above the parts; screen readers say `about`."""
    lines = wrap(title, 0.9 * (width - 32), PLAIN, 3)
    heading = [
        words(16, 20 + 16 * row, line, size=PLAIN, bold=True) for row, line in enumerate(lines)
    ]
    above = 12 + 16 * len(lines)
    height += above
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="whereof-chart" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{safe(title)}" font-family="{FONT}" font-size="{SMALL}" fill="{INK}">\n'
        f"<title>{safe(title)}</title>\n<desc>{safe(typographic(about))}</desc>\n"
        f"<style>{_DARK}</style>\n"
        f'<rect class="ground" width="100%" height="100%" fill="{GROUND}"/>\n'
        + "\n".join(heading)
        + f'\n<g transform="translate(0 {above})">\n'
        + "\n".join(parts)
        + "\n</g>\n</svg>\n"
    )


def words(
    x: float,
    y: float,
    text: str,
    anchor: str = "start",
    *,
    size: float = SMALL,
    bold: bool = False,
    muted: bool = False,
    turned: float = 0,
) -> str:
    """A line of words; `turned` by a number of degrees."""
    colour = f'class="{"muted" if muted else "ink"}" fill="{MUTED if muted else INK}"'
    weight = ' font-weight="bold"' if bold else ""
    turn = f' transform="rotate({turned:g} {x:.2f} {y:.2f})"' if turned else ""
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" font-size="{size:g}" text-anchor="{anchor}" '
        f"{colour}{weight}{turn}>{safe(typographic(text))}</text>"
    )


def line(
    start: tuple[float, float],
    end: tuple[float, float],
    kind: str = "dark",
    *,
    width: float = 1,
    dashes: str = "",
) -> str:
    """A straight line: `rim` of an axis, `rim grid` behind the data, or `dark` with a name."""
    colour = RIM if kind.startswith("rim") else INK
    more = ' stroke-opacity="0.35"' if kind == "rim grid" else ""
    more += f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line class="{kind}" x1="{start[0]:.2f}" y1="{start[1]:.2f}" x2="{end[0]:.2f}" '
        f'y2="{end[1]:.2f}" stroke="{colour}" stroke-width="{width:g}"{more}/>'
    )


def filled(series: int) -> str:
    """The attributes of a surface in a series' colour."""
    index = series % len(SERIES)
    return f'class="fill{index}" fill="{SERIES[index]}"'


def stroked(series: int) -> str:
    """The attributes of a line in a series' colour."""
    index = series % len(SERIES)
    return f'class="line{index}" stroke="{SERIES[index]}" fill="none"'


def disc(series: int, x: float, y: float, radius: float, opacity: float = 1) -> str:
    """A round point."""
    faint = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    return f'<circle {filled(series)}{faint} cx="{x:.2f}" cy="{y:.2f}" r="{radius:g}"/>'


def with_tip(tip: str, *parts: str) -> str:
    """A group with a tooltip."""
    return f"<g><title>{safe(typographic(tip))}</title>{''.join(parts)}</g>"
