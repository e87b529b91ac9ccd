"""Examples, by hand."""

from paper.hand_made import retraining
from whereof.paper._examples import choose_examples


def test_examples_are_those_that_fell_furthest() -> None:
    rows = [retraining(object=name, actual=0.5 - fall) for name, fall in (("b", 0.1), ("c", 0.3))]
    rows += [
        retraining(object="d", actual=0.1, seed=43),
        retraining(object="e", actual=0.1, method="random"),
        retraining(object="f", actual=0.1, k="10"),
        retraining(object="g", actual=0.1, protocol="approximation"),
    ]
    assert choose_examples(rows, 42, 2) == [("a", "r", "c", "object"), ("a", "r", "b", "object")]


def test_scores_stand_for_probabilities_that_ratings_have_not() -> None:
    rated = {"original": None, "actual": None, "original_score": 3.0}
    rows = [
        retraining(object=name, actual_score=score, **rated)
        for name, score in (("b", 3.5), ("c", 2.0))
    ]
    assert choose_examples(rows, 42, 1) == [("a", "r", "c", "object")]
