"""The runs of the paper's experiments, and the time that its parts need."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from whereof.api import Run, resume, train
from whereof.api.cases import machine_of, sibling, sibling_path
from whereof.data.dataset import Dataset
from whereof.data.read import read_dataset
from whereof.errors import WhereofError
from whereof.events import Events, Note, TrainingStarted, Validated, Without
from whereof.paper.plan import FIRST_SEED, PaperOptions, Part
from whereof.retrain.engine import Engine
from whereof.retrain.options import EngineOptions
from whereof.retrain.recipe import Recipe
from whereof.run.folder import RunFolder
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
        """The data of a part."""
        objects = asks_for_objects(_PRESET, _settings(part))
        if objects not in self._datasets:
            where = self.options.data_dir
            self._datasets[objects] = read_dataset(
                self.options.published.catalogue,
                events=self.events,
                objects_if_rated=objects,
                **({} if where is None else {"data_dir": where}),
            )
        return self._datasets[objects]

    def problem(self, part: Part) -> Problem:
        """The training problem of a part."""
        dataset = self.dataset(part)
        return Problem.of(dataset, choose_config(dataset, _PRESET, _settings(part)))

    def recipe(self, part: Part) -> Recipe:
        """The recipe for retraining a part, with all epochs: the best one is not known yet."""
        problem = self.problem(part)
        return Recipe(problem, problem.config.epochs * len(problem.facts))

    def missing(self, part: Part) -> list[Path]:
        """Folders of a part's runs that are not trained, or not to the end."""
        path = self._path(part)
        siblings = [sibling_path(path, changes) for changes in part.siblings]
        missing = [sibling for sibling in siblings if not _is_finished(sibling)]
        return missing if self.has_begun(part) else [path, *missing]

    def has_begun(self, part: Part) -> bool:
        """Whether the first run of a part is trained."""
        folder = self._folder(part)
        return folder is not None and folder.manifest.finished

    def open(self, part: Part) -> Run:
        """The run of a part under the first seed; trains it if needed."""
        folder, path = self._folder(part), self._path(part)
        if folder is not None and folder.manifest.finished:
            return Run.open(path)
        quiet = Without(self.events, TrainingStarted, Validated)
        machine = machine_of(self.engine).to_dict()
        self.events.emit(Note(f"training {part.run}"))
        if folder is not None:
            return resume(path, events=quiet, **machine)
        settings = _settings(part) | machine
        return train(self.dataset(part), out=path, preset=_PRESET, events=quiet, **settings)

    def sibling(self, run: Run, **changes: Any) -> Run:
        """The run with some settings changed."""
        return sibling(run, self.events, machine_of(self.engine), **changes)

    def _path(self, part: Part) -> Path:
        return self.options.folder / "runs" / part.run

    def _folder(self, part: Part) -> RunFolder | None:
        """The folder of a part's run, finished or not; None if there is none.

        A run that was trained with other settings than the part's is refused.
        """
        path = self._path(part)
        if not path.exists():
            return None
        folder = RunFolder.open(path, unfinished=True)
        if folder.dataset.name == self.options.published.catalogue:
            wanted = choose_config(folder.dataset, _PRESET, _settings(part))
            if folder.config == Problem.of(folder.dataset, wanted).config:
                return folder
        raise WhereofError(
            f"{path} was trained with other settings; remove it, or choose another -o"
        )


def _settings(part: Part) -> dict[str, Any]:
    """The settings of a part's run that differ from the preset."""
    return {"model": part.model, "seed": FIRST_SEED, **part.settings}


def _is_finished(path: Path) -> bool:
    """Whether a run is trained; a broken one raises when it is opened."""
    try:
        return RunFolder.open(path, unfinished=True).manifest.finished
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

    @property
    def longest(self) -> float:
        """The most seconds before the first retrainings of a part are finished."""
        return max((cost.seconds_each * self.at_once for cost in self.parts), default=0.0)

    def total(self, name: str) -> float:
        """The sum of a field of `Cost` over all parts."""
        return float(sum(getattr(cost, name) for cost in self.parts))


def make_budget(parts: Sequence[Part], kept: Sequence[Part], runs: Runs, engine: Engine) -> Budget:
    """The cost of every part that is left, in the order of the work.

    A run that several parts need is counted in the first of them. `kept` are finished parts.
    """
    counted, kept_runs = set[Path](), {part.run for part in kept}
    costs = [_retraining_cost(part, runs, engine) for part in parts]
    begun = {part.run for part in parts if part.run not in kept_runs and runs.has_begun(part)}
    costs.sort(key=lambda cost: (cost.part.run not in begun, cost.seconds))
    for number, cost in enumerate(costs):
        missing = set(runs.missing(cost.part)) - counted
        counted |= missing
        if missing:
            seconds = len(missing) * engine.seconds_for(runs.recipe(cost.part), 1)
            costs[number] = replace(cost, n_trainings=len(missing), training_seconds=seconds)
    budget = Budget("", tuple(costs), len(kept), engine.at_once)
    return replace(budget, text=_budget_text(budget))


def _retraining_cost(part: Part, runs: Runs, engine: Engine) -> Cost:
    """The cost of a part whose runs are trained."""
    recipe, test = runs.recipe(part), runs.dataset(part).test
    # A query has one top answer, and two queries may give the same prediction.
    n_queries = len(np.unique(test[:, [SUBJECT, RELATION]], axis=0))
    n_each = part.n_retrainings(n_queries, len(recipe.problem.facts))
    n_seeds, seconds = part.options.seeds, engine.seconds_for(recipe, n_each)
    return Cost(part, n_each * n_seeds, seconds * n_seeds)


def _budget_text(budget: Budget) -> str:
    """A line for each part, then all of them together."""
    lines = [
        f"{cost.part.title}: {count(cost.n_retrainings, 'retraining')} x "
        f"{show(cost.seconds_each, 'seconds')} = {show(cost.retraining_seconds, 'seconds')}"
        for cost in budget.parts
    ]
    work = count(budget.total("n_retrainings"), "retraining")
    if n_trainings := budget.total("n_trainings"):
        trainings = count(n_trainings, "training")
        lines.append(f"{trainings}: about {show(budget.total('training_seconds'), 'seconds')}")
        work += f" and {trainings}"
    n_parts = budget.n_kept + len(budget.parts)
    kept = f"; {budget.n_kept} of {n_parts} parts are finished" if budget.n_kept else ""
    seconds = show(budget.total("seconds"), "seconds")
    lines.append(f"at most {work}, {budget.at_once} at a time: about {seconds}{kept}")
    return "\n".join(lines)


class Deadline(Without):
    """Passes all events on, and stops the work when the time budget is spent."""

    def __init__(self, events: Events, seconds: float | None) -> None:
        super().__init__(events)
        self._seconds = math.inf if seconds is None else seconds
        self._end = time.monotonic() + self._seconds
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
        fits = left > 0 and (seconds <= left or seconds > self._seconds)
        self.spent |= not fits
        return fits
