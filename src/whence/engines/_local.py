"""Retraining on this machine: threads over kernels that do not hold the interpreter's lock."""

import os
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from llvmlite.binding import get_host_cpu_name

from whence._jit import source_digest
from whence.engines._protocol import Job
from whence.predict import Predictions, Standings
from whence.training.results import Interrupted, Parameters
from whence.training.retraining import Recipe

_LOOK_SECONDS = 0.2


def machine_identity() -> str:
    """What rounding depends on: the kernels and the processor they are compiled for."""
    return f"{source_digest()} {get_host_cpu_name()}"


class LocalEngine:
    """All cores of this machine, or so many threads; they share the facts and copy nothing."""

    def __init__(self, threads: int | None = None) -> None:
        self.at_once = threads or os.cpu_count() or 1

    @property
    def identity(self) -> str:
        return f"local {machine_identity()}"

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
