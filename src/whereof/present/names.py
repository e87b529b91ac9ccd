"""Text for facts, predictions and their standings."""

from collections.abc import Mapping
from typing import Protocol

from whereof.explain.explanation import Explanation
from whereof.units import count, percent, show

PLACES = ("subject", "relation", "object")

_FALLS = {
    "probability": "Influence is the probability with all facts minus the probability without the "
    "fact, in percentage points",
    "score": "Influence is the score with all facts minus the score without the fact",
    "loss": "Influence is the loss without the fact minus the loss with all facts",
    "log_ratio": "Influence is on the log of the ratio of both probabilities: with all facts minus "
    "without the fact",
}
"""What an influence means for methods that score the prediction without the fact."""


class Named(Protocol):
    """A fact or a prediction with its names."""

    @property
    def subject(self) -> str: ...
    @property
    def relation(self) -> str | None: ...
    @property
    def object(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str | None]: ...


class Stands(Protocol):
    """Standing of a prediction under given parameters."""

    @property
    def probability(self) -> float | None: ...
    @property
    def score(self) -> float: ...
    @property
    def rank(self) -> int: ...


def named(name: str, label: str) -> str:
    """A label with its name in parentheses, or the name if there is no label."""
    return name if label == name else f"{label} ({name})"


def name_of(fact: Named, place: str) -> str:
    """The name in one place of a fact; empty for the relation in two-way data."""
    return str(getattr(fact, place) or "")


def label_of(fact: Named, place: str) -> str:
    """The label in one place of a fact, or its name."""
    return fact.labels[place] or name_of(fact, place)


def places_of(fact: Named) -> list[str]:
    """The places of a fact; two-way data has no relation."""
    return [place for place in PLACES if name_of(fact, place) or place != "relation"]


def fact_text(fact: Named, *, full: bool = False) -> str:
    """A fact or a prediction by its labels; with `full`, also its names."""
    labels = {place: label_of(fact, place) for place in places_of(fact)}
    return " ".join(
        named(name_of(fact, place), label) if full else label for place, label in labels.items()
    )


def is_rated(item: Stands) -> bool:
    """Whether the model predicts ratings: its score replaces the probability."""
    return item.probability is None


def standing_text(item: Stands) -> str:
    """Probability and rank; for a rating model, rating and rank."""
    output = (
        f"rating {show(item.score, 'score')}"
        if item.probability is None
        else f"probability {percent(item.probability)}"
    )
    return f"{output}, rank {item.rank:,}"


def stands_text(explanation: Explanation) -> str:
    """The standing of a prediction, and of the answer that it is compared with."""
    prediction, other = explanation.prediction, explanation.contrast
    stands = f"{standing_text(prediction)} of {prediction.n_candidates:,}"
    if other is None:
        return stands
    return f"{stands}; compared with {other.label}: {standing_text(other)}"


def prediction_text(explanation: Explanation) -> str:
    """One line with the prediction and its standing."""
    return f"{fact_text(explanation.prediction)}: {stands_text(explanation)}"


def has_falls(explanation: Explanation) -> bool:
    """Whether influences are differences with and without the fact.

    Methods that do not score the prediction without a fact have their own scale.
    """
    return all(fact.score_without is not None for fact in explanation.facts)


def measure_text(explanation: Explanation) -> str:
    """What the influences of an explanation mean."""
    if has_falls(explanation):
        return _FALLS[explanation.of]
    return (
        f"Influence is a number on the scale of {explanation.method}: "
        "compare it only with other numbers of this method"
    )


def influence_text(value: float, explanation: Explanation) -> str:
    """An influence with its sign and unit."""
    return fall_text(value, explanation.of if has_falls(explanation) else "")


def fall_text(value: float, of: str) -> str:
    """A difference with its sign; a difference of probabilities in percentage points."""
    return show(value, "points" if of == "probability" else "signed")


def these_facts(n_facts: int) -> str:
    """Words for some facts: `this fact`, or `these 3 facts together`."""
    return "this fact" if n_facts == 1 else f"these {count(n_facts, 'fact')} together"
