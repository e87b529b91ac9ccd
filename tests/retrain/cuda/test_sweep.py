"""The sweep of a GPU equals the sweep of the cores."""

import shutil
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trained
from numpy.typing import NDArray
from training.helpers import N_FACTS, make_problem
from training.test_sweep import make_adjoint

import whereof
from retrain.cuda.conftest import MakeCard
from whereof.errors import WhereofError
from whereof.models import MODELS
from whereof.retrain.cuda.card import Card
from whereof.retrain.cuda.sweep import CudaSweep
from whereof.training.problem import Problem
from whereof.training.sweep import Adjoint, Kept, Sweep

OPTIMIZERS = (
    {"optimizer": "sgd"},
    {"optimizer": "adagrad"},
    {"optimizer": "adagrad", "accumulator": 0.1},
    {"optimizer": "adam-lazy"},
)
OTHERS = (
    {},
    {"constraint": "unit", "inverse": True},
    {"l2": 0.1, "schedule": "inverse", "rate": 0.5},
    {"inverse": True, "n3": 0.1, "constraint": "max:0.7"},
    {"n3": 0.1, "l2": 0.1, "sampling": "independent"},
)


def choices() -> list[dict[str, Any]]:
    """Every model with every loss and in turn with the optimizers and other settings."""
    found, optimizers, others = [], cycle(OPTIMIZERS), cycle(OTHERS)
    for name, model in MODELS.items():
        for loss in ("softmax", "sigmoid", "squared") if model.two_way else ("softmax", "sigmoid"):
            for _ in range(2):
                other = {} if loss == "squared" else next(others)
                negatives = {"negatives": None} if loss == "squared" else {}
                found.append({"model": name, "loss": loss, **next(optimizers), **other} | negatives)
    return found


def errors_of(found: NDArray, wanted: NDArray) -> NDArray:
    """The largest error of each prediction, as a share of its largest influence."""
    errors: NDArray = np.abs(found - wanted).max(axis=1) / np.abs(wanted).max(axis=1)
    return errors


def check(card: Card, problem: Problem, tolerance: float = 1e-7, **options: Any) -> None:
    n_facts, adjoint = N_FACTS * problem.config.epochs, make_adjoint(problem)
    wanted, rows = Sweep(problem, n_facts, **options).run(adjoint)
    found, replayed = CudaSweep(problem, n_facts, **options, card=card).run(adjoint)
    assert (errors_of(found, wanted) <= tolerance).all()
    np.testing.assert_allclose(replayed.entity_rows, rows.entity_rows, atol=1e-5)


def make_slopes(problem: Problem) -> NDArray[np.float32]:
    """Slopes of steps, far from those of training."""
    shape = (problem.config.epochs, N_FACTS, problem.n_directions)
    return -np.random.default_rng(7).uniform(0.1, 2.0, shape).astype(np.float32)


def check_all(card: Card, problem: Problem) -> None:
    """The finite form, the derivative, and the finite form with slopes."""
    check(card, problem)
    check(card, problem, finite=False)
    check(card, problem, slopes=make_slopes(problem))


@pytest.mark.parametrize("settings", choices(), ids=lambda it: "-".join(map(str, it.values())))
def test_the_sweep_of_the_cores(card: Card, settings: dict[str, Any]) -> None:
    check_all(card, make_problem(**settings))


@pytest.mark.parametrize("optimizer", ["adagrad", "adam-lazy"])
def test_facts_with_weights(card: Card, optimizer: str) -> None:
    problem = make_problem(optimizer=optimizer, inverse=True, n3=0.1, constraint="unit")
    weights = np.linspace(0.25, 1.75, N_FACTS)
    weights[::5] = 0
    check_all(card, replace(problem, weights=weights))


@pytest.mark.parametrize("model", ["complex", "rotate"])
def test_single_precision(card: Card, model: str) -> None:
    """Angles are swept in double precision, over rows in single precision."""
    problem = make_problem(model=model, optimizer="adam-lazy", precision="float32")
    check(card, problem, 1e-3)
    check(card, problem, 1e-3, slopes=make_slopes(problem))


def small_problem() -> Problem:
    return make_problem(optimizer="adagrad", accumulator=0.1, inverse=True)


