"""The shared prefix of models is trained once, and the bits are the same."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training.helpers import make_problem

from retrain.cuda.conftest import MakeCard
from retrain.cuda.cpu_card import CpuCard
from retrain.cuda.helpers import bits_of, n_facts_in_all, run_fleet
from retrain.cuda.test_bits import each_setting
from retrain.cuda.test_engine import free_for
from retrain.helpers import Subject, make_subject, never
from whereof.retrain.cuda.card import Card, Grid
from whereof.retrain.cuda.engine import CudaEngine
from whereof.retrain.cuda.fleet import Fleet, make_waves, prefix_lengths
from whereof.retrain.engine import Job, Recipe
from whereof.training.problem import Problem
from whereof.training.results import Parameters

REMOVED = [[24], [], [11], [3, 29], [29], [11, 12, 2], [20], [19], [], [28], [0]]


@pytest.fixture(params=[7])
def stretch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Number of facts in the first launch; later launches have one fact."""
    monkeypatch.setattr("whereof.retrain.cuda.fleet._FIRST_STRETCH", request.param)
    monkeypatch.setattr("whereof.retrain.cuda.engine._LOOK_SECONDS", 0)
    n_facts: int = request.param
    return n_facts


def check_alone(card: Card, problem: Problem, n_facts: int) -> None:
    """Check that models trained together have the bits of models trained alone."""
    jobs = [Job.of(each, []) for each in REMOVED]
    found = dict(CudaEngine(card).retrain(Recipe(problem, n_facts), jobs, None, never))
    assert sorted(found) == list(range(len(jobs)))
    for number, job in enumerate(jobs):
        rows, alone = found[number], Fleet(card, problem, [job.removed])
        assert isinstance(rows, Parameters)
        bits = rows.entity_rows.tobytes() + rows.relation_rows.tobytes()
        assert bits == bits_of(run_fleet(alone, n_facts)), job.removed


@each_setting
@pytest.mark.usefixtures("stretch")
def test_each_is_what_training_alone_makes_of_it(card: Card, settings: dict[str, Any]) -> None:
    order = "file" if settings["optimizer"] == "sgd" else "shuffle"
    problem = make_problem(**settings, order=order)
    check_alone(card, problem, n_facts_in_all(problem))


@pytest.mark.parametrize("n_facts", [1, 13, 44])
@pytest.mark.usefixtures("stretch")
def test_also_of_a_run_that_kept_an_earlier_moment(card: Card, n_facts: int) -> None:
    check_alone(card, make_problem(optimizer="adam-lazy"), n_facts)


def some_jobs(subject: Subject) -> list[Job]:
    n_facts = len(subject.recipe.problem.facts)
    sets: list[list[int]] = [[n_facts - 1], [3], [], [4, 1], [n_facts - 2], [3, 5], [0], [6]]
    return [Job.of(removed, [0, 1, 2, 3]) for removed in sets]


def standings(card: Card, subject: Subject, jobs: list[Job]) -> list[Any]:
    found = dict(CudaEngine(card).retrain(subject.recipe, jobs, subject.predictions, never))
    return [np.asarray(found[number]).tolist() for number in range(len(jobs))]


@pytest.mark.parametrize(("optimizer", "size"), [("adam", 3), ("adam-lazy", 1)])
@pytest.mark.usefixtures("stretch")
def test_waves_go_on_from_where_the_one_before_parted(
    card: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, optimizer: str
) -> None:
    subject = make_subject(tmp_path, epochs=2, optimizer=optimizer)
    jobs = some_jobs(subject)
    alone = [standings(card, subject, [job])[0] for job in jobs]
    free = free_for(size, subject)
    monkeypatch.setattr(type(card), "free_bytes", lambda _: free)
    assert standings(card, subject, jobs) == alone


@pytest.mark.parametrize("size", [1, 2, 4])
def test_what_is_alike_is_trained_once(
    cpu_card: MakeCard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stretch: int, size: int
) -> None:
    subject, steps = make_subject(tmp_path, epochs=1, order="file"), []
    launch = CpuCard.launch

    def count(card: CpuCard, kernels: Any, name: str, grid: Grid, arguments: Any) -> None:
        if name == "train":
            _, start, stop = arguments
            steps.append(grid[0] * int(stop - start))
        launch(card, kernels, name, grid, arguments)

    monkeypatch.setattr(CpuCard, "launch", count)
    n_facts = subject.recipe.n_facts
    firsts = [n_facts // 2, n_facts - 1, n_facts // 3]
    jobs = [Job.of([], [0]), *(Job.of([fact], [0]) for fact in firsts)]
    standings(cpu_card(free=free_for(size, subject)), subject, jobs)
    least = n_facts + sum(n_facts - first for first in firsts)
    if stretch == 1:
        assert sum(steps) == least
    assert least <= sum(steps) < 4 * n_facts


def test_where_models_part() -> None:
    in_file = make_problem(order="file")
    removed = [np.array(facts, np.int64) for facts in REMOVED]
    wanted = [24, 90, 11, 3, 29, 2, 20, 19, 90, 28, 0]
    assert prefix_lengths(Recipe(in_file, 90), removed).tolist() == wanted
    early = prefix_lengths(Recipe(in_file, 13), removed).tolist()
    assert early == [min(place, 13) for place in wanted]
    shuffled = prefix_lengths(Recipe(make_problem(order="shuffle"), 90), removed).tolist()
    assert shuffled[1] == shuffled[8] == 90
    assert shuffled[0] != 24 or shuffled[2] != 11


def test_rows_come_wave_by_wave_in_the_order_asked_for() -> None:
    places = np.array([90, 5, 7, 2, 3])
    asked = [wave.tolist() for wave in make_waves(places, 2, in_order=True)]
    assert asked == [[0, 1], [2, 3], [4]]
    parted = [wave.tolist() for wave in make_waves(places, 2, in_order=False)]
    assert parted == [[4, 3], [2, 1], [0]]


def test_the_first_rows_do_not_wait_for_the_last_wave(cpu_card: MakeCard, tmp_path: Path) -> None:
    subject = make_subject(tmp_path, epochs=1)
    engine = CudaEngine(cpu_card(free=free_for(2, subject)))
    jobs = [Job.of(removed, []) for removed in ([], [5], [4], [0])]
    found = engine.retrain(subject.recipe, jobs, None, never)
    assert {next(found)[0], next(found)[0]} == {0, 1}
    assert {number for number, _ in found} == {2, 3}
