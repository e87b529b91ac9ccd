"""Leave-one-out: true influences, and how methods order facts."""

import json
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from listening import Recorded

import whereof
from evaluate.small import (
    N_FACTS,
    influences,
    is_adjacent,
    names_of,
    probabilities,
    retrain,
    run_protocol,
    sampled,
    spearman,
    train,
)
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocols.leave_one_out import Truth, _share_of_best
from whereof.evaluate.sample import Sample
from whereof.predict.prediction import Prediction
from whereof.run.files import find_evaluations, read_sealed

METHODS = ("rollback", "rollback-o", "random", "gradient-dot")
ALL = EvaluateOptions(protocols="leave-one-out", methods=METHODS)
Small = Callable[..., whereof.Run]


def leave_one_out(samples: Sequence[Sample], **options: Any) -> SimpleNamespace:
    return run_protocol("leave-one-out", samples, **{"methods": METHODS} | options)


def test_rows_are_those_of_the_definition(small_run: Small) -> None:
    runs = [small_run(), small_run(seed=6)]
    with sampled(runs[0]) as one, sampled(runs[1]) as two:
        found = leave_one_out([one, two])
        for row in found.results["leave_one_out"]:
            near, everywhere, shares = [], [], []
            for run, sample in zip(runs, (one, two), strict=True):
                control = probabilities(sample, retrain(sample, []))
                alone = [probabilities(sample, retrain(sample, [i])) for i in range(N_FACTS)]
                truth = control[:, None] - np.array(alone).T
                np.testing.assert_allclose(Truth(sample, ALL).matrix, truth.T, atol=1e-12)
                estimated = influences(run, sample, row.method)
                pairs = list(zip(estimated, truth, sample.predictions, strict=True))
                masks = [is_adjacent(run, situation) for _, _, situation in pairs]
                near.append(
                    [spearman(e[m], t[m]) for (e, t, _), m in zip(pairs, masks, strict=True)]
                )
                everywhere.append([spearman(e, t) for e, t, _ in pairs])
                firsts = [t[e.argmax()] if e.max() > 0 else 0.0 for e, t, _ in pairs]
                shares.append(
                    [first / t.max() for first, (_, t, _) in zip(firsts, pairs, strict=True)]
                )
            assert row.rho_adjacent == pytest.approx(np.mean([np.mean(x) for x in near]))
            assert row.rho_all == pytest.approx(np.mean([np.mean(x) for x in everywhere]))
            assert row.share_of_best == pytest.approx(np.mean([np.mean(x) for x in shares]))
            for rho, interval in (
                (row.rho_adjacent, row.rho_adjacent_interval),
                (row.rho_all, row.rho_all_interval),
            ):
                assert interval[0] < rho < interval[1]
            assert (row.n_seeds, row.n_facts) == (2, N_FACTS)
        other = leave_one_out([one, two], seed=1)
    assert [row.method for row in found.results["leave_one_out"]] == list(METHODS)
    for mine, theirs in zip(
        found.results["leave_one_out"], other.results["leave_one_out"], strict=True
    ):
        assert mine.rho_all == theirs.rho_all
        assert mine.rho_all_interval != theirs.rho_all_interval


def test_the_truth_is_trained_once(tmp_path: Path) -> None:
    run = train(tmp_path)
    with sampled(run) as sample:
        before = Truth(sample, ALL).matrix
    events = Recorded()
    with sampled(run, events=events) as sample:
        assert np.array_equal(Truth(sample, ALL).matrix, before)
        assert events.n_planned == []


def test_matrices_are_kept_in_the_run_with_what_their_columns_are(tmp_path: Path) -> None:
    run = train(tmp_path)
    assert run.path is not None
    found = run.evaluate(protocols="leave-one-out", methods="random", seeds=2, limit=4)
    (kept,) = find_evaluations(run.path)
    document = read_sealed(kept)
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
    assert Evaluation.read(kept).to_dict() == document


def test_share_of_best() -> None:
    truth = np.array([0.1, 0.4, -0.2])
    assert _share_of_best(np.array([0.3, 0.2, 0.1]), truth) == pytest.approx(0.25)
    assert _share_of_best(np.array([0.1, 0.2, 0.3]), truth) == pytest.approx(-0.5)
    assert _share_of_best(np.array([-0.1, 0.0, -0.3]), truth) == 0
    assert np.isnan(_share_of_best(np.array([0.3, 0.2, 0.1]), -np.abs(truth)))


def test_orders_are_those_of_the_definition(small_run: Small) -> None:
    run = small_run()
    with sampled(run) as sample:
        truth = Truth(sample, ALL)
        for row in leave_one_out([sample]).results["leave_one_out"]:
            estimated = influences(run, sample, row.method)
            assert len(row.orders) == len(sample.predictions)
            for number, order in enumerate(row.orders):
                situation = sample.predictions[number]
                (near,) = is_adjacent(run, situation).nonzero()
                drops, mine = truth.drops[number], estimated[number, near]
                ranked = sorted(range(len(near)), key=lambda i: -mine[i])
                names = (order.subject, order.relation, order.object)
                assert names == names_of(run, situation)
                assert (order.seed, order.asks, order.n_adjacent) == (5, "object", len(near))
                assert order.original == pytest.approx(
                    probabilities(sample, retrain(sample, []))[number]
                )
                assert order.rho == pytest.approx(spearman(mine, drops))
                assert truth.matrix is not None
                assert order.best_drop == truth.matrix[order.best_fact, number] == max(drops)
                assert np.array_equal(drops, truth.matrix[near, number])
                assert (near[ranked[0]], drops[ranked[0]]) == (order.first_fact, order.first_drop)
                behind = mine[list(near).index(order.best_fact)]
                assert order.best_rank == sum(each >= behind for each in mine)


