"""What figures mean, said as they are."""

from dataclasses import replace
from typing import Any

import pytest

from tests.report.documents import FULL, THEORY, document, removal
from whereof.evaluate.results import Evaluation
from whereof.report._sentences import (
    approximation_sentences,
    released_sentences,
    removal_sentences,
    steadiness_sentences,
)
from whereof.report._theory import theory
from whereof.report._worth import PROBABILITY


def said(evaluation: Evaluation = FULL) -> list[str]:
    spaced = removal_sentences(evaluation.to_dict())
    return [sentence.replace("\N{NO-BREAK SPACE}", " ") for sentence in spaced]


def test_removal_is_told_beside_the_baseline() -> None:
    one, ten, everything = said()
    assert one == (
        "Removing the one fact that rollback ranks first lowers the probability of 91.6% of 143 "
        "predictions (the mean of 2 seeds); one random adjacent fact does so for 54.0%: 37.6 "
        "points more, beyond chance (p < 0.001). The top answer changes for 34.0%, against 12.0%: "
        "22.0 points more, which may be chance (p = 0.210)."
    )
    assert ten.startswith("Removing the 10 facts that rollback ranks first lowers")
    assert "10 random adjacent facts do so for 66.0%" in ten
    assert everything.startswith("Removing all facts that rollback finds in support (261.4 on")


def test_removed_answers_that_count_as_new_are_told() -> None:
    rows = document(removal=(removal("rollback", 1, 0.9, 0.3, 1), removal("random", 1, 0.5, 0, 1)))
    (sentence,) = released_sentences(rows["removal"])
    assert sentence.endswith("counts as new, TC is 32.0% instead of 30.0% (rollback, k = 1).")
    (same,) = released_sentences(rows["removal"][1:])
    assert same.endswith("counts as new, TC is the same.")
    assert not list(released_sentences([{"tc": 0.1, "tc_released": None}]))


def test_a_method_below_its_baseline_is_said_to_be() -> None:
    rows = (removal("tracin", 1, 0.4, 0.1, 1), removal("random", 1, 0.5, 0.1, 1))
    (sentence,) = said(replace(FULL, removal=rows, significance=()))
    assert "50.0%: 10.0 points less." in sentence
    assert "against 10.0%: no difference." in sentence


def test_a_method_alone_is_told_alone() -> None:
    (sentence,) = said(replace(FULL, removal=(removal("rollback", 1, 0.9, 0.3, 1),)))
    assert sentence.endswith("(the mean of 2 seeds), and changes the top answer of 30.0%.")


@pytest.mark.parametrize(
    ("tc", "where"), [(0.34, "clearly above it"), (0.07, "not clearly above it")]
)
def test_the_floor_of_changes_is_compared(tc: float, where: str) -> None:
    rows = (removal("rollback", 1, 0.9, tc, 1),)
    floor, above = steadiness_sentences(document(removal=rows))
    assert "changes 6.5% of the top answers (95% interval 5.0% to 8.0%)" in floor
    assert above.endswith(where + ".")


def test_constraints_are_compared_from_steep_to_flat() -> None:
    *_, last = approximation_sentences(document()["approximation"], PROBABILITY)
    assert last == (
        "From no constraint to unit norm the slope of the score falls from 6.93 to 0.670, and r "
        "rises: 0.930 to 0.990."
    )


@pytest.mark.parametrize(
    ("changes", "batch_size", "words"),
    [
        ({"lipschitz": None, "smoothness": None}, 1, "lemmas do not hold for distmult"),
        ({"lipschitz": None, "smoothness": None}, 64, "lemmas do not hold for distmult"),
        ({}, 64, "proved of one fact a step, and here a batch has 64"),
        ({}, 1, "not finite for this training"),
        # As a training that diverged is kept.
        ({"lipschitz": None, "largest_norm": None}, 1, "not finite for this training"),
    ],
)
def test_a_missing_bound_has_its_own_reason(
    changes: dict[str, Any], batch_size: int, words: str
) -> None:
    found = replace(THEORY, stability_bound=None, recurrence_bound=None, **changes)
    config = {**FULL.config, "batch_size": batch_size}
    text = " ".join(theory(document(theory=found, config=config)).parts)
    told = ("lemmas do not hold", "proved of one fact", "not finite")
    assert words in text
    assert sum(reason in text for reason in told) == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "So rolling back comes nearer to retraining than doing nothing."),
        ({"rollback_error": 0.1}, "comes no nearer to retraining"),
        ({}, "is 12.5: above 1, so it says nothing of a probability"),
        ({"stability_bound": 0.5}, "is 0.500: below 1"),
        ({"stability_bound": None}, "The stability bound is not finite"),
        ({}, "nearly constant beside them"),
        ({"normaliser_std": 1.2}, "not so constant beside them"),
    ],
)
def test_theory_is_told_in_words(changes: dict[str, Any], words: str) -> None:
    section = theory(document(theory=replace(THEORY, **changes)))
    assert words in " ".join(section.parts)
