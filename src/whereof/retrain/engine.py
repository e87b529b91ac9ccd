"""Engines: what a retraining repeats, which jobs there are, and where they run."""

import os
import platform
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_name
from numpy.typing import ArrayLike, NDArray

from whereof.errors import Diverged, Interrupted, WhereofError
from whereof.models.scoring import Scorer
from whereof.predict.predictions import Predictions
from whereof.predict.scored import Standings
from whereof.retrain.options import EngineOptions
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.tables import Ledgers
from whereof.training.trainer import Trainer
from whereof.types import FactIds, Facts, Numbers
from whereof.units import count

Result = Standings | Parameters
Results = Generator[tuple[int, Result], None, None]
Stop = Callable[[], bool]

LOOK_SECONDS = 0.2  # seconds between two checks whether to stop
_PROBE_SECONDS = 0.3
_FACTS_PER_CHECK, _FACTS_PER_PROBE = 1 << 16, 1000
_LARGE_STEP = 1 << 13
"""Numbers in the rows of a step's candidates: below this size one CPU core beats the GPU."""


@dataclass(frozen=True)
class Recipe:
    """What every retraining repeats: a problem and the number of facts to train on.

    The number counts over all epochs, up to the epoch that the run kept. Retraining is for the rows
    only: it keeps no trace and no ledgers, and does not validate.
    """

    problem: Problem
    n_facts: int

    def check_extendable(self) -> None:
        """Raise an error if the training cannot be repeated with more facts."""
        if self.problem.config.phases:
            raise WhereofError(
                "an updated run cannot be retrained with added facts; train again on all facts"
            )

    def extended(self, facts: Facts, origins: FactIds) -> "Recipe":
        """The recipe with more facts at the end, weighted and rated like those they are copies of.

        The other facts keep their order and negatives. Remove added facts to train without them.
        """
        self.check_extendable()
        problem, size = self.problem, len(self.problem.facts)

        def longer(values: Numbers | None) -> Any:
            return (
                values if values is None or not len(values) else np.append(values, values[origins])
            )

        more = replace(
            problem,
            facts=np.concatenate([problem.facts, facts]),
            targets=longer(problem.targets),
            weights=longer(problem.weights),
        )
        whole, rest = divmod(self.n_facts, size)
        n_facts = whole * len(more.facts) + round(rest * len(more.facts) / size)
        return Recipe(more, n_facts)

    def retrain(
        self, removed: FactIds, should_stop: Stop = lambda: False, factor: float = 0.0
    ) -> Parameters:
        """Train rows from scratch without some facts, with the same seed, negatives and order.

        factor: of the weights of these facts, if they are not to be removed.
        """
        trainer, done = self._trainer(removed, factor), 0
        while done < self.n_facts:
            if should_stop():
                raise Interrupted("retraining was interrupted")
            done += trainer.advance(min(self.n_facts - done, _FACTS_PER_CHECK))
        rows = trainer.parameters()
        if not (np.isfinite(rows.entity_rows).all() and np.isfinite(rows.relation_rows).all()):
            raise diverged(removed)
        return rows

    def retrain_model(self, trained: Scorer, removed: FactIds, should_stop: Stop) -> Scorer:
        """The trained model as it is without some facts."""
        rows = self.retrain(removed, should_stop)
        return replace(trained, entity_rows=rows.entity_rows, relation_rows=rows.relation_rows)

    def probe(self, seconds: float) -> float:
        """Estimated seconds of one retraining, measured by training for a short time."""
        trainer = self._trainer(np.zeros(0, np.int64))
        trainer.advance(1)  # which also loads kernels and memory: not counted
        before, done, left = time.perf_counter(), 0, max(self.n_facts - 1, 1)
        spent = 0.0
        while not done or (done < left and spent < seconds):
            done += trainer.advance(min(left - done, _FACTS_PER_PROBE))
            spent = time.perf_counter() - before
        return spent * self.n_facts / done

    def _trainer(self, removed: FactIds, factor: float = 0.0) -> Trainer:
        weights = self.problem.weights_without(removed, factor)
        return Trainer(self.problem, weights=weights, ledgers=Ledgers.NONE)


def diverged(removed: FactIds) -> Diverged:
    """The error for rows that are not finite."""
    facts = f"without {count(len(removed), 'fact')}" if len(removed) else "with all facts"
    return Diverged(f"training {facts} diverged; choose a lower rate")


def removed_key(removed: FactIds, factor: float = 0.0) -> str:
    """A hash that identifies a set of removed facts, or of facts with other weights."""
    weighed = np.float64(factor).tobytes() if factor else b""
    facts = np.sort(removed).astype("<i8").tobytes()
    return blake2b(facts + weighed, digest_size=16).hexdigest()


