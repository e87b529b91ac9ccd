"""What an engine is, which jobs it is given, and which engine is chosen."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whereof.errors import WhereofError
from whereof.predict.standing import Predictions, Standings
from whereof.retrain.options import EngineOptions
from whereof.retrain.recipe import Recipe
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.types import FactIds

Result = Standings | Parameters
Results = Generator[tuple[int, Result], None, None]
Stop = Callable[[], bool]

_PROBE_SECONDS = 0.3
_LARGE_STEP = 1 << 13
"""Numbers in the rows of a step's candidates: below this size one CPU core beats the GPU."""


def removed_key(removed: FactIds) -> str:
    """A hash that identifies a set of removed facts."""
    return blake2b(np.sort(removed).astype("<i8").tobytes(), digest_size=16).hexdigest()


@dataclass(frozen=True, eq=False)
class Job:
    """One retraining and the predictions to score after it."""

    removed: FactIds
    """Ids of the removed facts, distinct and ascending; empty for the control."""
    which: NDArray[np.int64]
    """(n,) positions in the list of predictions."""

    @classmethod
    def of(cls, removed: ArrayLike, which: ArrayLike) -> "Job":
        return cls(np.unique(np.asarray(removed, np.int64)), np.asarray(which, np.int64))

    @classmethod
    def control(cls, n_predictions: int) -> "Job":
        """The control: no fact removed, all predictions scored."""
        return cls.of([], np.arange(n_predictions))

    @property
    def key(self) -> str:
        return removed_key(self.removed)

    def result(self, rows: Parameters, predictions: Predictions | None) -> Result:
        """The result of the job: standings of its predictions or, with None, the rows."""
        if predictions is None:
            return rows
        return predictions.stand(rows, self.which, self.removed)


class Engine(ABC):
    """Somewhere to retrain."""

    device = "cpu"
    """Where to train and to explain with this engine: cpu or cuda."""
    at_once: int
    """Number of retrainings that run at the same time."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """Only retrainings with the same identity can be compared bit by bit."""

    @abstractmethod
    def describe(self) -> str:
        """A short description of the machine: processor and cores, or GPU."""

    def seconds_for(self, recipe: Recipe, n_retrainings: int) -> float:
        """Estimated seconds for a number of retrainings, from a short probe on all cores."""
        recipe.probe(0)  # loads the kernels
        n_probes = min(self.at_once, n_retrainings, os.cpu_count() or 1)
        with ThreadPoolExecutor(n_probes) as pool:
            each = sum(pool.map(recipe.probe, [_PROBE_SECONDS] * n_probes)) / n_probes
        return each * -(-n_retrainings // self.at_once)

    @abstractmethod
    def retrain(
        self, recipe: Recipe, jobs: Sequence[Job], predictions: Predictions | None, stop: Stop
    ) -> Results:
        """Run the jobs; yield (number, result) in the order in which they finish.

        The result is the standings of the job's predictions or, with None, all rows. Raises
        `Interrupted` if `stop` returns true. When it ends or is closed, nothing keeps running.
        """

    def close(self) -> None:  # noqa: B027 - most engines hold nothing
        """Release resources such as a cluster. The engine cannot be used afterwards."""


def choose_engine(options: EngineOptions) -> Engine:
    """The engine that options name; auto means the cores of this machine."""
    if options.engine == "cuda":
        from whereof.retrain.cuda.engine import CudaEngine

        return CudaEngine()
    if options.engine == "ray":
        from whereof.retrain.ray import RayEngine

        return RayEngine(options.ray_address, options.threads)
    from whereof.retrain.local import LocalEngine

    return LocalEngine(options.threads)


def settle_engine(options: EngineOptions, problem: Problem) -> EngineOptions:
    """Replace engine auto: by cuda where a GPU is there and faster, else by local."""
    if options.engine != "auto":
        return options
    faster = options.threads is None and _is_faster_on_gpu(problem)
    return options.replace(engine="cuda" if faster else "local")


def _is_faster_on_gpu(problem: Problem) -> bool:
    """Whether a GPU is there, can train this problem, and is faster than the cores."""
    from whereof.retrain.cuda.card import open_card
    from whereof.retrain.cuda.engine import check_problem

    if max(problem.draw.objects[2], 1) * problem.widths.entity < _LARGE_STEP:
        return False
    try:
        check_problem(problem, open_card())
    except WhereofError:
        return False
    return True
