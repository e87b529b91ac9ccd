"""The time that parts need, known before the work begins, and the time budget."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np

from whereof.events import Events, Note, Without
from whereof.paper.measure import Measuring
from whereof.paper.plan import Part
from whereof.types import RELATION, SUBJECT
from whereof.units import count, show


@dataclass(frozen=True)
class Cost:
    """The time that one part needs with all its seeds; numbers are upper bounds."""

    part: Part
    n_retrainings: int
    retraining_seconds: float
    """Estimated by a short probe."""
    n_trainings: int = 0
    training_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        return self.retraining_seconds + self.training_seconds

    @property
    def seconds_each(self) -> float:
        """Time per retraining at full parallelism."""
        return self.retraining_seconds / max(self.n_retrainings, 1)


class Budget(Note, frozen=True):
    """The time that is needed, known before the work begins."""

    parts: tuple[Cost, ...]
    """In the order of the work: parts that have begun, then the cheapest first."""
    n_kept: int
    """Number of parts that were finished before."""
    at_once: int

    def total(self, name: str) -> float:
        """The sum of a field of `Cost` over all parts."""
        return float(sum(getattr(cost, name) for cost in self.parts))


def make_budget(parts: Sequence[Part], kept: Sequence[Part], measuring: Measuring) -> Budget:
    """The cost of every part that is left, in the order of the work.

    A run that several parts need is counted in the first of them. `kept` are finished parts.
    """
    engine, costs, counted = measuring.engine, [], set[Path]()
    # A query has one top answer, and two queries may give the same prediction.
    n_queries = len(np.unique(measuring.dataset.test[:, [SUBJECT, RELATION]], axis=0))
    for part in parts:
        recipe = measuring.recipe(part)
        n_each, n_seeds = part.n_retrainings(n_queries, len(recipe.problem.facts)), len(part.seeds)
        costs.append(Cost(part, n_each * n_seeds, engine.seconds_for(recipe, n_each) * n_seeds))
    begun = {part.run for part in parts if measuring.run_path(part).exists()}
    begun -= {part.run for part in kept}
    costs.sort(key=lambda cost: (cost.part.run not in begun, cost.seconds))
    for number, cost in enumerate(costs):
        missing = set(measuring.missing(cost.part)) - counted
        counted |= missing
        if missing:
            seconds = len(missing) * engine.seconds_for(measuring.recipe(cost.part), 1)
            costs[number] = replace(cost, n_trainings=len(missing), training_seconds=seconds)
    budget = Budget("", tuple(costs), len(kept), engine.at_once)
    return msgspec.structs.replace(budget, text="\n".join(_lines(budget)))


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
