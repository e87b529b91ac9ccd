"""Retraining on a GPU gives the same results as on the CPU, in any number of waves."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trained
from listening import Recorded

import whereof
from retrain.cuda.conftest import MakeCard
from retrain.cuda.helpers import NOTHING, check_rows
from retrain.helpers import Subject, make_subject, never, retrainer, subject_of
from whereof.errors import Diverged, Interrupted
from whereof.retrain.cuda.card import Card
from whereof.retrain.cuda.engine import _SPARE_BYTES, CudaEngine
from whereof.retrain.cuda.memory import Memory
from whereof.retrain.engine import Engine, Job, LocalEngine, Recipe
from whereof.retrain.journal import Journal, open_journal
from whereof.retrain.retrainer import Outcomes
from whereof.training.results import Parameters

JOBS = [Job.of([5], [0, 2]), Job.of([1, 0], [3]), Job.of([8, 2, 4], []), Job.of([7], [1, 0, 3])]
ENDLESS = 10**12


def check_outcomes(found: Outcomes, wanted: Outcomes) -> None:
    assert len(found.jobs) == len(wanted.jobs)
    pairs = zip((found.control, *found.jobs), (wanted.control, *wanted.jobs), strict=True)
    for mine, theirs in pairs:
        for name in ("probability", "score"):
            np.testing.assert_allclose(mine[name], theirs[name], rtol=1e-9, atol=1e-12)
        for name in ("rank", "top", "top_released"):
            assert mine[name].tolist() == theirs[name].tolist()


def check_engine(card: Card, subject: Subject, jobs: list[Job] = JOBS) -> None:
    found, wanted = (
        retrainer(subject, engine).ask(subject.predictions, jobs)
        for engine in (CudaEngine(card), LocalEngine(2))
    )
    check_outcomes(found, wanted)
    looked_at = [job for job in jobs if len(job.which)]
    assert found.n_retrained == wanted.n_retrained == len(looked_at) + 1
    differ = [(job["score"] != found.control["score"][: len(job)]).any() for job in found.jobs]
    assert any(differ), "removing facts is meant to matter"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"inverse": True, "model": "complex", "optimizer": "adam"},
        {"model": "transe", "loss": "sigmoid", "optimizer": "adagrad", "constraint": "unit"},
        {"model": "rotate", "sampling": "independent", "negatives": 13},
    ],
    ids=str,
)
def test_outcomes_are_those_of_the_cores(
    card: Card, tmp_path: Path, settings: dict[str, Any]
) -> None:
    subject = make_subject(tmp_path, precision="float64", epochs=2, **settings)
    last = len(subject.predictions) - 1
    check_engine(card, subject, [*JOBS, Job.of([3], [last, 0]), Job.of([6], [1], 0.5)])


def rated(folder: Path, loss: str) -> Subject:
    (folder / "ratings.tsv").write_text(
        "".join(f"u{u}\tm{m}\t{1 + u * m % 5}\n" for u in range(6) for m in range(6) if u + m)
    )
    columns = {"columns": "1,2"} | ({"rating": "3"} if loss == "squared" else {})
    settings = {"model": "mf-biased", "dim": 3, "epochs": 5, "precision": "float64"}
    run = whereof.train(folder / "ratings.tsv", out=folder / "run", **columns, **settings)
    assert run.config.loss == loss
    return subject_of(run)


@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_ratings_too(card: Card, tmp_path: Path, loss: str) -> None:
    check_engine(card, rated(tmp_path, loss))


def test_rows_are_those_of_retraining_and_may_be_written(card: Card, tmp_path: Path) -> None:
    subject = make_subject(tmp_path, precision="float64")
    sets = [job.removed for job in JOBS]
    found = retrainer(subject, CudaEngine(card)).rows(sets)
    for removed, rows in zip((NOTHING, *sets), found, strict=True):
        check_rows(rows, subject.recipe.retrain(removed), 1e-9)
        rows.entity_rows[0] += 1


def test_nothing_to_do_and_nothing_to_look_at(card: Card, tmp_path: Path) -> None:
    subject, engine = make_subject(tmp_path, epochs=1), CudaEngine(card)
    assert list(engine.retrain(subject.recipe, [], subject.predictions, never)) == []
    jobs = [Job.of([fact], []) for fact in range(3)]
    found: dict[int, Any] = dict(engine.retrain(subject.recipe, jobs, subject.predictions, never))
    assert [len(found[number]) for number in range(3)] == [0, 0, 0]
    assert engine.seconds_for(subject.recipe, 0) == 0


def free_for(n_models: int, subject: Subject) -> int:
    """Memory for a number of models at a time."""
    memory = Memory.of(subject.recipe.problem)
    return memory.shared + _SPARE_BYTES + int((n_models + 0.5) * memory.of_model)


def in_waves_of(n_models: int, cpu_card: MakeCard, subject: Subject) -> CudaEngine:
    """An engine on a GPU with memory for a number of models."""
    return CudaEngine(cpu_card(free=free_for(n_models, subject)))


def test_waves_give_what_all_at_once_give(cpu_card: MakeCard, tmp_path: Path) -> None:
    subject = make_subject(tmp_path, epochs=2)
    jobs = [Job.of([fact], [fact % 4]) for fact in range(7)]
    found: list[dict[int, Any]] = [
        dict(
            in_waves_of(n, cpu_card, subject).retrain(
                subject.recipe, jobs, subject.predictions, never
            )
        )
        for n in (1, 2, 3, 100)
    ]
    for each in found:
        assert sorted(each) == list(range(7))
        assert all(each[number].tolist() == found[0][number].tolist() for number in range(7))


def test_an_interrupted_fleet_keeps_the_waves_that_finished(
    cpu_card: MakeCard, tmp_path: Path
) -> None:
    subject = make_subject(tmp_path, epochs=2)
    jobs = [Job.of([fact], [0, 1]) for fact in range(6)]
    with open_journal(tmp_path / "journal") as journal:
        stopped = retrainer(subject, in_waves_of(2, cpu_card, subject), journal, Recorded(4))
        with pytest.raises(Interrupted, match="retraining was interrupted"):
            stopped.ask(subject.predictions, jobs)
        assert len(journal) == 4, "four jobs, in two waves"
        assert journal.lacks(NOTHING, subject.predictions.places), "the control is the last"
    with open_journal(tmp_path / "journal") as journal:
        engine, events = in_waves_of(2, cpu_card, subject), Recorded()
        outcomes = retrainer(subject, engine, journal, events).ask(subject.predictions, jobs)
        assert (outcomes.n_retrained, outcomes.n_known) == (3, 4)
        assert len(events.done) == 3
    whole = retrainer(subject, engine).ask(subject.predictions, jobs)
    for mine, theirs in zip(outcomes.jobs, whole.jobs, strict=True):
        assert mine.tolist() == theirs.tolist()


def test_what_is_asked_to_stop_stops(card: Card, tmp_path: Path) -> None:
    subject = make_subject(tmp_path)
    endless = Recipe(subject.recipe.problem, ENDLESS)
    with pytest.raises(Interrupted, match="interrupted"):
        list(CudaEngine(card).retrain(endless, JOBS, subject.predictions, lambda: True))


@pytest.mark.parametrize("rows", [False, True])
def test_divergence_is_said_with_a_remedy(card: Card, tmp_path: Path, rows: bool) -> None:
    subject = make_subject(tmp_path, optimizer="sgd")
    problem = subject.recipe.problem
    wild = replace(problem, config=problem.config.replace(rate=1e38))
    recipe, predictions = Recipe(wild, subject.recipe.n_facts), subject.predictions
    with pytest.raises(Diverged) as caught:
        list(CudaEngine(card).retrain(recipe, JOBS[1:], None if rows else predictions, never))
    assert str(caught.value) == "training without 2 facts diverged; choose a lower rate"


def spoiled(subject: Subject, fact: int) -> Subject:
    """The same problem with a target that makes training diverge."""
    problem = subject.recipe.problem
    targets = np.array(problem.targets)
    targets[fact] = np.nan
    recipe = Recipe(replace(problem, targets=targets), subject.recipe.n_facts)
    return replace(subject, recipe=recipe)


@pytest.mark.parametrize("rows", [False, True])
def test_one_that_diverges_takes_no_other_with_it(card: Card, tmp_path: Path, rows: bool) -> None:
    subject = spoiled(rated(tmp_path, "squared"), fact=3)
    jobs = [Job.of([3, 1], [0]), Job.of([5, 6, 8], [1]), Job.of([3], [2]), Job.of([4], [3])]
    wanted, found = None if rows else subject.predictions, dict[int, Any]()
    results = CudaEngine(card).retrain(subject.recipe, jobs, wanted, never)
    with pytest.raises(Diverged) as caught:
        found.update(results)
    assert list(found) == [0, 2]
    for result in found.values():
        assert np.isfinite(result.entity_rows if rows else result["score"]).all()
    assert str(caught.value) == "training without 3 facts diverged; choose a lower rate"


def test_what_did_not_diverge_is_kept(card: Card, tmp_path: Path) -> None:
    subject = spoiled(rated(tmp_path, "squared"), fact=3)
    jobs, journal = [Job.of([3, 1], [0]), Job.of([5], [1]), Job.of([3], [2])], Journal()
    with pytest.raises(Diverged, match="training with all facts diverged"):
        retrainer(subject, CudaEngine(card), journal).ask(subject.predictions, jobs)
    places = subject.predictions.places
    known = [not journal.lacks(job.removed, places[job.which]) for job in jobs]
    assert known == [True, False, True]


def test_it_says_who_it_is_and_how_long_it_takes(card: Card, tmp_path: Path) -> None:
    subject, engine = make_subject(tmp_path), CudaEngine(card)
    assert engine.identity.startswith("cuda ")
    assert card.identity in engine.identity
    assert engine.identity == CudaEngine(card).identity != LocalEngine().identity
    assert engine.at_once >= 1
    few, many = (engine.seconds_for(subject.recipe, n) for n in (1, 10_000))
    assert 0 < few < many


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"batch_size": 2},
            "batch_size 2 does not run on CUDA, which trains fact by fact; "
            "choose batch_size 1, or leave out --engine/--device cuda",
        ),
        (
            {"optimizer": "adam", "schedule": "exponential"},
            "optimizer adam with schedule exponential does not run on CUDA; "
            "choose schedule constant or optimizer adam-lazy, or leave out --engine/--device cuda",
        ),
    ],
)
def test_what_a_card_cannot_is_one_clear_line(
    cpu_card: MakeCard, tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    subject = subject_of(trained.train(tmp_path / "run", **settings, epochs=1))
    engine: Engine = CudaEngine(cpu_card())
    asks = retrainer(subject, engine, Journal())
    for wanted in (lambda: asks.ask(subject.predictions, JOBS), lambda: list(asks.rows([[1]]))):
        with pytest.raises(whereof.WhereofError) as caught:
            wanted()
        assert str(caught.value) == message


def test_all_rows_that_come_back_are_parameters(card: Card, tmp_path: Path) -> None:
    subject = make_subject(tmp_path, epochs=1)
    found = dict(CudaEngine(card).retrain(subject.recipe, JOBS, None, never))
    assert sorted(found) == list(range(len(JOBS)))
    for rows in found.values():
        assert isinstance(rows, Parameters)
        assert rows.entity_rows.dtype == np.float32
        assert rows.entity_rows.flags.c_contiguous
