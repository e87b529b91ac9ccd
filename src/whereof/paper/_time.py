"""The time that the paper takes: an estimate, and a limit."""

import math
import time
from dataclasses import dataclass

from whereof.events import Event, Events


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
class Budget(Event):
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


class TimedEvents(Events):
    """Passes all events on, and stops the work when the time is over."""

    def __init__(self, events: Events, seconds: float | None) -> None:
        self._events = events
        self._seconds = math.inf if seconds is None else seconds
        self._end = time.monotonic() + self._seconds
        self.spent = False
        """Whether the time is over."""

    def has_room_for(self, seconds: float) -> bool:
        """Whether something may start.

        What takes longer than the whole budget may start too: it would never fit, and the
        retrainings that it finishes are kept.
        """
        left = self._end - time.monotonic()
        fits = left > 0 and (seconds <= left or seconds > self._seconds)
        self.spent |= not fits
        return fits

    def emit(self, event: Event) -> None:
        self._events.emit(event)

    def should_stop(self) -> bool:
        self.spent |= time.monotonic() >= self._end
        return self.spent or self._events.should_stop()
