"""The sweep equals differences of training itself."""

from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from training.helpers import N_FACTS, make_problem, make_trainer
from whereof.models import MODELS
from whereof.training._sweep_kernels import _reach
from whereof.training.problem import Problem
from whereof.training.sweep import Adjoint, Kept, Sweep
from whereof.training.tables import Ledgers
from whereof.training.trainer import Trainer

N_PREDICTIONS, STEP = 3, 1e-6
CLOSE = 1e-4
"""Largest error, as a share of a prediction's largest influence."""
OPTIMIZERS = (
    {"optimizer": "sgd"},
    {"optimizer": "adagrad"},
    {"optimizer": "adagrad", "accumulator": 0.1},
    {"optimizer": "adam-lazy"},
    {"optimizer": "adam"},
)
OTHERS = (
    {},
    {"batch_size": 4, "constraint": "unit", "inverse": True},
    {"batch_size": 7, "l2": 0.1, "schedule": "inverse", "rate": 0.5},
    {"inverse": True, "n3": 0.1, "constraint": "max:0.7"},
    {"batch_size": 2, "n3": 0.1, "l2": 0.1, "sampling": "independent"},
    {"constraint": "unit", "redraw": False, "negatives": "all"},
    {"batch_size": 4, "constraint": "max:0.7", "order": "file"},
)


def choices() -> list[dict[str, Any]]:
    """Every model, loss and optimizer, each with other settings in turn."""
    found, others = [], cycle(OTHERS)
    for name, model in MODELS.items():
        losses = ("softmax", "sigmoid", "squared") if model.two_way else ("softmax", "sigmoid")
        for loss in losses:
            for optimizer in OPTIMIZERS:
                other = dict(next(others))
                if loss == "squared":
                    other = {
                        it: other[it] for it in other if it in ("batch_size", "l2", "constraint")
                    }
                    other["negatives"] = None
                found.append({"model": name, "loss": loss, **optimizer, **other})
    return found


def make_adjoint(problem: Problem) -> Adjoint:
    rng, widths = np.random.default_rng(1), problem.widths
    shape = (N_PREDICTIONS, problem.n_entities, widths.entity)
    relations = (N_PREDICTIONS, problem.n_relation_rows, widths.relation)
    return Adjoint(rng.normal(size=shape), rng.normal(size=relations))


def outputs(adjoint: Adjoint, trainer: Trainer) -> NDArray:
    """(n_predictions,) linear functions of the rows at the end of training."""
    while not (trainer.epoch_ended and trainer.epoch == trainer.problem.config.epochs - 1):
        trainer.advance(1000)
    rows = trainer.parameters()
    of_entities = np.einsum("pnk,nk->p", adjoint.entities, rows.entity_rows)
    return of_entities + np.einsum("pnk,nk->p", adjoint.relations, rows.relation_rows)


def check_close(found: NDArray, wanted: NDArray) -> None:
    errors = np.abs(found - wanted).max(axis=1) / np.abs(wanted).max(axis=1)
    assert (errors <= CLOSE).all(), errors


