"""Colours: text has enough contrast to its background."""

import re

import pytest

from whereof.present.html import page
from whereof.present.svg import (
    GROUNDS,
    INK,
    MUTED,
    NEITHER,
    OPPOSES,
    PREDICTED,
    SUPPORTS,
    Sign,
    picture,
    sign_of,
)

LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#\w+)", block))
    for block in page([], title="").split("@media")[:2]
)


def luminance(colour: str) -> float:
    """Relative luminance, by the formula of WCAG 2."""
    digits = colour.lstrip("#")
    parts = re.findall("..", digits if len(digits) == 6 else "".join(2 * d for d in digits))
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (int(part, 16) / 255 for part in parts)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("sign", [SUPPORTS, OPPOSES, NEITHER, PREDICTED])
def test_words_are_dark_enough_and_lines_can_be_seen(sign: Sign) -> None:
    assert contrast(sign.text, "#ffffff") >= 4.5
    assert contrast(sign.line, "#ffffff") >= 3


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["ground", "panel"])
def test_words_and_lines_can_be_seen_on_a_page(colours: dict[str, str], ground: str) -> None:
    for name in ("ink", "muted", "supports", "opposes", "good"):
        assert contrast(colours[name], colours[ground]) >= 4.5, name
    for name in ("supports-line", "opposes-line"):
        assert contrast(colours[name], colours[ground]) >= 3, name
    assert contrast(colours["on-button"], colours["button"]) >= 4.5


def test_signs() -> None:
    signs = [sign_of(value) for value in (0.1, -0.1, 0.0, float("nan"))]
    assert signs == [SUPPORTS, OPPOSES, NEITHER, NEITHER]


def test_words_of_drawings_can_be_read_on_a_dark_page() -> None:
    text = page([], title="")
    dark = dict(re.findall(r"\.whereof-chart \.(\w+) { (?:fill|stroke): (#\w+)", text))
    assert {"ink", "muted"} <= {*dark}
    for sign in (SUPPORTS, OPPOSES, NEITHER, PREDICTED):
        assert contrast(dark[sign.fill], DARK["ground"]) >= 4.5
        assert contrast(dark[sign.stroke], DARK["ground"]) >= 3


def test_a_file_of_the_graph_has_the_grounds_of_the_page() -> None:
    text = picture("", 1, 1, "", [], dark=True)
    dark = dict(re.findall(r"\.whereof-chart \.(\w+) { (?:fill|stroke): (#\w+)", text))
    for kind, light in GROUNDS.items():
        name = "track" if kind == "pillar" else kind
        assert (light, dark[kind]) == (LIGHT[name], DARK[name])
        assert contrast(INK, light) >= 4.5
        assert contrast(dark["ink"], dark[kind]) >= 4.5
    assert contrast(MUTED, GROUNDS["third"]) >= 4.5  # a note in a box
    assert contrast(dark["muted"], dark["third"]) >= 4.5
