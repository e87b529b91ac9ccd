"""Retraining on this machine with threads: the kernels run without the GIL."""

import os
import platform
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path

import numba
from llvmlite.binding import get_host_cpu_name

from whereof.errors import Interrupted
from whereof.predict.standing import Predictions
from whereof.retrain.engine import Engine, Job, Result, Results, Stop
from whereof.retrain.recipe import Recipe

_LOOK_SECONDS = 0.2


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
    """Retrains on all CPU cores, or on `threads`. Threads share the facts without copies."""

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
        stopped = threading.Event()

        def train(number: int) -> tuple[int, Result]:
            job = jobs[number]
            rows = recipe.retrain(job.removed, stopped.is_set)
            return number, job.result(rows, predictions)

        pool, waiting = ThreadPoolExecutor(self.at_once), iter(range(len(jobs)))
        running: set[Future[tuple[int, Result]]] = set()
        try:
            while True:
                more = islice(waiting, 2 * self.at_once - len(running))
                running |= {pool.submit(train, number) for number in more}
                if not running:
                    return
                done, running = wait(running, _LOOK_SECONDS, FIRST_COMPLETED)
                for finished in done:
                    yield finished.result()
                if stop():
                    raise Interrupted("retraining was interrupted")
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)
