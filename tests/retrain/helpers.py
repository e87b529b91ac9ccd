"""Small problems to retrain, and engines that count jobs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import trained

import whereof
from whereof.events import Events
from whereof.predict.prediction import Prediction
from whereof.predict.predictions import Predictions
from whereof.retrain.engine import Engine, Job, Recipe, Results, Stop
from whereof.retrain.journal import Journal
from whereof.retrain.retrainer import Retrainer


def never() -> bool:
    return False


@dataclass(frozen=True)
class Subject:
    """A prepared run with a few predictions of its training facts."""

    recipe: Recipe
    predictions: Predictions

    def stand(self, job: Job) -> list[Any]:
        """The standings that every engine must return."""
        rows = self.recipe.retrain(job.removed)
        return self.predictions.stand(rows, job.which, job.removed).tolist()


def subject_of(run: whereof.Run, n: int = 4) -> Subject:
    places = [Prediction(int(s), int(r), int(o)) for s, r, o in run.dataset.train[:n]]
    if run.config.inverse:
        places += [replace(p, asks="subject") for p in places]
    return Subject(run._recipe, Predictions.of(run._trained, places))


def make_subject(folder: Path, **settings: Any) -> Subject:
    return subject_of(trained.train(folder / "run", **settings))


class Counting(Engine):
    """An engine that records every job."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.jobs, self.at_once = engine, list[Job](), engine.at_once
        self.machine = engine.identity

    @property
    def identity(self) -> str:
        return self.machine

    def describe(self) -> str:
        return self.engine.describe()

    def seconds_for(self, recipe: Recipe, n_retrainings: int) -> float:
        return self.engine.seconds_for(recipe, n_retrainings)

    def retrain(
        self, recipe: Recipe, jobs: Sequence[Job], predictions: Predictions | None, stop: Stop
    ) -> Results:
        self.jobs += jobs
        return self.engine.retrain(recipe, jobs, predictions, stop)

    def close(self) -> None:
        self.engine.close()


def retrainer(
    subject: Subject,
    engine: Engine,
    journal: Journal | None = None,
    events: Events | None = None,
) -> Retrainer:
    journal = Journal() if journal is None else journal
    return Retrainer(subject.recipe, engine, journal, events or Events())
