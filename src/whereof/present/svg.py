"""Pictures as SVG: colours, text that fits, and the marks that all drawings consist of."""

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

from whereof.units import typographic

SMALL, PLAIN, LARGE = 11, 12, 16
"""Sizes of text."""
FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"

INK, MUTED, RIM, GROUND = "#222222", "#555555", "#9a9a9a", "#ffffff"
"""Colours of text, secondary text, lines and the background."""
SERIES = ("#0072b2", "#d55e00", "#00795a", "#a9457f", "#7a6a00", "#555555")
"""Colours of series on a light background; colour-blind readers can distinguish them."""
_DARK_SERIES = ("#56b4e9", "#ff9a4d", "#3fd0a4", "#e59cc4", "#e6d050", "#b5b5b5")
GROUNDS = {"pillar": "#e6eaee", "between": "#efe8f8", "third": "#e3f2ee", "other": "#f9f1d8"}
"""Surfaces of the explanation graph, as on pages of the server, by class."""
_DARK_GROUNDS = {
    "pillar": "#2d343c",
    "between": "#2d2639",
    "third": "#1b302b",
    "other": "#332d17",
}
_DARK = [
    *("ground { fill: #181818", "ink { fill: #eeeeee", "muted { fill: #b5b5b5"),
    *("rim { stroke: #777777", "dark { stroke: #eeeeee"),
    *(f"{kind} {{ fill: {colour}" for kind, colour in _DARK_GROUNDS.items()),
    *(f"fill{index} {{ fill: {colour}" for index, colour in enumerate(_DARK_SERIES)),
    *(f"line{index} {{ stroke: {colour}" for index, colour in enumerate(_DARK_SERIES)),
]
"""Colours of charts on a dark page, by class. Attributes have those of a light page."""
_BROAD_CHART = 480
"""Wider drawings are not made to fit a phone: they scroll within their box."""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NARROW = frozenset("iljtfrI.,:;'|!()[]{} /\\`-\"")
_BROAD = frozenset("mwMW@%…—")

Position = tuple[float, float]
"""x and y."""


@dataclass(frozen=True)
class Sign:
    """What a fact does to the prediction."""

    word: str
    line: str
    """Colour of lines and bars."""
    text: str
    """Colour of words on a light background: a contrast of at least 4.5 to 1."""
    stroke: str
    fill: str
    """Classes of lines, and of surfaces and words, which have other colours on a dark page."""


SUPPORTS = Sign("supports", "#0072b2", "#00598c", "line0", "fill0")
OPPOSES = Sign("opposes", "#d55e00", "#a34700", "line1", "fill1")
NEITHER = Sign("no influence", "#8a8a8a", "#5c5c5c", "rim", "muted")
PREDICTED = Sign("predicted", "#222222", "#222222", "dark", "ink")


_CLASSES = {INK: "ink", MUTED: "muted"} | {
    sign.text: sign.fill for sign in (SUPPORTS, OPPOSES, NEITHER)
}
"""Of words, by their colour."""


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
    cut = text = _cut(" ".join(text.split()), 300)  # measuring long texts is slow
    width = len(text)
    while text_width(cut, size) > room and width > 1:
        width -= 1
        cut = _cut(text, width)
    return cut


def wrap(text: str, room: float, size: float, most: int) -> tuple[str, ...]:
    """A text in at most `most` lines; the last one is shortened if necessary."""
    lines: list[str] = []
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and (len(lines) == most or text_width(joined, size) <= room):
            lines[-1] = joined
        else:
            lines.append(word)
    return tuple(fit(line, room, size) for line in lines)


def _cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


@lru_cache(4096)  # a page measures thousands of letters
def _char_width(char: str) -> float:
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    if char in _NARROW:
        return 0.4
    return 0.98 if char in _BROAD else 0.75 if char.isupper() else 0.63


def tag(name: str, *inner: str, **attributes: Any) -> str:
    """An element: numbers are rounded, and attributes that are None or empty are left out."""
    told = ""
    for key, value in attributes.items():
        if value not in (None, ""):
            text = value if isinstance(value, str) else f"{round(value, 2):g}"
            told += f' {key.rstrip("_").replace("_", "-")}="{text}"'
    return f"<{name}{told}>{''.join(inner)}</{name}>" if inner else f"<{name}{told}/>"


def picture(
    title: str,
    width: float,
    height: float,
    about: str,
    parts: Iterable[str],
    *,
    dark: bool = False,
    styled: bool = True,
) -> str:
    """A whole SVG file; screen readers say `about`.

    dark: has other colours on a dark page; styled: has the rules for them inside.
    """
    style = " ".join(f".whereof-chart .{rule}; }}" for rule in _DARK)
    lines = [
        tag("title", safe(title)),
        tag("desc", safe(typographic(about))),
        *(
            [tag("style", f"@media screen and (prefers-color-scheme: dark) {{{style}}}")]
            * (dark and styled)
        ),
        tag("rect", class_="ground", width="100%", height="100%", fill=GROUND),
        *parts,
    ]
    size = {"viewBox": f"0 0 {width:g} {height:g}", "width": width, "height": height}
    kinds = ["whereof-chart"] * dark + ["broad"] * (width > _BROAD_CHART)
    look = {"class_": " ".join(kinds), "font_family": FONT, "fill": INK}
    body, kind = "\n".join(["", *lines, ""]), "http://www.w3.org/2000/svg"
    return tag("svg", body, xmlns=kind, **size, **look, role="img", aria_label=safe(title)) + "\n"


def words(
    x: float, y: float, text: str, anchor: str = "start", *, bold: bool = False, **look: Any
) -> str:
    """A line of words; `look` are more attributes, such as `fill` and `font_size`."""
    look = dict[str, Any](fill=INK, font_size=SMALL, text_anchor=anchor) | look
    kind = _CLASSES.get(look["fill"])
    return tag("text", safe(text), class_=kind, x=x, y=y, font_weight="bold" * bold, **look)


def line(
    start: Position, end: Position, kind: str = "dark", *, width: float = 1, dashes: str = ""
) -> str:
    """A straight line: `rim` of an axis, `rim grid` behind the data, or `dark` with a name."""
    ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    colour = {"class_": kind, "stroke": RIM if kind.startswith("rim") else INK}
    faint = 0.35 if kind == "rim grid" else None
    stroke = {"stroke_width": width, "stroke_opacity": faint, "stroke_dasharray": dashes}
    return tag("line", **colour, **ends, **stroke)


def filled(series: int) -> dict[str, str]:
    """The attributes of a surface in a series' colour."""
    index = series % len(SERIES)
    return {"class_": f"fill{index}", "fill": SERIES[index]}


def stroked(series: int) -> dict[str, str]:
    """The attributes of a line in a series' colour."""
    index = series % len(SERIES)
    return {"class_": f"line{index}", "stroke": SERIES[index], "fill": "none"}


def disc(series: int, x: float, y: float, radius: float, opacity: float | None = None) -> str:
    """A round point."""
    return tag("circle", **filled(series), fill_opacity=opacity, cx=x, cy=y, r=radius)


def with_tip(tip: str, *parts: str, **attributes: Any) -> str:
    """A group with a tooltip."""
    return tag("g", tag("title", safe(tip)), *parts, **attributes)
