"""The end of a trace that forgets: whole rows, not only numbers."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from training.helpers import make_problem, train
from whereof.memory import total_memory
from whereof.models.scoring import Scorer, score_all
from whereof.training import curvature
from whereof.training.config import Phase
from whereof.training.curvature import _Curvature, settle_trace
from whereof.training.problem import Problem
from whereof.training.trainer import Trainer


def settled(trainer: Trainer, **state: Any) -> Any:
    """The trace of a finished trainer, settled."""
    trace, problem = trainer.trace.copy(), trainer.problem
    n_trained = problem.config.epochs * len(problem.facts)
    settle_trace(trace, problem, trainer.snapshot() | state, n_trained)
    return trace


def shares(x: Any) -> Any:
    """The approximation of (1 - e^-x) / x."""
    part = 1 / (1 + curvature._POLE * x)
    return curvature._PART * part + (1 - curvature._PART) * part**2


def test_the_share_that_remains_is_within_five_percent() -> None:
    x = np.logspace(-4, 6, 1000)
    np.testing.assert_allclose(shares(x), -np.expm1(-x) / x, rtol=0.05)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam-lazy"])
def test_ratings_by_a_plain_formula(optimizer: str) -> None:
    problem = make_problem(
        model="mf", loss="squared", negatives=None, l2=0.1, credit="forget", optimizer=optimizer
    )
    trainer = train(problem)
    rows, facts = trainer.parameters().entity_rows, problem.facts
    reach = _Curvature(problem, trainer.snapshot(), 3 * len(facts)).reach[0]
    wanted = trainer.trace.reshape(len(facts), 2, -1).copy()
    for place, (own, other) in enumerate(((0, 2), (2, 0))):
        for fact, row in enumerate(facts[:, own]):
            near = rows[facts[facts[:, own] == row, other]]
            bend = near.T @ near + 0.1 * len(near) * np.eye(near.shape[1])
            root = np.sqrt(problem.config.epochs * reach[row])
            bend *= np.outer(root, root)
            values, vectors = np.linalg.eigh(bend)
            shrink = vectors * shares(values) @ vectors.T
            diagonal = shares(np.diag(bend)) * root
            wanted[fact, place] = root * (shrink @ (wanted[fact, place] / diagonal))
    np.testing.assert_allclose(settled(trainer), wanted.reshape(len(facts), -1), rtol=1e-5)


def curvature_of(problem: Problem, trainer: Trainer, side: int, row: int) -> Any:
    """The second derivative of all losses along a row, by central differences."""
    rows = [array.astype(np.float64) for array in trainer.parameters()]
    facts, n_relations = problem.facts.astype(np.int64), problem.n_relation_rows // 2

    def loss(change: Any) -> float:
        rows[side][row] += change
        total, scorer = 0.0, Scorer(problem.model, *rows)
        for direction in range(problem.n_directions):
            s, r, o = facts.T if direction == 0 else (facts[:, 2], facts[:, 1], facts[:, 0])
            queries = scorer.queries(s, r + direction * n_relations, "float64")
            span = problem.subjects if direction else problem.objects
            spans = np.tile([span.start, span.stop], (len(facts), 1))
            scores = score_all(problem.model, queries, rows[0], spans)
            own = scores[np.arange(len(facts)), o - span.start]
            if problem.config.loss == "softmax":
                total += (np.log(np.exp(scores).sum(axis=1)) - own).sum()
            else:
                total += (np.logaddexp(0, scores).sum(axis=1) - own).sum() / len(span)
        rows[side][row] -= change
        return total

    width, step = rows[side].shape[1], 1e-3
    found = np.zeros((width, width))
    for i, one in enumerate(step * np.eye(width)):
        for j, two in enumerate(step * np.eye(width)):
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            found[i, j] = sum(a * b * loss(a * one + b * two) for a, b in signs) / (4 * step**2)
    return found


@pytest.mark.parametrize("loss", ["softmax", "sigmoid"])
@pytest.mark.parametrize(
    ("model", "side", "inverse"),
    [
        ("mf", 0, False),
        ("mf-biased", 0, False),
        ("distmult", 1, False),
        ("complex", 1, True),
        ("rescal", 1, False),
        ("simple", 1, True),
    ],
)
def test_the_mean_of_the_draws_is_the_curvature(
    monkeypatch: pytest.MonkeyPatch, model: str, side: int, inverse: bool, loss: str
) -> None:
    """Along users, items and relations scores are linear, so that it is exact."""
    settings = {"negatives": "all", "credit": "forget", "inverse": inverse, "redraw": False}
    problem = make_problem(model=model, loss=loss, **settings)
    trainer = train(problem)
    monkeypatch.setattr(curvature, "_ENOUGH", 1000)
    for row in (0, problem.n_entities - 1) if side == 0 else (0, problem.n_relation_rows - 1):
        found = []
        for seed in range(500):
            drawn = make_problem(model=model, loss=loss, seed=seed, **settings)
            measured = _Curvature(drawn, trainer.snapshot(), 3 * len(problem.facts))
            found.append(measured.bends(side, range(row, row + 1))[0])
        wanted = curvature_of(problem, trainer, side, row)
        half, atol = wanted[np.triu_indices(len(wanted))], 0.12 * np.abs(wanted).max()
        np.testing.assert_allclose(np.mean(found, axis=0), half, rtol=0, atol=atol)


def test_rows_of_one_number_have_nothing_to_add() -> None:
    trainer = train(make_problem(model="distmult", dim=1, credit="forget"))
    np.testing.assert_allclose(settled(trainer), trainer.trace, rtol=1e-6)


def test_parts_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = train(make_problem(model="complex", inverse=True, credit="forget", dim=2))
    whole = settled(trainer)
    assert not np.allclose(whole, trainer.trace)
    monkeypatch.setattr(curvature, "_BLOCK_BYTES", 4 * 10 * 3)  # three rows
    n_bytes = 7 * trainer.trace.strides[0]  # seven facts
    monkeypatch.setattr(curvature, "_PART_SHARE", n_bytes / (total_memory() or n_bytes))
    monkeypatch.setattr(curvature.os, "cpu_count", lambda: 3)
    assert np.array_equal(settled(trainer), whole)


def test_an_update_settles_the_new_facts_only() -> None:
    problem = make_problem(model="complex", credit="forget", dim=2)
    n_facts = len(problem.facts)
    sizes = problem.n_entities, problem.n_relations
    phases = Phase(n_facts - 4, *sizes, 2 * (n_facts - 4)), Phase(n_facts, *sizes, 2 * (4 + 6), 6)
    problem = replace(problem, config=problem.config.replace(phases=phases, epochs=4))
    trainer = train(problem)
    found = trainer.trace.copy()
    n_trained = sum(phase.n_trained for phase in phases)
    settle_trace(found, problem, trainer.snapshot(), n_trained)
    changed = ~np.isclose(found, trainer.trace, rtol=1e-4).all(axis=1)
    assert changed.tolist() == [False] * (n_facts - 4) + [True] * 4


def test_wide_rows_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = train(make_problem(model="rescal", credit="forget"))  # relations of 9 numbers
    monkeypatch.setattr(curvature, "_WIDEST", 8)
    found, slots = settled(trainer), trainer.problem.widths.slots(1)
    changed = [not np.allclose(found[:, slot], trainer.trace[:, slot]) for slot in slots]
    assert changed == [True, False, True]


def test_a_part_of_many_facts_counts_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(model="mf", negatives="all", credit="forget", epochs=1)
    trainer, rows = train(problem), range(problem.n_entities)

    def total(seed: int) -> float:
        drawn = make_problem(model="mf", negatives="all", credit="forget", epochs=1, seed=seed)
        measured = _Curvature(drawn, trainer.snapshot(), len(problem.facts))
        return float(measured.bends(0, rows)[:, [0, 3, 5]].sum())  # the diagonals

    every = np.mean([total(seed) for seed in range(100)])
    monkeypatch.setattr(curvature, "_MOST_NUMBERS", 500)
    few = np.mean([total(seed) for seed in range(100)])
    assert few == pytest.approx(every, rel=0.15)
    assert few != every


def test_a_trace_of_halves_settles_as_one_of_singles() -> None:
    trainer = train(make_problem(model="mf", credit="forget"))
    halves = trainer.trace.astype(np.float16)
    n_trained = trainer.problem.config.epochs * len(trainer.problem.facts)
    settle_trace(halves, trainer.problem, trainer.snapshot(), n_trained)
    np.testing.assert_allclose(halves, settled(trainer), rtol=0, atol=2e-3)
