"""A fleet of models on a GPU equals the models of the CPU kernels."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from training.helpers import make_problem

from retrain.cuda.conftest import MakeCard
from retrain.cuda.helpers import (
    check_rows,
    check_tracked,
    n_facts_in_all,
    run_trainer,
    trained_fleet,
)
from whereof.models import MODELS
from whereof.retrain.cuda.card import Card
from whereof.retrain.engine import Recipe
from whereof.training.problem import Problem

TOLERANCE = 1e-9
TURNS = {
    "sgd": {"loss": "sigmoid", "constraint": "unit", "schedule": "inverse", "rate": 5.0},
    "adagrad": {"inverse": True, "n3": 0.05, "l2": 0.02, "sampling": "independent"},
    "adam-lazy": {"constraint": "max:0.8", "schedule": "exponential", "decay_steps": 20},
    "adam": {"constraint": "max:0.8", "inverse": True, "credit": "step"},
}
OTHERS: list[dict[str, Any]] = [
    {"optimizer": "adam"},
    {"optimizer": "sgd", "model": "transe-l2", "constraint": "unit", "inverse": True},
    {"optimizer": "adam-lazy", "model": "transe", "loss": "sigmoid", "sampling": "independent"},
    {"optimizer": "adam", "constraint": "unit", "loss": "sigmoid", "sampling": "independent"},
    {"optimizer": "adam", "n3": 0.1, "l2": 0.05, "model": "complex", "beta1": 0.8, "beta2": 0.997},
    {"optimizer": "adam", "beta1": 0.1, "n_entities": 100, "negatives": 2, "epochs": 20},
    {"optimizer": "adam", "beta1": 0.05, "beta2": 0.981, "inverse": True, "epochs": 60},
    {"optimizer": "adam", "order": "file", "redraw": False, "credit": "step", "epsilon": 1e-3},
    {"optimizer": "adam-lazy", "beta1": 0.995, "beta2": 0.9, "rate": 0.01, "epochs": 34},
    {"optimizer": "adam-lazy", "negatives": "all", "inverse": True, "l2": 0.1},
    {"optimizer": "adam-lazy", "n3": 0.1, "model": "rotate", "inverse": True, "credit": "step"},
    {"optimizer": "adam-lazy", "constraint": "unit", "model": "rescal", "l2": 0.1},
    {"optimizer": "sgd", "constraint": "max:0.5", "model": "simple", "trace": False},
    {"optimizer": "sgd", "dim": 9, "negatives": 1, "seed": 2**62},
    {"optimizer": "adagrad", "dim": 1, "loss": "sigmoid", "sampling": "independent"},
    {"optimizer": "adagrad", "model": "transe", "negatives_from": "entities", "dim": 6},
    {"optimizer": "adagrad", "model": "mf", "negatives_from": "entities", "inverse": True},
    {"optimizer": "adam", "model": "mf-biased", "loss": "squared", "negatives": None, "l2": 0.1},
    {"optimizer": "adagrad", "model": "mf", "loss": "squared", "negatives": None, "n3": 0.1},
    {"optimizer": "sgd", "model": "mf-biased", "loss": "squared", "negatives": None, "dim": 4},
]


def with_weights(problem: Problem) -> Problem:
    """Weights from 0.25 to 1.75, and every fifth fact skipped."""
    weights = np.linspace(0.25, 1.75, len(problem.facts))
    weights[::5] = 0
    return replace(problem, weights=weights)


def check_as_on_the_cpu(card: Card, **settings: Any) -> None:
    """Several hundred steps: self-loops, subjects among the negatives, rows that lag for long."""
    problem = make_problem(**{"epochs": 8} | settings)
    two_way = problem.model.two_way
    assert two_way or (problem.facts[:, 0] == problem.facts[:, 2]).any()
    fleet = trained_fleet(card, problem, tracked=True)
    check_tracked(fleet, run_trainer(problem), TOLERANCE)
    first = problem.initial_rows()[0]
    assert not np.allclose(fleet.rows(0).entity_rows, first, atol=1e-3)


@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("turn", range(2))
def test_every_model_by_adam_and_one_more(card: Card, model: str, turn: int) -> None:
    others = [name for name in TURNS if name != "adam"]
    optimizer = others[sorted(MODELS).index(model) % len(others)] if turn else "adam"
    check_as_on_the_cpu(card, model=model, optimizer=optimizer, **TURNS[optimizer])


@pytest.mark.parametrize("settings", OTHERS, ids=str)
def test_other_settings(card: Card, settings: dict[str, Any]) -> None:
    check_as_on_the_cpu(card, **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adam", "constraint": "unit", "model": "rescal"},
        {"optimizer": "adam", "model": "transe-l2", "inverse": True},
        {"optimizer": "adam-lazy", "sampling": "independent", "negatives": 6, "model": "complex"},
        {"optimizer": "adagrad", "model": "mf-biased", "constraint": "max:0.8", "n3": 0.1},
        {"optimizer": "sgd", "model": "mf-biased", "loss": "squared", "negatives": None},
    ],
    ids=str,
)
def test_blocks_of_several_threads(cpu_card: MakeCard, settings: dict[str, Any]) -> None:
    check_as_on_the_cpu(cpu_card(threads=3), **settings | {"epochs": 2})


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adam", "constraint": "unit", "l2": 0.1},
        {"optimizer": "adam-lazy", "inverse": True, "n3": 0.1, "credit": "source"},
        {"optimizer": "adagrad", "accumulator": 0.1, "loss": "sigmoid", "model": "transe-l2"},
        {"optimizer": "sgd", "model": "mf-biased", "loss": "squared", "negatives": None},
    ],
    ids=lambda it: it["optimizer"],
)
def test_facts_with_weights(card: Card, settings: dict[str, Any]) -> None:
    problem = with_weights(make_problem(**settings))
    check_tracked(trained_fleet(card, problem, tracked=True), run_trainer(problem), TOLERANCE)
    removed = [[], [0, 1], [7]]  # fact 0 is skipped anyway
    fleet, recipe = trained_fleet(card, problem, *removed), Recipe(problem, n_facts_in_all(problem))
    for model, facts in enumerate(removed):
        check_rows(fleet.rows(model), recipe.retrain(np.array(facts, np.int64)), TOLERANCE)


@pytest.mark.parametrize("weighted", [False, True])
def test_models_with_other_weights(card: Card, weighted: bool) -> None:
    problem = make_problem(optimizer="adagrad", accumulator=0.1, n3=0.1)
    problem = with_weights(problem) if weighted else problem
    recipe, sets = Recipe(problem, n_facts_in_all(problem)), [[], [0, 1], [7], [7, 8], [7]]
    factors = [0.0, 0.9, 1.1, 0.0, 1.0]
    fleet = trained_fleet(card, problem, *sets, factors=factors)
    for model, (facts, factor) in enumerate(zip(sets, factors, strict=True)):
        wanted = recipe.retrain(np.array(facts, np.int64), factor=factor)
        check_rows(fleet.rows(model), wanted, TOLERANCE)
