"""Methods that retrain, and methods with settings of their own, in evaluations."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from listening import Recorded

import whereof
from evaluate.small import N_FACTS, influences, probabilities, retrain, run_protocol, sampled, train
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.sample import Sample

Small = Callable[..., whereof.Run]
STEADY = {"optimizer": "adagrad", "accumulator": 0.1, "precision": "float32"}


def test_the_exact_method_is_the_truth(small_run: Small) -> None:
    with sampled(small_run()) as sample:
        found = run_protocol("leave-one-out", [sample], methods="retrain,verified:budget=6")
        exact, verified = found.results["leave_one_out"]
        matrix = found.results["true_influences"][0].matrix
        assert (exact.rho_all, exact.rho_adjacent, exact.share_of_best) == pytest.approx((1, 1, 1))
        assert exact.size_error == pytest.approx(1)
        assert np.array_equal(sample.influences("retrain"), matrix.T)
        measured = sample.influences("verified:budget=6")
        assert ((measured != 0).sum(axis=1) <= 5).all()
        assert np.array_equal(measured[measured != 0], matrix.T[measured != 0])
        assert verified.size_error == pytest.approx(1)
        assert verified.rho_all < 1
        assert exact.seconds > 0
        assert verified.seconds > 0


def test_a_variant_has_its_own_settings(small_run: Small) -> None:
    run = small_run(**STEADY)
    texts = "unrolled", "unrolled:sweep-epochs=1"
    with sampled(run) as sample:
        rows = run_protocol("leave-one-out", [sample], methods=texts).results["leave_one_out"]
        assert [row.method for row in rows] == [*texts]
        assert rows[0].rho_all > 0.9
        assert rows[0].size_error > 0.5 > rows[1].size_error
        whole, last = map(sample.influences, texts)
        names = sample.name(0)[:3]
        explained = run.explain(*names, method="unrolled", sweep_epochs=1, top=None)
        mine = {fact.fact_id: fact.influence for fact in explained.facts}
        assert last[0] == pytest.approx([mine[fact] for fact in range(N_FACTS)])
        assert not np.allclose(whole, last)


def test_a_variant_is_trained_with_its_own_settings(tmp_path: Path) -> None:
    run = train(tmp_path, credit="source", **STEADY)
    texts = "rollback,rollback:credit=forget,retrain:precision=float64"
    found = run.evaluate(protocols="leave-one-out", methods=texts, seeds=2)
    siblings = {path.name for path in (run.file("") / "siblings").iterdir()}
    assert siblings == {
        "seed-6",
        "credit-forget",
        "credit-forget-seed-6",
        "precision-float64",
        "precision-float64-seed-6",
    }
    own, forgetting, again = found.leave_one_out
    assert forgetting.size_error != own.size_error  # a little: training is short
    assert again.rho_all > 0.99
    assert 0 < abs(again.size_error - 1) < 1e-3  # rounding alone
    assert again.share_of_best == pytest.approx(1, abs=0.01)
    # The truth under two seeds, and again in double precision.
    assert found.n_retrainings == 4 * (N_FACTS + 1)


def test_an_exact_method_retrains_without_dropped_facts(tmp_path: Path) -> None:
    run = train(tmp_path, **STEADY)
    texts = "random,retrain,retrain:precision=float64"
    found = run.evaluate(protocols="datamodelling", methods=texts, drop="10%,50%", subsets=5)
    scores = {(row.method, row.drop): row.score for row in found.datamodelling}
    assert [*scores] == [(text, drop) for drop in (0.1, 0.5) for text in texts.split(",")]
    for drop in (0.1, 0.5):
        assert scores["retrain", drop] == 1
        assert scores["retrain:precision=float64", drop] > 0.95
    assert {len(row.removed) for row in found.retrainings} == {N_FACTS // 10, N_FACTS // 2}
    assert found.n_retrainings == 2 * (2 * 5 + 1)


def test_retrainings_of_methods_are_foreseen(tmp_path: Path) -> None:
    run, events = train(tmp_path, **STEADY), Recorded()
    found = run.evaluate(
        events=events,
        methods="random,verified:budget=4,retrain,retrain:precision=float64",
        protocols="leave-one-out,datamodelling,removal",
        k="1,2",
        subsets=3,
        facts=5,
        top_facts=2,
        limit=3,
    )
    (n_foreseen,) = events.n_foreseen
    assert found.n_retrainings <= sum(events.n_planned) <= n_foreseen
    first = {row.method: row for row in found.removal if row.k == 1}
    assert first["retrain"].pd == first["verified:budget=4"].pd == 1


def test_some_facts_are_removed(small_run: Small) -> None:
    run = small_run()
    options = {"methods": "rollback,gradient-dot,retrain", "facts": 6, "top_facts": 2}
    with sampled(run) as sample:
        found = run_protocol("leave-one-out", [sample], **options)
        (truth,) = found.results["true_influences"]
        (fact_ids,) = {tuple(ids.tolist()) for ids in truth.fact_ids}
        for method in ("rollback", "gradient-dot"):
            ranked = np.argsort(-influences(run, sample, method), kind="stable")[:, :2]
            assert set(ranked.ravel().tolist()) < set(fact_ids)
        assert 6 <= len(fact_ids) < N_FACTS
        control = probabilities(sample, retrain(sample, []))
        drops = np.array([control - probabilities(sample, retrain(sample, [f])) for f in fact_ids])
        assert np.stack(truth.falls, axis=1) == pytest.approx(drops)
        assert len(truth.array) == len(fact_ids) * len(sample)
        rows = found.results["leave_one_out"]
        assert {row.n_facts for row in rows} == {len(fact_ids)}
        assert all(np.isfinite(row.rho_all) for row in rows)


def test_some_adjacent_facts_are_removed(small_run: Small) -> None:
    options = EvaluateOptions(
        protocols="leave-one-out", methods="rollback", facts=3, top_facts=2, adjacent_only=True
    )
    with sampled(small_run()) as tested:
        sample = Sample(tested.case, tested.predictions, None, options)
        chosen = sample.removable(options)
        for number, fact_ids in enumerate(chosen):
            assert set(fact_ids) <= set(sample.adjacent(number))
            assert 3 <= len(fact_ids) <= 5
            assert set(sample.rank("rollback", 2)[number]) <= set(fact_ids)
        ranked = sample.rank("retrain", "all")  # among these facts
        for mine, fact_ids in zip(ranked, chosen, strict=True):
            assert set(mine) <= set(fact_ids)
