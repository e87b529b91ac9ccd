"""Models that are alike up to a fact are trained as one up to there, and come to the same bits."""

from typing import Any

import numpy as np
import pytest
from training.helpers import N_FACTS, make_problem

from engines.cuda.conftest import MakeCard
from engines.cuda.cpu_card import CpuCard
from engines.cuda.helpers import bits_of, n_facts_in_all, trained_fleet
from engines.cuda.test_bits import each_setting
from engines.helpers import never
from whence.engines import Job
from whence.engines.cuda import CudaEngine
from whence.engines.cuda._card import Card
from whence.engines.cuda._engine import _SCORE_BYTES
from whence.engines.cuda._placing import Memory
from whence.training._problem import Problem
from whence.training.results import Parameters
from whence.training.retraining import Recipe

REMOVED = [[24], [], [11], [3, 29], [29], [11, 12, 2], [20], [19], [28], [0]]


@pytest.fixture(autouse=True)
def _step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stretch is one fact long."""
    monkeypatch.setattr("whence.engines.cuda._fleet._FIRST_STRETCH", 1)
    monkeypatch.setattr("whence.engines.cuda._engine._LOOK_SECONDS", 0)


def in_waves_of(n_models: int, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every card have room for so many models."""
    memory = Memory.of(problem)
    free = memory.shared + 2 * _SCORE_BYTES + n_models * memory.of_model
    monkeypatch.setattr(CpuCard, "free_bytes", lambda _: free)


def retrain(card: Card, problem: Problem, removed: list[list[int]]) -> dict[int, bytes]:
    """The bits of the rows without each set of facts."""
    recipe, jobs = Recipe(problem, n_facts_in_all(problem)), [Job.of(each, []) for each in removed]
    found = {}
    for number, rows in CudaEngine(card).retrain(recipe, jobs, None, never):
        assert isinstance(rows, Parameters)
        found[number] = rows.entity_rows.tobytes() + rows.relation_rows.tobytes()
    return found


@pytest.mark.parametrize("order", ["file", "shuffle"])
@each_setting
def test_each_is_what_training_alone_makes_of_it(
    card: Card, settings: dict[str, Any], order: str
) -> None:
    problem = make_problem(**settings, order=order)
    found = retrain(card, problem, REMOVED)
    for number, removed in enumerate(REMOVED):
        assert found[number] == bits_of(trained_fleet(card, problem, removed)), removed


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_waves_go_on_from_where_the_one_before_parted(
    cpu_card: MakeCard, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    problem = make_problem(optimizer="adam-lazy")
    wanted = retrain(cpu_card(), problem, REMOVED)
    in_waves_of(size, problem, monkeypatch)
    assert retrain(cpu_card(), problem, REMOVED) == wanted


@pytest.mark.parametrize("size", [1, 2, 100])
def test_what_is_alike_is_trained_once(
    cpu_card: MakeCard, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    problem, steps = make_problem(epochs=1, order="file"), []
    launch = CpuCard.launch

    def count(card: CpuCard, kernels: Any, name: str, blocks: int, *rest: Any) -> None:
        if name == "train":
            _, start, stop = rest[-1]
            steps.append(blocks * int(stop - start))
        launch(card, kernels, name, blocks, *rest)

    monkeypatch.setattr(CpuCard, "launch", count)
    in_waves_of(size, problem, monkeypatch)
    retrain(cpu_card(), problem, [[24], [], [11], [29]])
    assert sum(steps) == N_FACTS + (N_FACTS - 11) + (N_FACTS - 24) + (N_FACTS - 29)


def test_nothing_but_the_control_is_trained_from_end_to_end(cpu_card: MakeCard) -> None:
    problem = make_problem()
    found = retrain(cpu_card(), problem, [[], []])
    assert found[0] == found[1] == bits_of(trained_fleet(cpu_card(), problem, np.zeros(0)))
