"""Approximation: predicted and actual probabilities, compared with the definition."""

from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise

import numpy as np
import pytest

import whereof
from evaluate.small import influences, probabilities, retrain, run_protocol, sampled

Small = Callable[..., whereof.Run]


def test_points_and_correlations_are_those_of_the_definition(small_run: Small) -> None:
    runs = {
        "none": [small_run(), small_run(seed=6)],
        "max:0.8": [small_run(constraint="max:0.8")],
    }
    with ExitStack() as stack:
        samples = {
            name: [stack.enter_context(sampled(run)) for run in mine] for name, mine in runs.items()
        }
        found = run_protocol("approximation", samples["none"], samples)
        for row, (name, mine) in zip(found.results["approximation"], runs.items(), strict=True):
            wanted, ends = [], [0]
            for run, sample in zip(mine, samples[name], strict=True):
                original = probabilities(sample, retrain(sample, []))
                estimated = influences(run, sample, "rollback")
                for i, fact in enumerate(estimated.argmax(axis=1)):
                    actual = probabilities(sample, retrain(sample, [fact]))[i]
                    wanted.append((original[i], original[i] - estimated[i, fact], actual))
                ends.append(len(wanted))
            o, p, a = np.array(wanted).T
            seeds = [slice(*pair) for pair in pairwise(ends)]
            assert row.pearson_probability_seeds == pytest.approx(
                [np.corrcoef(p[one], a[one])[0, 1] for one in seeds]
            )
            assert row.pearson_change_seeds == pytest.approx(
                [np.corrcoef(p[one] - o[one], a[one] - o[one])[0, 1] for one in seeds]
            )
            assert row.pearson_probability_interval is not None
            low, high = row.pearson_probability_interval
            assert low < row.pearson_probability < high
            assert row.constraint == name
            assert row.n_points == len(wanted)
            np.testing.assert_allclose(row.points, wanted, rtol=1e-9)
            assert row.pearson_probability == pytest.approx(np.corrcoef(p, a)[0, 1])
            assert row.pearson_change == pytest.approx(np.corrcoef(p - o, a - o)[0, 1])
            slopes = [sample.case.result["lipschitz"] for sample in samples[name]]
            assert row.lipschitz == pytest.approx(np.mean(slopes))
            assert row.lipschitz_seeds == tuple(slopes)
    assert len(found.retrainings) == sum(row.n_points for row in found.results["approximation"])


def test_records_tell_what_points_tell(small_run: Small) -> None:
    run = small_run()
    with sampled(run) as sample:
        found = run_protocol("approximation", [sample])
        first = [ids[0] for ids in sample.rank("rollback", 1)]
    points = [(r.original, r.predicted, r.actual) for r in found.retrainings]
    assert points == list(found.results["approximation"][0].points)
    assert [r.removed for r in found.retrainings] == [(fact,) for fact in first]
    assert {(r.protocol, r.method, r.k) for r in found.retrainings} == {
        ("approximation", "rollback", "1")
    }


def test_a_unit_norm_lowers_the_slope(small_run: Small) -> None:
    with sampled(small_run()) as free, sampled(small_run(constraint="unit")) as unit:
        variants = {"none": [free], "unit": [unit]}
        found = run_protocol("approximation", [free], variants)
    assert found.results["approximation"][0].lipschitz > found.results["approximation"][1].lipschitz
    assert found.results["approximation"][1].lipschitz <= 1


def test_ratings_are_told_in_ratings(ratings: whereof.Run) -> None:
    with sampled(ratings, true=True, split="train") as sample:
        found = run_protocol("approximation", [sample])
        stored = sample.case.stand(sample.arrays)["score"]
    original = [point[0] for point in found.results["approximation"][0].points]
    assert original == list(stored)
    assert [r.original_score for r in found.retrainings] == original
    assert all(r.predicted is None for r in found.retrainings)