@pytest.mark.parametrize("memory", [1, 40_000])
def test_little_memory_gives_the_same_bits(
    card: Card, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With short segments and few kept states, more is replayed."""
    problem, n_facts = small_problem(), 3 * N_FACTS
    adjoint, slopes = make_adjoint(problem), make_slopes(problem)
    wanted, rows = CudaSweep(problem, n_facts, slopes=slopes, card=card).run(adjoint)
    monkeypatch.setattr("whereof.retrain.cuda.memory._CHUNK_BYTES", 4 * 5 * 2 * 11)
    monkeypatch.setattr("whereof.retrain.cuda.sweep._STRETCH", 3)
    told: list[int] = []
    sweep = CudaSweep(problem, n_facts, slopes=slopes, memory=memory, card=card)
    found, replayed = sweep.run(adjoint, lambda n, keep: told.append(n))
    assert np.array_equal(found, wanted)
    assert np.array_equal(replayed.entity_rows, rows.entity_rows)
    assert sum(told) == n_facts
    assert len(told) > 10


def test_predictions_that_do_not_fit_are_swept_in_turn(cpu_card: MakeCard) -> None:
    problem, n_facts = small_problem(), 3 * N_FACTS
    adjoint = make_adjoint(problem)
    wanted, _ = CudaSweep(problem, n_facts, card=cpu_card()).run(adjoint)
    many = Adjoint(
        np.repeat(adjoint.entities, 20, axis=0), np.repeat(adjoint.relations, 20, axis=0)
    )
    told: list[int] = []
    sweep = CudaSweep(problem, n_facts, memory=1, card=cpu_card(free=1 << 15))
    found, _ = sweep.run(many, lambda n, keep: told.append(n))
    assert np.array_equal(found, np.repeat(wanted, 20, axis=0))
    assert sum(told) > n_facts


def test_a_sweep_goes_on_from_any_kept_state(
    cpu_card: MakeCard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the same bits, within a segment too, and where predictions are swept in turn."""
    monkeypatch.setattr("whereof.retrain.cuda.sweep._STRETCH", 3)
    problem, n_facts = small_problem(), 3 * N_FACTS
    adjoint, slopes = make_adjoint(problem), make_slopes(problem)
    many = Adjoint(np.repeat(adjoint.entities, 9, axis=0), np.repeat(adjoint.relations, 9, axis=0))
    sweep = CudaSweep(problem, n_facts, slopes=slopes, memory=1, card=cpu_card(free=1 << 15))
    kept: list[Kept] = []
    wanted, rows = sweep.run(many, lambda n, keep: kept.append(keep()))
    assert len(kept[-1]["found"]) > 0
    for at in (0, len(kept) // 2, len(kept) - 1):
        told: list[int] = []
        again = CudaSweep(problem, n_facts, slopes=slopes, card=cpu_card())
        found, replayed = again.run(many, lambda n, keep, told=told: told.append(n), kept[at])
        assert np.array_equal(found, wanted)
        assert np.array_equal(replayed.entity_rows, rows.entity_rows)
        assert (sum(told) > 0) == (at < len(kept) - 1)


def test_a_sweep_over_the_last_part_credits_its_steps_only(card: Card) -> None:
    problem = make_problem(optimizer="adagrad", accumulator=0.1, epochs=1, order="file")
    adjoint = make_adjoint(problem)
    whole, _ = CudaSweep(problem, N_FACTS, memory=1, card=card).run(adjoint)
    last, _ = CudaSweep(problem, N_FACTS, n_swept=10, memory=1, card=card).run(adjoint)
    assert np.array_equal(last[:, -10:], whole[:, -10:])
    assert not last[:, :-10].any()


@pytest.mark.parametrize(("lanes", "threads"), [(2, 2), (4, 8)])
@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adam-lazy", "constraint": "unit", "inverse": True, "n3": 0.1},
        {"optimizer": "adagrad", "model": "mf-biased", "negatives": 7},
        {"optimizer": "sgd", "model": "transe-l2", "loss": "sigmoid", "dim": 9},
    ],
    ids=lambda it: it["optimizer"],
)
def test_lanes_that_share_rows(
    cpu_card: MakeCard, settings: dict[str, Any], lanes: int, threads: int
) -> None:
    problem = make_problem(**settings, epochs=1)
    check_all(cpu_card(lanes=lanes, threads=threads), problem)


def test_unrolled_runs_on_a_card(
    card: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("engine", "rollback", "sweep"):
        monkeypatch.setattr(f"whereof.retrain.cuda.{place}.open_card", lambda *task: card)
    steady = {"optimizer": "adagrad", "accumulator": 0.1, "rate": 0.1, "precision": "float64"}
    trained.train(tmp_path / "run", **steady, epochs=2)  # the second has something to unlearn
    names = [("brazil", "commonbloc1", "israel"), ("uk", "embassy", "usa")]
    found = {}
    for device in ("cuda", "cpu"):
        run = whereof.Run.open(tmp_path / "run")
        explained = list(run.explain_many(names, method="unrolled", device=device))
        found[device] = [[fact.influence for fact in each.facts] for each in explained]
        shutil.rmtree(tmp_path / "run" / "prepared")
    np.testing.assert_allclose(found["cuda"], found["cpu"], rtol=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 2}, "batch_size 2 does not run on CUDA.*choose batch_size 1"),
        ({"optimizer": "adam"}, "optimizer adam cannot be swept on CUDA; choose .* adam-lazy"),
        ({"model": "rescal", "dim": 100}, "rows of 10000 numbers are too wide for the GPU's"),
    ],
)
def test_what_a_card_cannot_sweep_is_said(
    cpu_card: MakeCard, settings: dict[str, Any], message: str
) -> None:
    problem = make_problem(**settings)
    with pytest.raises(WhereofError, match=message):
        CudaSweep(problem, N_FACTS, card=cpu_card()).run(make_adjoint(problem))
