"""Pairs of methods, by hand: two seeds, two predictions each."""

import pytest

from paper.hand_made import retraining
from whence.paper._comparing import closenesses, differences, examples, removed


def pairs() -> list:
    """Seed 42: rollback lowers both, random one of them; seed 43: both lower none, or raise."""
    rows = []
    for seed, method, falls in (
        (42, "rollback", (0.2, 0.1)),
        (42, "random", (0.1, 0.0)),
        (43, "rollback", (0.0, -0.1)),
        (43, "random", (0.0, 0.0)),
    ):
        for name, fall in zip("bc", falls, strict=True):
            top = "z" if fall == 0.2 else "b"
            rows.append(
                retraining(seed=seed, method=method, object=name, actual=0.5 - fall, top_after=top)
            )
    return rows


def test_differences_are_paired_and_seeds_count_the_same() -> None:
    pd, tc = differences(pairs(), "rollback", "random")
    assert (pd.method, pd.baseline, pd.k, pd.metric) == ("rollback", "random", "1", "pd")
    assert pd.seeds == (0.5, 0.0)
    assert pd.difference == 0.25
    assert tc.seeds == (0.5, 0.0)
    assert pd.interval[0] <= pd.difference <= pd.interval[1]
    # One difference of four is not 0: either sign is as likely.
    assert pd.p_value == 1.0


def test_scores_stand_for_probabilities_that_ratings_have_not() -> None:
    rated = {"original": None, "actual": None, "original_score": 3.0}
    rows = [
        retraining(method="rollback", actual_score=2.0, **rated),
        retraining(method="random", actual_score=3.5, **rated),
    ]
    assert differences(rows, "rollback", "random")[0].difference == 1.0


def test_other_protocols_do_not_count() -> None:
    assert differences([retraining(protocol="steadiness")], "rollback", "random") == ()


def test_removed_counts_facts_of_every_seed() -> None:
    rows = [
        retraining(k="all", removed=(1, 2, 3)),
        retraining(k="all", removed=(4,), object="c"),
        retraining(k="all", removed=(5,), seed=43),
    ]
    (found,) = removed(rows)
    assert (found.method, found.k, found.seeds) == ("rollback", "all", (2.0, 1.0))


def test_examples_are_those_that_fell_furthest() -> None:
    rows = [retraining(object=name, actual=0.5 - fall) for name, fall in (("b", 0.1), ("c", 0.3))]
    rows.append(retraining(object="d", actual=0.1, seed=43))
    rows.append(retraining(object="e", actual=0.1, method="random"))
    assert examples(rows, 42, 2) == [("a", "r", "c", "object"), ("a", "r", "b", "object")]


def test_closeness_is_of_every_seed_and_constraint() -> None:
    rows = [
        retraining(
            protocol="approximation", seed=seed, original=before, predicted=before - a, actual=b
        )
        for seed, sign in ((42, 1), (43, -1))
        for before, a, b in ((0.5, 0.1, 0.5 - sign * 0.2), (0.5, 0.2, 0.5 - sign * 0.4))
    ]
    (found,) = closenesses(rows)
    assert found.constraint == "none"
    assert found.change == pytest.approx((1.0, -1.0))
    assert found.probability == pytest.approx((1.0, -1.0))
