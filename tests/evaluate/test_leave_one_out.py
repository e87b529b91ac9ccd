"""Every fact removed alone: true influence, and how methods order it."""

import json
from pathlib import Path

import numpy as np
import pytest

from evaluate.small import (
    N_FACTS,
    influences,
    is_adjacent,
    probabilities,
    retrain,
    sampled,
    spearman,
    train,
)
from whence.evaluate.leave_one_out import _share_of_best, leave_one_out, true_influences
from whence.files import find_evaluations
from whence.report._reading import read_evaluation

METHODS = ("rollback", "rollback-o", "random", "gradient-dot")


def test_rows_are_those_of_the_definition(tmp_path: Path) -> None:
    runs = [train(tmp_path), train(tmp_path, seed=6)]
    with sampled(runs[0]) as one, sampled(runs[1]) as two:
        found = leave_one_out([one, two], METHODS)
        for row in found.rows:
            near, everywhere, shares = [], [], []
            for run, sample in zip(runs, (one, two), strict=True):
                control = probabilities(sample, retrain(sample, []))
                alone = [probabilities(sample, retrain(sample, [i])) for i in range(N_FACTS)]
                truth = control[:, None] - np.array(alone).T
                np.testing.assert_allclose(true_influences(sample), truth.T, atol=1e-12)
                estimated = influences(run, sample, row.method)
                pairs = list(zip(estimated, truth, sample.situations, strict=True))
                masks = [is_adjacent(run, situation) for _, _, situation in pairs]
                near.append(
                    [spearman(e[m], t[m]) for (e, t, _), m in zip(pairs, masks, strict=True)]
                )
                everywhere.append([spearman(e, t) for e, t, _ in pairs])
                shares.append([t[e.argmax()] / t.max() for e, t, _ in pairs])
            assert row.rho_adjacent == pytest.approx(np.mean([np.mean(x) for x in near]))
            assert row.rho_all == pytest.approx(np.mean([np.mean(x) for x in everywhere]))
            assert row.share_of_best == pytest.approx(np.mean([np.mean(x) for x in shares]))
            for rho, interval in (
                (row.rho_adjacent, row.rho_adjacent_interval),
                (row.rho_all, row.rho_all_interval),
            ):
                assert interval[0] < rho < interval[1]
            assert (row.n_seeds, row.n_facts) == (2, N_FACTS)
        other = leave_one_out([one, two], METHODS, seed=1)
    assert [row.method for row in found.rows] == list(METHODS)
    for mine, theirs in zip(found.rows, other.rows, strict=True):
        assert mine.rho_all == theirs.rho_all
        assert mine.rho_all_interval != theirs.rho_all_interval


def test_the_truth_is_trained_once(tmp_path: Path) -> None:
    run = train(tmp_path)
    with sampled(run) as sample:
        before = true_influences(sample)
    with sampled(run) as sample:
        n_retrained = 0

        def count(_done: int, n_retrainings: int) -> None:
            nonlocal n_retrained
            n_retrained = n_retrainings

        sample.case.retrainer.watch.retrained = count  # type: ignore[method-assign]
        assert np.array_equal(true_influences(sample), before)
        assert n_retrained == 0


def test_matrices_are_kept_in_the_run_with_what_their_columns_are(tmp_path: Path) -> None:
    run = train(tmp_path)
    assert run.path is not None
    found = run.evaluate(protocols="leave-one-out", methods="random", seeds=2, limit=4)
    (kept,) = find_evaluations(run.path)
    document = json.loads(kept.read_text())
    assert [each["seed"] for each in document["true_influences"]] == [5, 6]
    for each, mine in zip(document["true_influences"], found.true_influences, strict=True):
        matrix = np.load(kept.with_name(f"{kept.stem}-seed-{each['seed']}.npy"))
        assert (matrix.shape, matrix.dtype) == ((N_FACTS, 4), np.float64)
        assert np.array_equal(matrix, mine.matrix)
    subject, relation, object_, asks = document["true_influences"][0]["predictions"][2]
    exact = run.explain(subject, relation, object_, method="retrain", top=None)
    matrix = found.true_influences[0].matrix
    assert asks == "object"
    assert exact.facts
    assert [matrix[fact.fact_id, 2] for fact in exact.facts] == pytest.approx(
        [fact.influence for fact in exact.facts]
    )
    assert found.retrainings == ()
    assert read_evaluation(kept) == document


def test_share_of_best() -> None:
    truth = np.array([0.1, 0.4, -0.2])
    assert _share_of_best(np.array([0.3, 0.2, 0.1]), truth) == pytest.approx(0.25)
    assert _share_of_best(np.array([0.1, 0.2, 0.3]), truth) == pytest.approx(-0.5)
    assert _share_of_best(np.array([-0.1, 0.0, -0.3]), truth) == 0
    assert np.isnan(_share_of_best(np.array([0.3, 0.2, 0.1]), -np.abs(truth)))
