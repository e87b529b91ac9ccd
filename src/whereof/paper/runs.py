"""The runs of the paper's experiments, and the time that its parts need."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from whereof.api.cases import machine_of, sibling, sibling_path
from whereof.api.run import Run
from whereof.api.runs import train_once
from whereof.data.dataset import Dataset
from whereof.data.read import read_dataset
from whereof.errors import WhereofError
from whereof.events import Events, Note, Without
from whereof.paper.plan import PaperOptions, Part
from whereof.retrain.engine import Engine, Recipe
from whereof.retrain.options import EngineOptions
from whereof.training import asks_for_objects, choose_config
from whereof.training.problem import Problem
from whereof.types import RELATION, SUBJECT
from whereof.units import count, show

_PRESET = "paper"


@dataclass(frozen=True)
class Runs:
    """One run for every setting that parts need; its other seeds are kept inside it."""

    options: PaperOptions
    events: Events
    engine: EngineOptions = field(default_factory=EngineOptions)
    """Where runs are trained and retrained; not `auto`."""

    _datasets: dict[bool, Dataset] = field(default_factory=dict, repr=False)
    """Read once, by whether ratings are objects."""

    def dataset(self, part: Part) -> Dataset:
        objects = asks_for_objects(_PRESET, part.training)
        if objects not in self._datasets:
            where = self.options.data_dir
            options: dict[str, Any] = {} if where is None else {"data_dir": where}
            name = self.options.published.catalogue
            read = read_dataset(name, events=self.events, objects_if_rated=objects, **options)
            self._datasets[objects] = read
        return self._datasets[objects]

    def recipe(self, part: Part) -> Recipe:
        """The recipe for retraining a part, with all epochs: the best one is not known yet."""
        dataset = self.dataset(part)
        problem = Problem.of(dataset, choose_config(dataset, _PRESET, part.training))
        return Recipe(problem, problem.config.epochs * len(problem.facts))

    def path(self, part: Part) -> Path:
        """The folder of a part's run."""
        return self.options.folder / "runs" / part.run

    def missing(self, part: Part) -> list[Path]:
        """Folders of a part's runs that are not trained, or not to the end."""
        path = self.path(part)
        siblings = (sibling_path(path, changes) for changes in part.siblings)
        return [each for each in (path, *siblings) if not _is_finished(each)]

    def open(self, part: Part) -> Run:
        """The run of a part under the first seed; trains it if needed."""
        where = self.path(part), self.dataset(part), self.recipe(part).problem.config
        return train_once(*where, self.events, machine_of(self.engine), part.run)

    def sibling(self, run: Run, **changes: Any) -> Run:
        """The run with some settings changed."""
        return sibling(run, self.events, machine_of(self.engine), **changes)


def _is_finished(path: Path) -> bool:
    """Whether a run is trained; a broken one raises when it is opened."""
    try:
        return Run.open(path, unfinished=True).manifest.finished
    except WhereofError:
        return False


@dataclass(frozen=True)
class Cost:
    """The time that one part needs."""

    part: Part
    n_retrainings: int
    """An upper bound, over all seeds."""
    retraining_seconds: float
    """Estimated by a short probe."""
    n_trainings: int = 0
    """Number of runs to train, with other seeds and settings."""
    training_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        return self.retraining_seconds + self.training_seconds

    @property
    def seconds_each(self) -> float:
        """Time per retraining at full parallelism."""
        return self.retraining_seconds / max(self.n_retrainings, 1)


@dataclass(frozen=True)
class Budget(Note):
    """The time that is needed, known before the work begins."""

    parts: tuple[Cost, ...]
    """In the order of the work: parts that have begun, then the cheapest first."""
    n_kept: int
    """Number of parts that were finished before."""
    at_once: int
    """Number of retrainings that run in parallel."""

    def total(self, name: str) -> float:
        """The sum of a field of `Cost` over all parts."""
        return float(sum(getattr(cost, name) for cost in self.parts))


def make_budget(parts: Sequence[Part], kept: Sequence[Part], runs: Runs, engine: Engine) -> Budget:
    """The cost of every part that is left, in the order of the work.

    A run that several parts need is counted in the first of them. `kept` are finished parts.
    """
    costs, counted, kept_runs = [], set[Path](), {part.run for part in kept}
    for part in parts:
        recipe, test = runs.recipe(part), runs.dataset(part).test
        # A query has one top answer, and two queries may give the same prediction.
        n_queries = len(np.unique(test[:, [SUBJECT, RELATION]], axis=0))
        n_each, n_seeds = part.n_retrainings(n_queries, len(recipe.problem.facts)), len(part.seeds)
        costs.append(Cost(part, n_each * n_seeds, engine.seconds_for(recipe, n_each) * n_seeds))
    begun = {part.run for part in parts if runs.path(part).exists()} - kept_runs
    costs.sort(key=lambda cost: (cost.part.run not in begun, cost.seconds))
    for number, cost in enumerate(costs):
        missing = set(runs.missing(cost.part)) - counted
        counted |= missing
        seconds = len(missing) * engine.seconds_for(runs.recipe(cost.part), 1) if missing else 0.0
        costs[number] = replace(cost, n_trainings=len(missing), training_seconds=seconds)
    budget = Budget("", tuple(costs), len(kept), engine.at_once)
    return replace(budget, text="\n".join(_lines(budget)))


def _lines(budget: Budget) -> Iterator[str]:
    """A line for each part, then all of them together."""
    for cost in budget.parts:
        each, seconds = show(cost.seconds_each, "seconds"), show(cost.retraining_seconds, "seconds")
        yield f"{cost.part.title}: {count(cost.n_retrainings, 'retraining')} x {each} = {seconds}"
    work = count(budget.total("n_retrainings"), "retraining")
    if n_trainings := budget.total("n_trainings"):
        trainings = count(n_trainings, "training")
        yield f"{trainings}: about {show(budget.total('training_seconds'), 'seconds')}"
        work += f" and {trainings}"
    n_kept, seconds = budget.n_kept, show(budget.total("seconds"), "seconds")
    kept = f"; {n_kept} of {n_kept + len(budget.parts)} parts are finished" if n_kept else ""
    yield f"at most {work}, {budget.at_once} at a time: about {seconds}{kept}"


class Deadline(Without):
    """Passes all events on, and stops the work when the time budget is spent."""

    def __init__(self, events: Events, seconds: float) -> None:
        super().__init__(events)
        self._seconds, self._end = seconds, time.monotonic() + seconds
        self.spent = False
        """Whether the time budget, not the user, stopped the work."""

    def should_stop(self) -> bool:
        self.spent |= time.monotonic() >= self._end
        return self.spent or super().should_stop()

    def has_room_for(self, seconds: float) -> bool:
        """Whether a part may begin.

        A part that is longer than the whole budget may begin too: it would never fit, and its
        finished retrainings are kept.
        """
        left = self._end - time.monotonic()
        self.spent |= left <= 0 or left < seconds <= self._seconds
        return not self.spent
