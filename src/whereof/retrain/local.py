"""Retraining on this machine with threads: the kernels run without the GIL."""

import os
import platform
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path

import numba
from llvmlite.binding import get_host_cpu_name

from whereof.errors import Interrupted
from whereof.predict.standing import Predictions, Standings
from whereof.retrain.engine import Job
from whereof.retrain.recipe import Recipe
from whereof.training.results import Parameters

_LOOK_SECONDS = 0.2
_PROBE_SECONDS = 0.3


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


def seconds_on_cores(recipe: Recipe, n_retrainings: int, n_cores: int) -> float:
    """Estimated seconds for a number of retrainings: a short probe at full parallelism."""
    recipe.probe(0)  # loads the kernels
    n_probes = min(n_cores, n_retrainings, os.cpu_count() or 1)
    with ThreadPoolExecutor(n_probes) as pool:
        each = sum(pool.map(recipe.probe, [_PROBE_SECONDS] * n_probes)) / n_probes
    return each * -(-n_retrainings // n_cores)


class LocalEngine:
    """Retrains on all CPU cores, or on `threads`. Threads share the facts without copies."""

    device = "cpu"

    def __init__(self, threads: int | None = None) -> None:
        self.at_once = threads or os.cpu_count() or 1

    @property
    def identity(self) -> str:
        return f"local {machine_identity()}"

    def describe(self) -> str:
        """See `Engine`."""
        n_cores = os.cpu_count() or 1
        some = "" if self.at_once >= n_cores else f"{self.at_once} of "
        return f"{processor_name()}, {some}{n_cores} core{'s' * (n_cores > 1)}"

    def seconds_for(self, recipe: Recipe, n_retrainings: int) -> float:
        """See `Engine`."""
        return seconds_on_cores(recipe, n_retrainings, self.at_once)

    def retrain(
        self,
        recipe: Recipe,
        jobs: Sequence[Job],
        predictions: Predictions | None,
        should_stop: Callable[[], bool],
    ) -> Generator[tuple[int, Standings | Parameters], None, None]:
        """See `Engine`."""
        stopped = threading.Event()

        def train(number: int) -> tuple[int, Standings | Parameters]:
            job = jobs[number]
            rows = recipe.retrain(job.removed, stopped.is_set)
            return number, job.result(rows, predictions)

        pool, waiting = ThreadPoolExecutor(self.at_once), iter(range(len(jobs)))
        running: set[Future[tuple[int, Standings | Parameters]]] = set()
        try:
            while True:
                more = islice(waiting, 2 * self.at_once - len(running))
                running |= {pool.submit(train, number) for number in more}
                if not running:
                    return
                done, running = wait(running, _LOOK_SECONDS, FIRST_COMPLETED)
                for finished in done:
                    yield finished.result()
                if should_stop():
                    raise Interrupted("retraining was interrupted")
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)

    def close(self) -> None:
        """See `Engine`."""
