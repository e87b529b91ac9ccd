"""Who looks on while the paper is done again."""

import math
import time
from dataclasses import dataclass

from whereof.retrain import Plan, RetrainWatch
from whereof.training.results import Watch


@dataclass(frozen=True)
class Cost:
    """What one part will take."""

    part: str
    """Its name."""
    title: str
    n_retrainings: int
    """At most, over all seeds."""
    retraining_seconds: float
    """From a short probe."""
    n_trainings: int = 0
    """Runs that are not there yet, other seeds and settings included."""
    training_seconds: float = 0.0
    """As of retrainings, one at a time."""

    @property
    def seconds(self) -> float:
        return self.retraining_seconds + self.training_seconds

    @property
    def seconds_each(self) -> float:
        """Of one retraining, with as many others beside it as run at a time."""
        return self.retraining_seconds / max(self.n_retrainings, 1)


@dataclass(frozen=True)
class Budget:
    """What is left to do, said before it begins."""

    parts: tuple[Cost, ...]
    """In the order they are done: those that have begun, then the cheapest first."""
    n_kept: int
    """Parts that were finished before."""
    at_once: int = 1
    """How many retrainings run at a time."""

    @property
    def n_retrainings(self) -> int:
        return sum(part.n_retrainings for part in self.parts)

    @property
    def longest(self) -> float:
        """Seconds until the first retrainings of a part are finished, at most."""
        return max((part.seconds_each * self.at_once for part in self.parts), default=0.0)

    @property
    def n_trainings(self) -> int:
        return sum(part.n_trainings for part in self.parts)

    @property
    def training_seconds(self) -> float:
        return sum(part.training_seconds for part in self.parts)

    @property
    def seconds(self) -> float:
        return sum(part.seconds for part in self.parts)


class PaperWatch(RetrainWatch):
    """Told of the budget, of parts and of retrainings, and asked whether to stop."""

    def preparing(self, run: str) -> None:
        """A model is about to be trained."""

    def budgeted(self, budget: Budget) -> None:
        """Nothing is trained yet, and the long part begins."""

    def began(self, number: int, n_parts: int, title: str) -> None:
        """A part is about to be measured."""

    def downloading(self, url: str, done: int, total: int | None) -> None:
        """A dataset is fetched."""


class TimedWatch(PaperWatch):
    """Passes on all it is told, and stops when the time is over, or the other one says so."""

    def __init__(self, watch: PaperWatch, seconds: float | None) -> None:
        self._watch = watch
        self._seconds = math.inf if seconds is None else seconds
        self._end = time.monotonic() + self._seconds
        self.spent = False
        """Whether it was the time that made it stop."""

    def has_room_for(self, seconds: float) -> bool:
        """Whether something may begin.

        What is longer than all the time there is may too: it would never fit, and the retrainings
        that it gets done are kept.
        """
        left = self._end - time.monotonic()
        fits = left > 0 and (seconds <= left or seconds > self._seconds)
        self.spent |= not fits
        return fits

    def should_stop(self) -> bool:
        self.spent |= time.monotonic() >= self._end
        return self.spent or self._watch.should_stop()

    def preparing(self, run: str) -> None:
        self._watch.preparing(run)

    def budgeted(self, budget: Budget) -> None:
        self._watch.budgeted(budget)

    def began(self, number: int, n_parts: int, title: str) -> None:
        self._watch.began(number, n_parts, title)

    def downloading(self, url: str, done: int, total: int | None) -> None:
        self._watch.downloading(url, done, total)

    def foreseen(self, plan: Plan) -> None:
        self._watch.foreseen(plan)

    def planned(self, plan: Plan) -> None:
        self._watch.planned(plan)

    def retrained(self, n_done: int, n_retrainings: int) -> None:
        self._watch.retrained(n_done, n_retrainings)

    def noted(self, text: str) -> None:
        self._watch.noted(text)


class TrainingWatch(Watch):
    """Passes on what training has to ask."""

    def __init__(self, watch: PaperWatch) -> None:
        self._watch = watch

    def should_stop(self) -> bool:
        return self._watch.should_stop()

    def downloading(self, url: str, done: int, total: int | None) -> None:
        self._watch.downloading(url, done, total)