def test_adjacent_facts_alone_are_as_good_for_adjacent_facts(
    small_run: Small, tmp_path: Path
) -> None:
    run = small_run()
    with sampled(run) as sample:
        every = leave_one_out([sample])
    with sampled(train(tmp_path / "again")) as sample:
        asked = Truth(sample, ALL.replace(adjacent_only=True))
        near = np.array([is_adjacent(run, situation) for situation in sample.predictions]).T
        assert [ids.tolist() for ids in asked.adjacent] == [[*np.flatnonzero(m)] for m in near.T]
        assert not near.all()
        found = leave_one_out([sample], adjacent_only=True)
        # Nothing but what is adjacent was looked at.
        assert len(sample.case.retrainer.journal) == 1 + near.any(axis=1).sum()
    whole, alone = (
        every.results["true_influences"][0].matrix,
        found.results["true_influences"][0].array,
    )
    assert whole is not None
    assert alone is not None
    assert np.array_equal(alone["influence"], whole.T[near.T])
    assert np.array_equal(np.stack([alone["prediction"], alone["fact"]]), near.T.nonzero())
    for mine, other in zip(
        found.results["leave_one_out"], every.results["leave_one_out"], strict=True
    ):
        assert mine.rho_adjacent == other.rho_adjacent
        assert mine.orders == other.orders
        assert np.isnan(mine.rho_all)
        assert mine.rho_all_interval is None
        assert mine.n_facts == near.any(axis=1).sum()
        shares = [
            order.first_drop / order.best_drop for order in mine.orders if order.best_drop > 0
        ]
        assert mine.share_of_best == pytest.approx(np.mean(shares))


def test_of_adjacent_facts_nothing_is_kept_of_others(tmp_path: Path) -> None:
    run = train(tmp_path)
    found = run.evaluate(
        protocols="leave-one-out", methods="random", adjacent_only=True, most_adjacent=25, limit=2
    )
    (truth,) = found.true_influences
    n_adjacent = [order.n_adjacent for order in found.leave_one_out[0].orders]
    assert truth.matrix is None
    assert np.bincount(truth.array["prediction"]).tolist() == n_adjacent
    assert sum(n_adjacent) < 2 * N_FACTS
    assert run.path is not None
    (kept,) = find_evaluations(run.path)
    pairs = np.load(kept.with_name(f"{kept.stem}-seed-5.npy"))
    assert np.array_equal(pairs, truth.array)
    for order, number in zip(found.leave_one_out[0].orders, range(2), strict=True):
        mine = pairs[pairs["prediction"] == number]
        best = mine[mine["influence"].argmax()]
        assert (best["fact"], best["influence"]) == (order.best_fact, order.best_drop)


def test_influences_of_facts_that_are_not_adjacent_are_0(small_run: Small) -> None:
    run = small_run()
    with sampled(run) as sample:
        whole = sample.influences("rollback")
        for number, (situation, mine) in enumerate(
            zip(sample.predictions, sample.each_influences("rollback"), strict=True)
        ):
            near = is_adjacent(run, situation)
            assert np.array_equal(mine, whole[number])
            assert not whole[number, ~near].any()


def test_a_method_without_a_supporting_fact_drops_nothing(small_run: Small) -> None:
    with sampled(small_run()) as tested:
        places = product(range(8), range(3), range(8))
        predictions = tuple(Prediction(s, r, o) for s, r, o in places)
        sample = Sample(tested.case, predictions)
        (row,) = leave_one_out([sample], methods="rollback-o").results["leave_one_out"]
        supports = sample.influences("rollback-o").max(axis=1) > 0
    assert 0 < supports.sum() < len(predictions)
    assert [order.first_fact is not None for order in row.orders] == supports.tolist()
    assert all(order.first_drop == 0 for order in row.orders if order.first_fact is None)


def test_the_document_has_every_order_and_no_nan(tmp_path: Path) -> None:
    run = train(tmp_path)
    found = run.evaluate(
        protocols="leave-one-out",
        methods="rollback",
        adjacent_only=True,
        least_adjacent=20,
        most_adjacent=30,
        limit=2,
    )
    assert run.path is not None
    (kept,) = find_evaluations(run.path)
    document = json.loads(kept.read_text(), parse_constant=pytest.fail)
    (row,) = document["leave_one_out"]
    assert row["rho_all"] is None
    assert len(row["orders"]) == found.n_predictions == 2
    for order in row["orders"]:
        assert 20 <= order["n_adjacent"] <= 30
        fact = run.explain(order["subject"], order["relation"], order["object"], top=1).facts[0]
        assert order["first_fact"] == fact.fact_id
        assert order["best_drop"] >= order["first_drop"]