@dataclass(frozen=True, eq=False)
class Job:
    """One retraining and the predictions to score after it."""

    removed: FactIds  # ids of the removed facts, distinct and ascending; empty for the control
    which: NDArray[np.int64]  # (n,) positions in the list of predictions
    factor: float = 0.0  # of the weights of these facts, if they are not removed

    @classmethod
    def of(cls, removed: ArrayLike, which: ArrayLike, factor: float = 0.0) -> "Job":
        return cls(np.unique(np.asarray(removed, np.int64)), np.asarray(which, np.int64), factor)

    @classmethod
    def control(cls, n_predictions: int) -> "Job":
        """The control: no fact removed, all predictions scored."""
        return cls.of([], np.arange(n_predictions))

    @property
    def key(self) -> str:
        return removed_key(self.removed, self.factor)

    def result(self, rows: Parameters, predictions: Predictions | None) -> Result:
        """The result of the job: standings of its predictions or, with None, the rows."""
        if predictions is None:
            return rows
        return predictions.stand(rows, self.which, None if self.factor else self.removed)


class Engine(ABC):
    """Somewhere to retrain."""

    device = "cpu"  # where to train and to explain with this engine: cpu or cuda
    at_once: int  # number of retrainings that run at the same time
    weighs = True  # whether it runs jobs with a factor

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


def run_jobs(
    running: dict[Any, int],
    jobs: Sequence[Job],
    most: int,
    start: Callable[[Job], Any],
    wait: Callable[[], Sequence[Any]],
    stop: Stop,
) -> Iterator[tuple[int, Any]]:
    """Start jobs, at most some at a time; yield the number and the handle of finished ones.

    running: handles of started jobs, for the caller to end them. wait: returns finished ones first.
    """
    waiting = enumerate(jobs)
    while True:
        running |= {start(job): number for number, job in islice(waiting, most - len(running))}
        if not running:
            return
        for handle in wait()[0]:
            yield running.pop(handle), handle
        if stop():
            raise Interrupted("retraining was interrupted")


def machine_identity() -> str:
    """What rounding depends on: the processor that kernels are compiled for, and the compiler."""
    return f"{get_host_cpu_name()} numba {numba.__version__}"


def processor_name() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not on Linux
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(filter(None, named), "") or platform.processor() or platform.machine()


class LocalEngine(Engine):
    """Retrains with threads, on all CPU cores or on `threads`: the kernels run without the GIL."""

    def __init__(self, threads: int | None = None) -> None:
        self.at_once = threads or os.cpu_count() or 1

    @property
    def identity(self) -> str:
        return f"local {machine_identity()}"

    def describe(self) -> str:
        n_cores = os.cpu_count() or 1
        some = "" if self.at_once >= n_cores else f"{self.at_once} of "
        return f"{processor_name()}, {some}{n_cores} core{'s' * (n_cores > 1)}"

    def retrain(
        self, recipe: Recipe, jobs: Sequence[Job], predictions: Predictions | None, stop: Stop
    ) -> Results:
        stopped, pool = threading.Event(), ThreadPoolExecutor(self.at_once)
        running = dict[Any, int]()

        def train(job: Job) -> Result:
            rows = recipe.retrain(job.removed, stopped.is_set, job.factor)
            return job.result(rows, predictions)

        try:
            for number, future in run_jobs(
                running,
                jobs,
                2 * self.at_once,
                lambda job: pool.submit(train, job),
                lambda: wait(running, LOOK_SECONDS, FIRST_COMPLETED),
                stop,
            ):
                yield number, future.result()
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)


def choose_engine(options: EngineOptions) -> Engine:
    """The engine that options name; auto means the cores of this machine."""
    if options.engine == "cuda":
        from whereof.retrain.cuda.engine import CudaEngine

        return CudaEngine()
    if options.engine == "ray":
        from whereof.retrain.ray import RayEngine

        return RayEngine(options.ray_address, options.threads)
    return LocalEngine(options.threads)


def settle_engine(options: EngineOptions, problem: Problem) -> EngineOptions:
    """Replace engine auto: by cuda where a GPU is there, fits and is faster, else by local."""
    from whereof.retrain.cuda.card import open_card
    from whereof.retrain.cuda.engine import check_problem

    if options.engine != "auto":
        return options
    large = max(problem.draw.objects[2], 1) * problem.widths.entity >= _LARGE_STEP
    if options.threads is None and large:
        with suppress(WhereofError):
            check_problem(problem, open_card())
            return options.replace(engine="cuda")
    return options.replace(engine="local")
