"""What every engine promises: the bits of single retrainings, and a clean end."""

import re
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trained

import whereof
from retrain.helpers import Subject, make_subject, never, subject_of
from whereof.errors import Diverged, Interrupted
from whereof.retrain.engine import Engine, Job, LocalEngine, Recipe, choose_engine, processor_name
from whereof.retrain.options import EngineOptions
from whereof.training.results import Parameters

JOBS = [Job.of([], [0, 1, 2, 3]), Job.of([5], [0, 2]), Job.of([1, 0], [3]), Job.of([8, 2, 4], [1])]
ENDLESS = 10**12


def check_standings(engine: Engine, subject: Subject, jobs: list[Job]) -> None:
    found = engine.retrain(subject.recipe, jobs, subject.predictions, never)
    results: dict[int, Any] = dict(found)
    assert sorted(results) == list(range(len(jobs)))
    for number, job in enumerate(jobs):
        assert results[number].tolist() == subject.stand(job)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"inverse": True, "model": "complex"},
        {"loss": "sigmoid", "precision": "float64", "optimizer": "adam"},
        {"optimizer": "adagrad", "batch_size": 7, "constraint": "unit"},
    ],
    ids=str,
)
def test_standings_are_those_of_retraining_one_by_one(
    engine: Engine, tmp_path: Path, settings: dict[str, Any]
) -> None:
    subject = make_subject(tmp_path, **settings)
    last = len(subject.predictions) - 1
    check_standings(engine, subject, [*JOBS, Job.of([3], [last, 0])])


def test_the_default_settings_too(engine: Engine, tmp_path: Path) -> None:
    run = whereof.train("nations", out=tmp_path / "run", epochs=2)
    assert run.config.precision == "float32"
    check_standings(engine, subject_of(run), JOBS)


@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_ratings_too(engine: Engine, tmp_path: Path, loss: str) -> None:
    if loss == "squared":
        run = trained.train_ratings(tmp_path, 20)
    else:
        (tmp_path / "pairs.tsv").write_text(
            "".join(f"u{u}\tm{m}\n" for u in range(6) for m in range(6) if (u * m) % 4)
        )
        run = whereof.train(tmp_path / "pairs.tsv", out=tmp_path / "run", model="mf", epochs=20)
    assert run.config.loss == loss
    check_standings(engine, subject_of(run), JOBS)


def test_rows_are_those_of_retraining_and_may_be_written(engine: Engine, tmp_path: Path) -> None:
    subject = make_subject(tmp_path)
    for number, rows in engine.retrain(subject.recipe, JOBS, None, never):
        assert isinstance(rows, Parameters)
        wanted = subject.recipe.retrain(JOBS[number].removed)
        assert np.array_equal(rows.entity_rows, wanted.entity_rows)
        assert np.array_equal(rows.relation_rows, wanted.relation_rows)
        rows.entity_rows[0] += 1


def test_many_more_jobs_than_run_at_once(engine: Engine, tmp_path: Path) -> None:
    subject = make_subject(tmp_path, epochs=1)
    check_standings(engine, subject, [Job.of([fact], [fact % 4]) for fact in range(40)])


def test_no_jobs_are_no_work(engine: Engine, tmp_path: Path) -> None:
    subject = make_subject(tmp_path)
    assert list(engine.retrain(subject.recipe, [], subject.predictions, never)) == []


def test_one_thread_and_two_give_the_same_bits(tmp_path: Path) -> None:
    subject = make_subject(tmp_path)
    jobs = [Job.of([fact], [0, 1]) for fact in range(12)]
    one, two = (
        dict(LocalEngine(threads).retrain(subject.recipe, jobs, subject.predictions, never))
        for threads in (1, 2)
    )
    assert {n: one[n].tolist() for n in one} == {n: two[n].tolist() for n in two}


def n_threads() -> int:
    return sum(thread.name.startswith("ThreadPoolExecutor") for thread in threading.enumerate())


def wait_until_idle(engine: Engine) -> None:
    """Return when nothing is being retrained."""
    if isinstance(engine, LocalEngine):
        assert n_threads() == 0
        return
    import ray

    while ray.available_resources().get("CPU", 0) < ray.cluster_resources()["CPU"]:
        time.sleep(0.05)


def test_what_is_asked_to_stop_stops(engine: Engine, tmp_path: Path) -> None:
    subject = make_subject(tmp_path)
    endless = Recipe(subject.recipe.problem, ENDLESS)
    with pytest.raises(Interrupted, match="interrupted"):
        list(engine.retrain(endless, JOBS, subject.predictions, lambda: True))
    wait_until_idle(engine)


def test_whoever_stops_listening_stops_the_work(engine: Engine, tmp_path: Path) -> None:
    subject = make_subject(tmp_path)
    jobs = [Job.of([fact], [0]) for fact in range(30)]
    found = engine.retrain(subject.recipe, jobs, subject.predictions, never)
    next(found)
    found.close()
    wait_until_idle(engine)


def test_an_error_comes_out_and_the_others_end(engine: Engine, tmp_path: Path) -> None:
    subject = make_subject(tmp_path)
    jobs = [*JOBS, Job.of([10**7], [0]), *JOBS]
    with pytest.raises(IndexError, match="out of bounds"):
        list(engine.retrain(subject.recipe, jobs, subject.predictions, never))
    wait_until_idle(engine)


def test_an_error_of_ours_is_one_line(engine: Engine, tmp_path: Path) -> None:
    subject = make_subject(tmp_path)
    problem = subject.recipe.problem
    wild = replace(problem, config=problem.config.replace(rate=1e38))
    recipe = Recipe(wild, subject.recipe.n_facts)
    with pytest.raises(Diverged) as caught:
        list(engine.retrain(recipe, JOBS[1:2], subject.predictions, never))
    assert type(caught.value) is Diverged
    assert str(caught.value) == "training without 1 fact diverged; choose a lower rate"


def test_identities_tell_engines_apart(engine: Engine) -> None:
    kind, _, machine = engine.identity.partition(" ")
    assert kind == ("local" if isinstance(engine, LocalEngine) else "ray")
    assert LocalEngine().identity == f"local {machine}"
    assert engine.at_once == 2


def test_engines_say_what_they_run_on(engine: Engine) -> None:
    about = engine.describe()
    assert processor_name() in about
    assert about.startswith("Ray, ") == (not isinstance(engine, LocalEngine))
    assert re.search(r", (2 of )?\d+ cores?$", about)


def test_local_is_what_auto_means() -> None:
    for name in ("auto", "local"):
        engine = choose_engine(EngineOptions(engine=name, threads=3))
        assert isinstance(engine, LocalEngine)
        assert engine.at_once == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "gpu"}, "unknown engine 'gpu'; choose from auto, local, ray, cuda"),
        ({"threads": 0}, "threads is 0; it must be 1 or more"),
        (
            {"ray_address": "here:6379"},
            "ray_address requires engine ray, not auto; leave it out, or choose ray",
        ),
    ],
)
def test_bad_options_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(whereof.WhereofError) as caught:
        EngineOptions(**settings)
    assert str(caught.value) == message
