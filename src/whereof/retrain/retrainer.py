"""Retraining with the journal: each set of removed facts is trained once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from whereof.errors import WhereofError
from whereof.events import Advanced, Events, Note, Planned
from whereof.explain.explain import find_scored
from whereof.explain.options import ExplainOptions
from whereof.predict.prediction import Prediction
from whereof.predict.predictions import Predictions
from whereof.predict.scored import Standing, Standings, Trained, name_standings
from whereof.retrain.engine import Engine, Job, Recipe, Result
from whereof.retrain.journal import Journal
from whereof.training.results import Parameters
from whereof.types import FactIds


def control_differs(trained: Trained) -> str:
    """A note for all that compares with the control, or repeats the training."""
    why = "another version of Whereof or another kind of processor trained it"
    if trained.unlearned:
        why = "facts were unlearned from it"
    elif trained.n_trained is None:
        why = "your training function returns other rows"
    return f"the control (retrained with all facts) differs from the stored run: {why}"


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Standings of predictions after retraining."""

    control: Standings  # (n_predictions,) the control, by the same engine, for all predictions
    jobs: tuple[Standings, ...]  # for each job, the standings of its predictions
    n_retrained: int
    n_known: int  # number of retrainings found in the journal


@dataclass(frozen=True, eq=False)
class Retrainer:
    """Retrains one run; results in the journal are not trained again."""

    recipe: Recipe
    engine: Engine
    journal: Journal
    events: Events
    counts: Counter[str] = field(default_factory=Counter)
    """Retrainings of all calls of `ask`: retrained ones and known ones."""
    asked: set[str] = field(default_factory=set)
    trained: set[str] = field(default_factory=set)
    """Keys of all jobs of `ask`, and of those that the journal did not have."""
    probed: dict[int, float] = field(default_factory=dict)
    """Estimated seconds for some numbers of retrainings at a time."""

    def ask(self, predictions: Predictions, jobs: Sequence[Job]) -> Outcomes:
        """Standings of every job's predictions without its facts, and of the control."""
        keys, control = predictions.places, Job.control(len(predictions))
        self._check(jobs)
        merged = _merge([control, *jobs])
        lacking = [
            replace(job, which=job.which[missing])
            for job in merged
            if (missing := self.journal.lacks(job.removed, keys[job.which], job.factor))
        ]
        n_known = len(merged) - len(lacking)
        for number, standings in self._retrain(lacking, predictions, n_known):
            assert not isinstance(standings, Parameters)
            self._keep(lacking[number], predictions, standings)
        self.counts.update(retrained=len(lacking), known=n_known)
        found = [
            self.journal.get(job.removed, keys[job.which], job.factor) for job in [control, *jobs]
        ]
        self.asked.update(job.key for job in merged)
        self.trained.update(job.key for job in lacking)
        return Outcomes(found[0], tuple(found[1:]), len(lacking), n_known)

    def rows(self, removed: Sequence[FactIds]) -> Iterator[Parameters]:
        """Yield the rows of the control, then those without each set of facts, in this order."""
        jobs = [Job.control(0), *(Job.of(facts, []) for facts in removed)]
        self._check(jobs)
        waiting, following = dict[int, Result](), 0
        for number, found in self._retrain(jobs, None):  # as they finish
            waiting[number] = found
            while isinstance(rows := waiting.pop(following, None), Parameters):
                yield rows
                following += 1

    def seconds_for(self, n_retrainings: int) -> float:
        """Estimated seconds for a number of retrainings. Many small rounds share one probe."""
        size = min(n_retrainings, self.engine.at_once)
        if size > max(self.probed, default=0):
            self.probed[size] = self.engine.seconds_for(self.recipe, size)
        each = self.probed[max(self.probed)]
        return each * -(-n_retrainings // self.engine.at_once)

    def _retrain(
        self, jobs: Sequence[Job], predictions: Predictions | None, n_known: int = 0
    ) -> Iterator[tuple[int, Result]]:
        if not jobs:
            return
        seconds = self.seconds_for(len(jobs))
        self.events.emit(Planned(len(jobs), n_known, seconds, self.engine.at_once))
        found = self.engine.retrain(self.recipe, jobs, predictions, self.events.should_stop)
        with closing(found):
            for n_done, (number, result) in enumerate(found, 1):
                yield number, result
                self.events.emit(Advanced(n_done, len(jobs), "retrainings"))

    def _keep(self, job: Job, predictions: Predictions, standings: Standings) -> None:
        try:
            places = predictions.places[job.which]
            self.journal.add(job.removed, places, standings, job.factor)
        except OSError as error:
            self.journal.file = None
            self.events.emit(Note(f"retrainings are no longer stored: {error.strerror}"))

    def _check(self, jobs: Sequence[Job]) -> None:
        n_facts = len(self.recipe.problem.facts)
        for job in jobs:
            removed = job.removed
            bad = removed[(removed < 0) | (removed >= n_facts)]
            if len(bad):
                raise WhereofError(f"no fact {bad[0]} to remove; choose from 0 to {n_facts - 1}")
            if len(removed) == n_facts and not job.factor:
                what = f"without all {n_facts} facts nothing is left to train on"
                raise WhereofError(f"{what}; remove fewer, by a smaller k or top")


def _merge(jobs: Sequence[Job]) -> list[Job]:
    """Merge jobs that remove the same facts into one with all their predictions."""
    merged: dict[str, Job] = {}
    for job in jobs:
        before = merged.get(job.key, job)
        merged[job.key] = replace(job, which=np.union1d(before.which, job.which))
    return list(merged.values())


@dataclass(frozen=True, eq=False)
class Case:
    """A trained run with its retrainer. Every seed has its own case."""

    trained: Trained
    retrainer: Retrainer
    result: Mapping[str, Any]  # the result of training: norms, Lipschitz constant and more

    @property
    def seed(self) -> int:
        return self.trained.config.seed

    def predictions(self, predictions: Iterable[Prediction]) -> Predictions:
        """Predictions in the form that retraining takes."""
        return Predictions.of(self.trained, predictions)

    def stand(self, predictions: Predictions) -> Standings:
        """Standings in the run as it was stored."""
        return predictions.stand(self.trained.parameters)


@dataclass(frozen=True, eq=False)
class Retrained:
    """A model retrained without some facts: its parameters, or the standings of predictions."""

    removed: tuple[int, ...]  # ids of the facts, ascending; empty for the control
    parameters: Parameters | None = None  # None if predictions were given
    standings: tuple[Standing, ...] | None = None  # one per prediction, if predictions were given


def retrain(
    case: Case, sets: Sequence[FactIds], predictions: Sequence[Sequence[str | None]] | None
) -> Iterator[Retrained]:
    """Models without each set of facts, after the control; see `whereof.Run.retrain`."""
    removed = [(), *(tuple(facts.tolist()) for facts in sets)]
    if predictions is None:
        for facts, rows in zip(removed, case.retrainer.rows(sets), strict=True):
            yield Retrained(facts, rows)
        return
    scored = [find_scored(case.trained, names, ExplainOptions()) for names in predictions]
    jobs = [Job.of(facts, range(len(scored))) for facts in sets]
    found = case.retrainer.ask(case.predictions(each.prediction for each in scored), jobs)
    for facts, standings in zip(removed, (found.control, *found.jobs), strict=True):
        yield Retrained(facts, standings=name_standings(case.trained, standings))
