"""Influence functions: their curvature by formula, their size by retraining."""

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import whereof
from explain.gradients import FACTS, Oracle, make_rated_run, make_run, scored_of
from explain.helpers import random_run
from whereof.explain.losses import Losses
from whereof.explain.method import Aim, Context, get_method
from whereof.explain.methods import influence_function as module
from whereof.explain.methods.influence_function import (
    Curvature,
    damped_hessian,
    dense,
    solve_by_conjugate_gradients,
)
from whereof.training.sampling import shuffled

Vector = NDArray[np.float64]
METHOD = get_method("influence-function")


def curvature_by_formula(run: whereof.Run) -> Vector:
    """The sum over facts and directions of J^T C J, with J by differences."""
    oracle, data = Oracle(run), run.dataset
    total = np.zeros((len(oracle.parameters),) * 2)
    for s, r, o in data.train:
        steps = [(s, r), (o, r + data.inverse_offset)][: 1 + run.config.inverse]
        for given, row in steps:
            ids = [o] if run.config.loss == "squared" else range(data.n_entities)
            slopes = np.array(
                [
                    oracle.gradient(lambda x, c=c: oracle.scores(x, given, row, [c])[0])  # noqa: B023
                    for c in ids
                ]
            )
            scores = oracle.scores(oracle.parameters, given, row, ids)
            if run.config.loss == "squared":
                bend = np.eye(1)
            elif run.config.loss == "softmax":
                p = np.exp(scores) / np.exp(scores).sum()
                bend = np.diag(p) - np.outer(p, p)
            else:
                p = 1 / (1 + np.exp(-scores))
                bend = np.diag(p * (1 - p)) / len(p)
            total += slopes.T @ bend @ slopes
    return total


