"""Progress of long work as events: subclass `Events` to show progress or to stop the work."""

import time
from collections.abc import Mapping
from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True):
    """Something that happened. Rooms may define their own kinds."""


class Note(Event, frozen=True):
    """A sentence for the user."""

    text: str


class Downloading(Event, frozen=True):
    """Bytes of a dataset have arrived."""

    url: str
    n_done: int
    n_total: int | None
    """None if the server does not say."""


class Compiling(Event, frozen=True):
    """Kernels are being compiled. This happens once on a machine."""


class TrainingStarted(Event, frozen=True):
    """Training is about to start, or to continue."""

    run: str
    n_valid: int
    config: Mapping[str, Any]
    notes: tuple[str, ...]
    trace_shape: tuple[int, int]
    trace_bytes: int
    trace_mapped: bool
    valid_fraction: float = 0.0
    """The share of the facts that was asked for as validation facts."""


class TrainingAdvanced(Event, frozen=True):
    """The model was trained on more facts. Facts are counted over all epochs."""

    n_done: int
    n_total: int
    epoch: int
    n_epochs: int
    loss: float
    """Mean of the current epoch."""
    share: float
    """Between 0 and 1: how much of the work, or of the time budget, is done."""
    facts_per_second: float
    seconds_left: float
    """If training does not stop early; the time budget is taken into account."""
    may_stop_early: bool


class Validated(Event, frozen=True):
    """An epoch was validated."""

    epoch: int
    n_epochs: int
    metric: str
    value: float
    best: bool


class Foreseen(Event, frozen=True):
    """Several rounds of retraining will follow: an upper bound for all of them."""

    n_retrainings: int
    others: float = 0.0
    """The cost of other work, such as a sweep, in trainings on one core."""


class Planned(Event, frozen=True):
    """One round of retraining is about to start."""

    n_retrainings: int
    n_known: int
    """Retrainings whose results are stored already."""
    seconds: float
    """Estimated by a short probe."""
    at_once: int


class SweepsPlanned(Event, frozen=True):
    """Sweeps through training are about to start."""

    n_sweeps: int
    seconds: float
    """Estimated from the time that training took."""


class Advanced(Event, frozen=True):
    """Some of the work is done."""

    n_done: int
    n_total: int
    noun: str
    """What is counted, in the plural: retrainings, predictions, queries."""


class StageStarted(Event, frozen=True):
    """One of several parts of the work is about to start."""

    number: int
    n_stages: int
    title: str


class Rounds:
    """Adds up rounds of retraining and other work: one share of all that never falls."""

    def __init__(self) -> None:
        self._foreseen: Foreseen | None = None
        self._plan: Planned | None = None
        self._n_before = self._n_retrained = 0
        self._others = 0.0
        """How much of the other work that was foreseen is done."""
        self._pass, self._part = "", 0.0
        self._pass_start = self._start = self._share = 0.0

    def add(self, event: Foreseen | Planned) -> Planned | None:
        """Take an event; the first round of several gives a plan for all of them, at most."""
        if isinstance(event, Foreseen):
            self._foreseen, self._plan = event, None
            self._n_before, self._n_retrained, self._others = 0, 0, 0.0
            self._start, self._pass = self._share, ""
            return None
        first = self._plan is None
        self._n_before += 0 if self._plan is None else self._plan.n_retrainings
        self._plan = event
        if self._foreseen is None:
            self._start = self._share
            return None
        if event.n_retrainings > 1:  # the control alone may come before the other work
            self._others = self._foreseen.others
        if not first:
            return None
        n_all = self._foreseen.n_retrainings
        mine, whole = (-(-n // event.at_once) for n in (event.n_retrainings, n_all))
        n_rounds = whole + self._foreseen.others / event.at_once
        return Planned(n_all, 0, event.seconds / mine * n_rounds, event.at_once)

    @property
    def several(self) -> bool:
        """Whether several rounds were foreseen."""
        return self._foreseen is not None

    @property
    def retrained_text(self) -> str:
        """The retrainings of all rounds so far, if several were foreseen; empty otherwise."""
        if self._foreseen is None:
            return ""
        return f"{self._n_retrained:,} of at most {self._foreseen.n_retrainings:,} retrainings"

    def share(self, n_done: int, n_total: int, noun: str = "retrainings") -> float:
        """How much of all work is done, between 0 and 1.

        Nobody knows how many passes through other work there are: each takes half of what is left.
        """
        part, foreseen = n_done / n_total if n_total else 0.0, self._foreseen
        if self._plan is not None and n_total == self._plan.n_retrainings:
            self._n_retrained = self._n_before + n_done
        else:
            if noun != self._pass or part < self._part:
                self._pass_start = self._others if foreseen else self._share
            self._pass, self._part = noun, part
            left = (foreseen.others if foreseen else 1.0) - self._pass_start
            self._others, part = self._pass_start + left * part / 2, 0.0
            if foreseen is None:
                self._start = self._others
        if foreseen is not None:
            part = (self._others + self._n_retrained) / (foreseen.n_retrainings + foreseen.others)
        share = min(self._start + (1 - self._start) * part, 1.0)
        self._share = max(self._share, share)
        return self._share


class Events:
    """Receives the events of long work and may stop it.

    This class ignores all events. Subclass it to show progress, to keep a log or to stop.
    """

    def emit(self, event: Event) -> None:
        """Called with every event."""

    def should_stop(self) -> bool:
        """Called often. If it returns True, the work saves what it has and raises `Interrupted`."""
        return False


class Limited(Events):
    """Ignores all events, and stops the work after some seconds, or when another asks for it."""

    def __init__(self, events: Events, seconds: float) -> None:
        self._events, self._end = events, time.monotonic() + seconds

    def should_stop(self) -> bool:
        return time.monotonic() > self._end or self._events.should_stop()


class Without(Events):
    """Passes on all events except some kinds."""

    def __init__(self, events: Events, *kinds: type[Event]) -> None:
        self._events, self._kinds = events, kinds

    def emit(self, event: Event) -> None:
        if not isinstance(event, self._kinds):
            self._events.emit(event)

    def should_stop(self) -> bool:
        return self._events.should_stop()
