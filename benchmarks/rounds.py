"""Times contenders in interleaved rounds, so that noise affects all of them alike."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WARM_STEPS = 100
"""Number of untimed steps before the timed ones: they bring the rows back into the cache."""


@dataclass(frozen=True)
class Contender:
    """Something that takes training steps."""

    name: str
    advance: Callable[[int], None]
    """Takes the given number of steps."""
    part: int = 1
    """It takes 1/part of the steps of a round; for slow contenders."""


@dataclass(frozen=True)
class Plan:
    """The number of timed steps and of rounds."""

    steps: int
    rounds: int

    @property
    def timed(self) -> int:
        """Number of timed steps in a round."""
        return max(self.steps // self.rounds, 1)

    def steps_of(self, part: int) -> tuple[int, int]:
        """Number of untimed and of timed steps in a round."""
        return max(WARM_STEPS // part, 1), max(self.timed // part, 1)

    def total(self, part: int = 1) -> int:
        """Number of all steps, with the untimed ones."""
        return sum(self.steps_of(part)) * self.rounds


@dataclass(frozen=True)
class Times:
    """Microseconds per step, one number for each round."""

    name: str
    micros: NDArray[np.float64]

    @property
    def best(self) -> float:
        return float(self.micros.min())

    @property
    def median(self) -> float:
        return float(np.median(self.micros))

    def over(self, other: "Times") -> "Ratio":
        """The ratio to another's time, compared within each round."""
        low, middle, high = np.quantile(self.micros / other.micros, (0.25, 0.5, 0.75))
        return Ratio(float(low), float(middle), float(high))


@dataclass(frozen=True)
class Ratio:
    """Quartiles of the ratios of all rounds."""

    low: float
    median: float
    high: float


def measure(contenders: Sequence[Contender], plan: Plan) -> list[Times]:
    """Time all contenders; each round starts with another one."""
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
    """Microseconds per step in one round."""
    untimed, timed = plan.steps_of(contender.part)
    contender.advance(untimed)
    start = time.perf_counter()
    contender.advance(timed)
    return (time.perf_counter() - start) / timed * 1e6
