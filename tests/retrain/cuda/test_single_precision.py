"""Single precision, and the paper's setting on FB15k-237: equal to the CPU up to rounding."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from training.helpers import N_RELATIONS, make_problem

from retrain.cuda.helpers import NOTHING, run_fleet, run_trainer
from whereof.data.dataset import Dataset
from whereof.data.read import read_dataset
from whereof.retrain.cuda.card import Card
from whereof.retrain.cuda.fleet import Fleet
from whereof.training.config import TrainConfig
from whereof.training.defaults import preset_settings
from whereof.training.problem import Problem
from whereof.training.results import Parameters

DATA = Path(__file__).parents[4] / "shared" / "data"
N_STEPS = 2000
TOLERANCE = 1e-4
"""Of the length of all rows."""


@pytest.fixture(scope="module")
def fb15k_237() -> Dataset:
    if not (DATA / "fb15k-237").exists():
        pytest.skip(f"FB15k-237 is not at {DATA}")
    return read_dataset("fb15k-237", data_dir=DATA)


def all_rows(rows: Parameters) -> NDArray[np.float64]:
    return np.concatenate([rows.entity_rows, rows.relation_rows]).astype(np.float64)


def distance(found: NDArray[np.float64], wanted: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def on_cores(problem: Problem, precision: str) -> NDArray[np.float64]:
    config = problem.config.replace(precision=precision, trace=False)
    return all_rows(run_trainer(replace(problem, config=config), N_STEPS).parameters())


def on_card(card: Card, problem: Problem, *, tracked: bool = False) -> NDArray[np.float64]:
    return all_rows(run_fleet(Fleet(card, problem, [NOTHING], tracked=tracked), N_STEPS).rows(0))


def check_single_precision(card: Card, problem: Problem) -> None:
    """Check that results are near the CPU's in single precision, and as far from double
    precision."""
    found, cores, exact = (
        on_card(card, problem),
        on_cores(problem, "float32"),
        on_cores(problem, "float64"),
    )
    assert 0 < distance(found, cores) < TOLERANCE
    assert (on_card(card, problem, tracked=True) == found).all()
    assert distance(found, exact) < 3 * distance(cores, exact)
    assert distance(exact, all_rows(Parameters(*problem.initial_rows()))) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["adam-lazy", "adam"])
def test_the_setting_of_the_paper(card: Card, fb15k_237: Dataset, optimizer: str) -> None:
    settings = preset_settings("paper", "fb15k-237") | {"trace": False}
    settings |= {"model": "distmult", "optimizer": optimizer, "sampling": "distinct"}
    check_single_precision(card, Problem.of(fb15k_237, TrainConfig(**settings)))


@pytest.mark.parametrize("model", ["distmult", "complex", "transe-l2"])
def test_rows_as_wide_as_in_use(card: Card, model: str) -> None:
    rng = np.random.default_rng(0)
    facts = rng.integers(0, (300, N_RELATIONS, 300), (1000, 3))
    settings = {"dim": 50, "negatives": 60, "init": 0.05, "rate": 3e-3, "trace": False}
    problem = make_problem(
        facts, model=model, n_entities=300, precision="float32", inverse=True, **settings
    )
    check_single_precision(card, problem)