@pytest.mark.parametrize("settings", choices(), ids=lambda it: "-".join(map(str, it.values())))
def test_the_derivative_in_the_weights(settings: dict[str, Any]) -> None:
    problem = make_problem(**settings)
    adjoint = make_adjoint(problem)
    sweep = Sweep(problem, N_FACTS * problem.config.epochs, finite=False, threads=2)
    found, rows = sweep.run(adjoint)
    wanted = np.zeros((N_PREDICTIONS, N_FACTS))
    for fact in range(N_FACTS):
        sides = []
        for step in (STEP, -STEP):
            weights = np.ones(N_FACTS)
            weights[fact] += step
            sides.append(outputs(adjoint, Trainer(problem, weights=weights, ledgers=Ledgers.NONE)))
        wanted[:, fact] = (sides[0] - sides[1]) / (2 * STEP)
    check_close(found, wanted)
    trained = Trainer(problem, ledgers=Ledgers.NONE)
    outputs(adjoint, trained)
    assert np.array_equal(rows.entity_rows, trained.parameters().entity_rows)


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "sgd", "constraint": "max:0.7"},
        {"optimizer": "adagrad", "n3": 0.1},
        {"optimizer": "adagrad", "accumulator": 0.1, "constraint": "unit", "model": "complex"},
    ],
)
def test_the_finite_change(settings: dict[str, Any], batch_size: int) -> None:
    """The output along the change that a fact made: (f(state + step * change) - f) / step."""
    problem = make_problem(epochs=1, order="file", batch_size=batch_size, **settings)
    adjoint = make_adjoint(problem)
    found, _ = Sweep(problem, N_FACTS).run(adjoint)
    wanted = np.zeros((N_PREDICTIONS, N_FACTS))
    for fact in range(N_FACTS):
        before = make_trainer(problem)
        for _ in range(fact // batch_size):
            before.advance(batch_size)
        state = {name: array.copy() for name, array in before.snapshot().items()}
        weights = np.ones(N_FACTS)
        weights[fact] = 0
        without = make_trainer(problem, weights)
        without.restore(state)
        for trainer in (before, without):
            trainer.advance(batch_size)
        changes = [
            one.state - other.state
            for one, other in zip(before.tables, without.tables, strict=True)
        ]
        state = {name: array.copy() for name, array in before.snapshot().items()}
        sides = []
        for step in (STEP, -STEP):
            trainer = make_trainer(problem)
            trainer.restore(state)
            for table, change in zip(trainer.tables, changes, strict=True):
                table.state[:] += step * change
            sides.append(outputs(adjoint, trainer))
        wanted[:, fact] = (sides[0] - sides[1]) / (2 * STEP)
    check_close(found, wanted)


@pytest.mark.parametrize("memory", [1, 40_000])
def test_little_memory_gives_the_same_bits(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With short segments and few kept states, more is replayed."""
    monkeypatch.setattr("whereof.training.timeline._BLOCK", 8)
    problem = make_problem(optimizer="adagrad", accumulator=0.1, batch_size=2, inverse=True)
    adjoint, n_facts = make_adjoint(problem), N_FACTS * problem.config.epochs
    wanted, _ = Sweep(problem, n_facts).run(adjoint)
    found, _ = Sweep(problem, n_facts, memory=memory).run(adjoint)
    assert np.array_equal(found, wanted)


def test_many_predictions_are_swept_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(optimizer="adagrad", accumulator=0.1, inverse=True)
    adjoint, n_facts = make_adjoint(problem), N_FACTS * problem.config.epochs
    assert len(adjoint.entities) > 2
    wanted, _ = Sweep(problem, n_facts).run(adjoint)
    monkeypatch.setattr("whereof.training.sweep._TOGETHER", 1)
    for threads in (1, 2):
        found, _ = Sweep(problem, n_facts, threads=threads).run(adjoint)
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam", "adam-lazy"])
def test_a_sweep_goes_on_from_any_kept_state(optimizer: str) -> None:
    """To the same bits, also with another number of threads, and after several interruptions."""
    problem = make_problem(optimizer=optimizer, inverse=True)
    adjoint, n_facts = make_adjoint(problem), N_FACTS * problem.config.epochs
    kept: list[Kept] = []
    whole = Sweep(problem, n_facts, memory=1)
    wanted, rows = whole.run(adjoint, lambda n, keep: kept.append(keep()))
    assert len(kept) == n_facts
    for at in (0, n_facts // 2, n_facts - 1):
        told: list[int] = []
        again = replace(whole, threads=2, memory=30_000)
        found, replayed = again.run(adjoint, lambda n, keep, told=told: told.append(n), kept[at])
        assert np.array_equal(found, wanted)
        assert np.array_equal(replayed.entity_rows, rows.entity_rows)
        assert sum(told) == n_facts - 1 - at


def test_a_state_of_another_sweep_is_not_used() -> None:
    problem = make_problem(optimizer="adagrad", accumulator=0.1)
    kept: list[Kept] = []
    sweep = Sweep(problem, N_FACTS)
    wanted, _ = sweep.run(make_adjoint(problem), lambda n, keep: kept.append(keep()))
    damaged = [
        {**kept[-1], "influence": kept[-1]["influence"][:, :1]},
        {**kept[-1], "entities": kept[-1]["entities"].astype(np.float16)},
        {**kept[-1], "n_done": np.array(N_FACTS + 1)},
        {name: array for name, array in kept[-1].items() if name != "totals"},
    ]
    for state in damaged:
        found, _ = sweep.run(make_adjoint(problem), kept=state)
        assert np.array_equal(found, wanted)


def test_a_sweep_over_the_last_part_credits_its_steps_only() -> None:
    problem = make_problem(optimizer="adagrad", accumulator=0.1, epochs=1, order="file")
    adjoint = make_adjoint(problem)
    whole, _ = Sweep(problem, N_FACTS, memory=1).run(adjoint)
    last, _ = Sweep(problem, N_FACTS, n_swept=10, memory=1).run(adjoint)
    assert np.array_equal(last[:, -10:], whole[:, -10:])
    assert not last[:, :-10].any()


@pytest.mark.parametrize("optimizer", ["adam", "adam-lazy"])
def test_removing_an_update_moves_the_count_and_the_drift(optimizer: str) -> None:
    """A fact of hardly any weight changes no row, but its update counts, and other rows drift."""
    problem = make_problem(optimizer=optimizer, epochs=1, order="file", negatives=2, rate=0.01)
    adjoint = make_adjoint(problem)
    for fact, close in ((N_FACTS - 1, 1e-6), (20, 0.25)):
        weights = np.ones(N_FACTS)
        weights[fact] = 1e-9
        weighted = replace(problem, weights=weights)
        found, _ = Sweep(weighted, N_FACTS).run(adjoint)
        without = weighted.weights_without(np.array([fact]))
        true = outputs(adjoint, Trainer(weighted, ledgers=Ledgers.NONE))
        true -= outputs(adjoint, Trainer(weighted, weights=without, ledgers=Ledgers.NONE))
        assert np.abs(found[:, fact] - true).max() <= close * np.abs(true).max()


@pytest.mark.parametrize("size", [1e-10, 1e-18, 1e-20, 1e-22, 1e-40, 0.0])
def test_changes_whose_squares_vanish(size: float) -> None:
    vector, change = np.ones(64, np.float32), np.full(64, size, np.float32)
    reach = _reach(vector, change)
    assert 0 < reach < np.inf
    assert (reach * change <= 1.001 * vector).all()
