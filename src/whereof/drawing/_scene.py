"""The parts of a picture of an explanation graph, before it is written."""

from dataclasses import dataclass

from whereof.drawing._colours import PREDICTED, Sign, sign_of, strength
from whereof.drawing._text import (
    Document,
    fact_text,
    influence_text,
    label_of,
    percent,
    standing_text,
)

SMALL, PLAIN, LARGE = 11, 12, 16
"""Sizes of text."""

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"

_THINNEST, _THICKEST = 1.2, 6.0


@dataclass(frozen=True)
class Box:
    """An entity."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    title: str
    in_prediction: bool = False
    note: str = ""


@dataclass(frozen=True)
class Look:
    """How a fact, or the prediction, is drawn wherever it stands."""

    sign: Sign
    width: float
    label: str
    note: str
    title: str


@dataclass(frozen=True)
class Edge:
    """A look from one x to another at a height; a loop turns there and comes back."""

    x1: float
    x2: float
    y: float
    look: Look
    is_loop: bool = False


@dataclass(frozen=True)
class Words:
    """A line of text that begins at a place."""

    x: float
    y: float
    text: str
    size: float
    bold: bool = False


@dataclass(frozen=True)
class Scene:
    """A whole picture."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    words: tuple[Words, ...]


def prediction_look(prediction: Document) -> Look:
    """The prediction's own edge."""
    stands = standing_text(prediction)
    title = f"Predicted: {fact_text(prediction, full=True)}\n{stands}"
    return Look(PREDICTED, 3.0, label_of(prediction, "relation") or "predicted", stands, title)


def fact_look(fact: Document, document: Document, most: float) -> Look:
    """A fact's edge, as thick as its influence is strong; `most` is that of the strongest."""
    share = strength(fact["influence"]) / most if most else 0.0
    sign, note = sign_of(fact["influence"]), influence_text(fact["influence"], document)
    lines = [fact_text(fact, full=True), f"influence {note}: {sign.word}"]
    if fact["probability_without"] is not None:
        lines.append(f"probability without it {percent(fact['probability_without'])}")
    title = "\n".join([*lines, f"fact {fact['fact_id']}"])
    width = _THINNEST + (_THICKEST - _THINNEST) * share
    return Look(sign, width, label_of(fact, "relation"), note, title)
