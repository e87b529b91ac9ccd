"""The linear datamodelling score, compared with the definition."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whereof
from evaluate.small import (
    N_FACTS,
    influences,
    probabilities,
    retrain,
    run_protocol,
    sampled,
    spearman,
)
from whereof.evaluate.protocols.datamodelling import _without_rounding, draw_removed

Small = Callable[..., whereof.Run]


def test_scores_are_those_of_the_definition_with_margins(
    small_run: Small,
) -> None:
    runs, n_subsets = [small_run(), small_run(seed=6)], 12
    with sampled(runs[0]) as one, sampled(runs[1]) as two:
        found = run_protocol("datamodelling", [one, two], subsets=n_subsets, seed=3)
        for row in found.results["datamodelling"]:
            scores = []
            for run, sample in zip(runs, (one, two), strict=True):
                estimated = influences(run, sample, row.method)
                kept = ~draw_removed(N_FACTS, n_subsets, 3)
                p = np.array(
                    [probabilities(sample, retrain(sample, np.flatnonzero(~k))) for k in kept]
                )
                margins = np.log(p / (1 - p))
                sums = np.array([[e[k].sum() for k in kept] for e in estimated])
                scores.append([spearman(s, m) for s, m in zip(sums, margins.T, strict=True)])
            assert row.score == pytest.approx(np.mean([np.mean(mine) for mine in scores]))
            assert row.interval[0] < row.score < row.interval[1]
            assert (row.n_subsets, row.n_seeds) == (n_subsets, 2)
        n_predictions = len(one.predictions) + len(two.predictions)
    assert len(found.retrainings) == n_subsets * n_predictions
    assert {len(r.removed) for r in found.retrainings} == {N_FACTS // 2}


@given(st.integers(2, 60), st.integers(1, 20), st.integers(0, 2**32))
def test_halves_are_halves_and_keep_their_number(n_facts: int, n_subsets: int, seed: int) -> None:
    halves = draw_removed(n_facts, n_subsets, seed)
    assert (halves.sum(axis=1) == round(n_facts / 2)).all()
    assert np.array_equal(draw_removed(n_facts, n_subsets + 3, seed)[:n_subsets], halves)


def test_halves_take_every_fact_as_often() -> None:
    shares = draw_removed(50, 4000, 0).mean(axis=0)
    assert np.abs(shares - 0.5).max() < 0.04
    assert not np.array_equal(draw_removed(50, 3, 0), draw_removed(50, 3, 1))


def test_sums_that_differ_by_rounding_tie() -> None:
    sums = np.array([[0.1 + 0.2, 0.3, 0.4], [0.0, 0.0, 0.0]])
    ranks = _without_rounding(sums)
    assert ranks[0, 0] == ranks[0, 1] < ranks[0, 2]
    assert not ranks[1].any()
