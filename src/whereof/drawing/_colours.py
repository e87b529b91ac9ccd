"""One colour a sign, told apart by colour-blind people too."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Sign:
    """What a fact does to the prediction."""

    word: str
    line: str
    """Colour of lines and bars."""
    text: str
    """Colour of words on a light ground: at least 4.5 to 1."""


SUPPORTS = Sign("supports", "#0072b2", "#00598c")
OPPOSES = Sign("opposes", "#d55e00", "#a34700")
NEITHER = Sign("no influence", "#8a8a8a", "#5c5c5c")
PREDICTED = Sign("predicted", "#222222", "#222222")

INK, MUTED, RIM, GROUND = "#222222", "#555555", "#9a9a9a", "#ffffff"
"""Of words, lesser words, lines and paper."""

SERIES = ("#0072b2", "#d55e00", "#00795a", "#a9457f", "#7a6a00", "#555555")
"""Of what is shown side by side, on a light ground."""

DARK_SERIES = ("#56b4e9", "#ff9a4d", "#3fd0a4", "#e59cc4", "#e6d050", "#b5b5b5")
"""The same on a dark one."""


def sign_of(influence: float) -> Sign:
    """Positive supports, negative opposes."""
    if influence == 0 or math.isnan(influence):
        return NEITHER
    return SUPPORTS if influence > 0 else OPPOSES


def strength(influence: float) -> float:
    """How much a fact matters, either way."""
    return abs(influence) if math.isfinite(influence) else 0.0
