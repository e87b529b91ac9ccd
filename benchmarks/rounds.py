"""Timing contenders side by side: all of them in every round, so that noise meets them alike."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WARM_STEPS = 100
"""Untimed steps before every timed stretch: they bring the contender's tables back into cache."""


@dataclass(frozen=True)
class Contender:
    """Something that takes steps."""

    name: str
    advance: Callable[[int], None]
    """Take that many steps more."""
    part: int = 1
    """It takes 1/part of the steps of a round: for the slow ones."""


@dataclass(frozen=True)
class Plan:
    """How many steps are timed, and in how many rounds."""

    steps: int
    rounds: int

    @property
    def timed(self) -> int:
        """Timed steps of a round."""
        return max(self.steps // self.rounds, 1)

    def steps_of(self, part: int) -> tuple[int, int]:
        """Untimed and timed steps of a round, for a contender that takes 1/part of them."""
        return max(WARM_STEPS // part, 1), max(self.timed // part, 1)

    def total(self, part: int = 1) -> int:
        """All steps, untimed ones included."""
        return sum(self.steps_of(part)) * self.rounds


@dataclass(frozen=True)
class Times:
    """Microseconds a step, one number for every round."""

    name: str
    micros: NDArray[np.float64]

    @property
    def best(self) -> float:
        return float(self.micros.min())

    @property
    def median(self) -> float:
        return float(np.median(self.micros))

    def over(self, other: "Times") -> "Ratio":
        """How many times the other's time this takes, compared within each round."""
        low, middle, high = np.quantile(self.micros / other.micros, (0.25, 0.5, 0.75))
        return Ratio(float(low), float(middle), float(high))


@dataclass(frozen=True)
class Ratio:
    """Quartiles of the ratios of all rounds."""

    low: float
    median: float
    high: float


def measure(contenders: Sequence[Contender], plan: Plan) -> list[Times]:
    """Time all contenders; who begins moves on by one every round."""
    micros = np.zeros((len(contenders), plan.rounds))
    gc.collect()
    gc.disable()
    try:
        for turn in range(plan.rounds):
            for place in range(len(contenders)):
                which = (place + turn) % len(contenders)
                micros[which, turn] = _time(contenders[which], plan)
    finally:
        gc.enable()
    return [Times(c.name, row) for c, row in zip(contenders, micros, strict=True)]


def _time(contender: Contender, plan: Plan) -> float:
    """Microseconds a step over one timed stretch."""
    untimed, timed = plan.steps_of(contender.part)
    contender.advance(untimed)
    start = time.perf_counter()
    contender.advance(timed)
    return (time.perf_counter() - start) / timed * 1e6
