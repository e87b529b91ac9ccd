"""What predictions are measured by: probabilities or, of models of ratings, those."""

from dataclasses import dataclass

from whereof.report._parts import Document


@dataclass(frozen=True)
class Worth:
    """The word for what a model gives a prediction."""

    one: str
    several: str


PROBABILITY, RATING = Worth("probability", "probabilities"), Worth("rating", "ratings")


def worth_of(evaluation: Document) -> Worth:
    """By the loss that the evaluated run was trained with: squared learns ratings."""
    return RATING if evaluation["config"].get("loss") == "squared" else PROBABILITY
