"""Names and numbers as people read them."""

import math
import re
from collections.abc import Mapping
from html import escape
from typing import Any

from whereof.errors import WhereofError

Document = Mapping[str, Any]
"""What `Explanation.to_dict()` gives, or a part of it; JSON and back leaves it the same."""

PLACES = ("subject", "relation", "object")

_FALLS = {
    "probability": "Influence is the probability with all facts less the probability without the "
    "fact, in percentage points",
    "score": "Influence is the score with all facts less the score without the fact",
    "loss": "Influence is the loss without the fact less the loss with all facts",
    "log_ratio": "Influence is on the log of the probability of the prediction over that of the "
    "other answer: with all facts less without the fact",
}
"""What influences mean that are falls."""

_FALLING = ("rollback", "rollback-o", "retrain")
"""Methods that work out the prediction without each fact."""

_NEEDED = ("prediction", "method", "of", "n_adjacent", "facts")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check(document: Document) -> None:
    """Say what a document lacks to be an explanation."""
    missing = [name for name in _NEEDED if name not in document]
    if missing:
        raise WhereofError(
            f"no explanation: {', '.join(missing)} missing; "
            "give what Explanation.to_dict() or `whereof explain --json` gives"
        )


def safe(text: str) -> str:
    """A text as it stands in XML and HTML, between tags or in quotes."""
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def named(name: str, label: str) -> str:
    """A label with its name, or the name alone where it has none."""
    return name if label == name else f"{label} ({name})"


def label_of(fact: Document, place: str) -> str:
    """How a part of a fact is called; nothing for the relation of two-way data."""
    return fact["labels"][place] or fact[place] or ""


def fact_text(fact: Document, *, full: bool = False) -> str:
    """A fact or a prediction by its labels; in full, with the names that they stand for."""
    there = [place for place in PLACES if fact[place] is not None]
    labels = {place: label_of(fact, place) for place in there}
    return " ".join(named(fact[place], labels[place]) if full else labels[place] for place in there)


def role_text(fact: Document) -> str:
    """What a fact shares with the prediction."""
    return ", ".join(fact["parts"]) or str(fact["role"])


def percent(value: float) -> str:
    """A fraction in percent; small ones keep two digits."""
    if value < 0:
        return f"{_sign(value)}{percent(-value)}"
    if value < 1 and round(100 * value, 1) == 100:
        return ">99.9%"
    return f"{_digits(100 * value)}%"


def has_falls(document: Document) -> bool:
    """Whether influences are falls of what is explained; other methods have scales of their own."""
    return str(document["method"]) in _FALLING


def measure_text(document: Document) -> str:
    """What the influences of an explanation mean."""
    if has_falls(document):
        return _FALLS[document["of"]]
    return (
        f"Influence is a plain number, as {document['method']} estimates it: "
        "to be compared with others of this method alone"
    )


def influence_text(value: float, document: Document) -> str:
    """An influence of an explanation with its sign, and its unit where it has one."""
    return fall_text(value, document["of"] if has_falls(document) else "")


def fall_text(value: float, of: str) -> str:
    """What rolling back takes away, with its sign; of a probability, in percentage points."""
    if of == "probability":
        return f"{_sign(value)}{_digits(100 * abs(value))} points"
    return f"{_sign(value)}{plain(abs(value))}"


def plain(value: float) -> str:
    """A score, or what has no unit, in three digits."""
    return f"{value:#.3g}".rstrip(".")


def standing_text(standing: Document) -> str:
    """Probability and rank; of a model of ratings, score and rank."""
    probability = standing["probability"]
    worth = (
        f"score {plain(standing['score'])}"
        if probability is None
        else f"probability {percent(probability)}"
    )
    return f"{worth}, rank {standing['rank']:,}"


def stands_text(document: Document) -> str:
    """How a prediction stands, and the answer that it is compared with."""
    prediction, other = document["prediction"], document.get("contrast")
    stands = f"{standing_text(prediction)} of {prediction['n_candidates']:,}"
    if other is None:
        return stands
    return f"{stands}; rather than {other['label']}: {standing_text(other)}"


def prediction_text(document: Document) -> str:
    """One line that says what is explained, and how it stands."""
    return f"{fact_text(document['prediction'])}: {stands_text(document)}"


def _sign(value: float) -> str:
    if value < 0:
        return "\N{MINUS SIGN}"
    return "+" if value > 0 else ""


def _digits(value: float) -> str:
    if value == 0 or value >= 1 or not math.isfinite(value):
        return f"{value:.1f}"
    if value < 1e-4:
        return f"{value:.1e}"
    return f"{value:.{1 - math.floor(math.log10(value))}f}"
