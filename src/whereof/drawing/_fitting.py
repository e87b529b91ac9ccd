"""How much text a place in a picture takes, as far as that is known without a font."""

import unicodedata

_NARROW = frozenset("iljtfrI.,:;'|!()[]{} /\\`-\"")
_BROAD = frozenset("mwMW@%…—")
_LONGEST = 300
"""Longer texts are cut to this before they are measured."""


def text_width(text: str, size: float) -> float:
    """About how wide a text is, on the safe side."""
    return size * sum(map(_char_width, text))


def fit(text: str, room: float, size: float) -> str:
    """A text cut in the middle until it is no wider than its room."""
    cut = text = _cut(" ".join(text.split()), _LONGEST)
    width = len(text)
    while text_width(cut, size) > room and width > 1:
        width -= 1
        cut = _cut(text, width)
    return cut


def wrap(text: str, room: float, size: float, most: int) -> tuple[str, ...]:
    """A text in at most so many lines; what is left over is cut in the middle of the last."""
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
    """A text of at most so many characters, without its middle."""
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