@pytest.mark.parametrize("loss", ["softmax", "sigmoid"])
@pytest.mark.parametrize("model", ["rescal", "rotate", "transe", "mf-biased"])
def test_gauss_newton_is_what_the_formula_says(model: str, loss: str) -> None:
    run = make_run(model, loss=loss, inverse=model != "rescal")
    wanted = curvature_by_formula(run)
    found = dense(Curvature.of(run._trained, 0).gauss_newton, len(wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def test_gauss_newton_of_ratings(tmp_path: Path) -> None:
    run = make_rated_run(tmp_path)
    wanted = curvature_by_formula(run)
    found = dense(Curvature.of(run._trained, 0).gauss_newton, len(wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def rows_of(run: whereof.Run, parameters: Vector) -> whereof.Run:
    """The same toy with other parameters."""
    n = run.entity_rows.size
    return whereof.Run.from_arrays(
        model=run.config.model,
        entities=run.dataset.entities.names,
        relations=run.dataset.relations.names,
        facts=FACTS,
        entity_rows=parameters[:n].reshape(run.entity_rows.shape),
        relation_rows=parameters[n:].reshape(run.relation_rows.shape),
    )


def minimise(run: whereof.Run, weights: Vector, decay: float) -> whereof.Run:
    """Newton's method on the weighted sum of losses and weight decay, from where the run stands."""
    oracle, whole = Oracle(run), Curvature.of(run._trained, 0)
    x = start = oracle.parameters

    def slope(x: Vector) -> Vector:
        curvature = whole.moved(x - start)
        total = curvature.gradient() + decay * x
        for fact in np.flatnonzero(weights != 1):
            total += (weights[fact] - 1) * replace(curvature, fact_ids=np.array([fact])).gradient()
        return total

    for _ in range(60):
        hessian = np.array(
            [(slope(x + unit) - slope(x - unit)) / 2e-5 for unit in 1e-5 * np.eye(len(x))]
        )
        values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
        step = vectors @ (vectors.T @ slope(x) / np.maximum(np.abs(values), 0.05))
        x = x - step * min(1, 0.5 / np.linalg.norm(step))
        if np.linalg.norm(step) < 1e-9:
            break
    assert values.min() > 0, "the toy has no strict minimum here"

    def objective(x: Vector) -> float:
        losses = [weight * oracle.loss(x, fact) for fact, weight in enumerate(weights)]
        return sum(losses) + decay * x @ x / 2

    np.testing.assert_allclose(
        replace(oracle, run=rows_of(run, x)).gradient(objective), 0, atol=1e-6
    )
    return rows_of(run, x)


def test_influence_is_what_retraining_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a minimum of the losses with weight decay, which is what damping stands for."""
    decay = 0.1
    monkeypatch.setattr(module, "DAMPING", decay)
    everything = np.ones(len(FACTS))
    run = minimise(make_run("distmult"), everything, decay)
    scored = scored_of(run, "e0", "r0", "e3")
    aim, fact_ids = Aim("probability"), np.arange(len(FACTS))
    found = METHOD.estimate(scored, fact_ids, Context(aim))
    assert np.abs(found).max() > 0.01
    without = []
    for fact in fact_ids:
        for share in (1e-3, 1.0):
            weights = everything - share * (fact_ids == fact)
            again = minimise(run, weights, decay)
            after = scored_of(again, "e0", "r0", "e3").probability
            without.append((scored.probability - after) / share)
    little, whole = np.array(without).reshape(-1, 2).T
    np.testing.assert_allclose(found, little, atol=2e-3 * np.abs(found).max())
    assert np.corrcoef(found, whole)[0, 1] > 0.8


def test_an_indefinite_hessian_gives_way_to_its_gauss_newton_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And conjugate gradients come to the same as the dense matrix of it."""
    monkeypatch.setattr(module, "DAMPING", 0.5)
    run = make_run("complex", inverse=True)
    curvature = Curvature.of(run._trained, 0)
    size = run.entity_rows.size + run.relation_rows.size
    assert np.linalg.eigvalsh(dense(curvature.hessian, size)).min() < -0.5
    assert np.linalg.eigvalsh(dense(curvature.gauss_newton, size)).min() > -1e-9
    scored, fact_ids = scored_of(run, "e0", "r0", "e3"), np.arange(len(FACTS))
    aim = Aim("probability")
    exact = METHOD.estimate(scored, fact_ids, Context(aim))
    monkeypatch.setattr(module, "MOST_DENSE", 0)
    monkeypatch.setattr(module, "_MOST_STEPS", 200)
    by_steps = METHOD.estimate(scored, fact_ids, Context(aim))
    np.testing.assert_allclose(by_steps, exact, rtol=1e-6)


def test_conjugate_gradients_solve_a_known_system() -> None:
    matrix, wanted = np.diag([4.0, 0.0, 9.0]), np.array([5.0, 2.0, 10.0])
    found = solve_by_conjugate_gradients(lambda x: matrix @ x, wanted, 1.0)
    np.testing.assert_allclose(found, [1.0, 2.0, 1.0], rtol=1e-7)
    nothing = solve_by_conjugate_gradients(lambda x: matrix @ x, np.zeros(3), 1.0)
    np.testing.assert_array_equal(nothing, 0)


def test_drawn_facts_are_keyed_by_the_seed_and_not_those_that_training_began_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained = random_run("distmult", n_entities=30, n_facts=500)._trained
    monkeypatch.setattr(module, "_MOST_FACTS", 100)
    first, again, other = (Curvature.of(trained, seed) for seed in (0, 0, 1))
    n_facts = trained.dataset.n_facts
    assert len(np.unique(first.fact_ids)) == 100
    assert first.weight == n_facts / 100
    np.testing.assert_array_equal(first.fact_ids, again.fact_ids)
    assert not np.array_equal(first.fact_ids, other.fact_ids)
    epoch = np.sort(shuffled(np.uint64(0), n_facts, 0)[:100])
    assert not np.array_equal(first.fact_ids, epoch)


def test_some_facts_stand_for_all_without_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean over seeds lies within four standard errors of the product of all facts."""
    monkeypatch.setattr(module, "_MOST_FACTS", 3)
    trained = make_run("distmult", inverse=True)._trained
    size = trained.scorer.entity_rows.size + trained.scorer.relation_rows.size
    vector = np.random.default_rng(0).normal(size=size)
    whole = Curvature(Losses(trained), np.arange(len(FACTS)), 1.0)
    wanted = vector @ whole.gauss_newton(vector)
    n_seeds = 400
    drawn = np.array(
        [vector @ Curvature.of(trained, seed).gauss_newton(vector) for seed in range(n_seeds)]
    )
    error = drawn.std() / np.sqrt(n_seeds)
    assert error < 0.03 * wanted, "too coarse to tell"
    assert abs(drawn.mean() - wanted) < 4 * error


@pytest.mark.parametrize("most", [len(FACTS), 10**6])
def test_few_facts_stand_for_themselves(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(module, "_MOST_FACTS", most)
    curvature = Curvature.of(make_run("distmult")._trained, 5)
    np.testing.assert_array_equal(curvature.fact_ids, np.arange(len(FACTS)))
    assert curvature.weight == 1


def test_the_hessian_is_worked_out_once_for_all_predictions_and_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained, made = make_run("distmult")._trained, []

    def counted(product: Callable[[Vector], Vector], size: int) -> Vector:
        made.append(size)
        return dense(product, size)

    monkeypatch.setattr(module, "dense", counted)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: damped_hessian(trained, 0), range(8)))
    once = len(made)
    assert once in (1, 2), "the Hessian, and its Gauss-Newton part where it is indefinite"
    assert all(matrix is found[0] for matrix in found)
    damped_hessian(trained, 1)
    assert len(made) == 2 * once


def test_a_hessian_does_not_outlive_its_run() -> None:
    run = make_run("distmult")
    run.explain("e0", "r0", "e3", method="influence-function")
    trained = weakref.ref(run._trained)
    del run
    gc.collect()
    assert trained() is None


def test_other_parameters_have_another_hessian() -> None:
    trained = make_run("distmult")._trained
    before = damped_hessian(trained, 0)
    scorer = replace(trained.scorer, entity_rows=2 * trained.scorer.entity_rows)
    after = damped_hessian(replace(trained, scorer=scorer), 0)
    assert not np.allclose(before, after)
