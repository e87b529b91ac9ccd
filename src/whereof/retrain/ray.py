"""Retraining on a Ray cluster, which is started on this machine or joined."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from whereof.errors import WhereofError, need
from whereof.predict.predictions import Predictions
from whereof.retrain import engine
from whereof.retrain.engine import Job, Recipe, Result, Results, Stop
from whereof.training.results import Parameters

_REACH_SECONDS, _CANCEL_SECONDS = 5.0, 10.0
_RETRIES = 20  # how often a retraining is tried again after its worker dies


class RayEngine(engine.Engine):
    """Retrains on a Ray cluster: one task per retraining, retried if a worker dies.

    Facts and predictions are sent once. A cluster that was started here ends with the engine or the
    process. A cluster that was joined keeps running.
    """

    def __init__(self, address: str | None = None, threads: int | None = None) -> None:
        self._ray = ray = _import_ray()
        self._connected_here = not ray.is_initialized()
        if self._connected_here:
            _connect(ray, address, threads or os.cpu_count() or 1)
        elif address not in (None, "auto", "local", ray.get_runtime_context().gcs_address):
            here = f"this process is connected to {ray.get_runtime_context().gcs_address}"
            raise WhereofError(f"ray_address is {address!r}, and {here}; leave it out")
        cores = int(ray.cluster_resources().get("CPU", 0))
        if not cores:
            raise WhereofError(
                "the Ray cluster has no CPU cores; add a machine, or choose engine local"
            )
        self.at_once = min(threads or cores, cores)
        # A few more tasks than cores, so that the next ones wait at the workers.
        self._in_flight = 2 * self.at_once if self.at_once == cores else self.at_once
        self._task = ray.remote(num_cpus=1, max_retries=_RETRIES)

    def close(self) -> None:
        if self._connected_here:
            self._ray.shutdown()

    @property
    def identity(self) -> str:
        return f"ray {self._machine}"

    @cached_property
    def _machine(self) -> str:
        """The identity of a worker's machine; all workers must have the same."""
        try:
            return str(self._ray.get(self._task(engine.machine_identity).remote()))
        except self._ray.exceptions.RayError as error:
            raise WhereofError(
                f"Ray's workers cannot run whereof ({_last_line(error)}); "
                "install the same version of it on every machine of the cluster"
            ) from None

    def describe(self) -> str:
        processor = self._ray.get(self._task(engine.processor_name).remote())
        return f"Ray, {processor}, {self.at_once} core{'s' * (self.at_once > 1)}"

    def retrain(
        self, recipe: Recipe, jobs: Sequence[Job], predictions: Predictions | None, stop: Stop
    ) -> Results:
        task, machine = self._task(_retrain), self._machine
        shared, running = [self._ray.put((recipe, predictions))], dict[Any, int]()
        try:
            for number, reference in engine.run_jobs(
                running,
                jobs,
                self._in_flight,
                lambda job: task.remote(shared, job, machine),
                lambda: self._ray.wait([*running], timeout=engine.LOOK_SECONDS),
                stop,
            ):
                yield number, self._result(reference)
        finally:
            self._cancel([*running])

    def _result(self, reference: Any) -> Result:
        """The result of a task; errors of the worker are raised again here."""
        errors = self._ray.exceptions
        try:
            found: Result = self._ray.get(reference)
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.RayError as error:
            raise WhereofError(
                f"Ray gave up on a retraining ({_last_line(error)}); finished ones are kept: "
                "run it again, or choose engine local"
            ) from None
        # Kernels would compile again for Ray's read-only arrays.
        return Parameters(*map(np.copy, found)) if isinstance(found, Parameters) else found

    def _cancel(self, references: list[Any]) -> None:
        """Cancel all tasks; a task stops when its kernel returns."""
        ray = self._ray
        for force in (False, True):
            if not references or not ray.is_initialized():
                return
            for reference in references:
                ray.cancel(reference, force=force)
            _, references = ray.wait(
                references, num_returns=len(references), timeout=_CANCEL_SECONDS
            )


def _retrain(shared: list[Any], job: Job, machine: str) -> Result:
    """Run one retraining in a worker."""
    mine = engine.machine_identity()
    if mine != machine:
        raise WhereofError(
            f"machines of the Ray cluster differ: {mine!r} is not {machine!r}, so "
            "their retrainings cannot be compared; give it one kind of processor and one version "
            "of whereof"
        )
    recipe, predictions = _shared(shared[0])
    return job.result(recipe.retrain(job.removed, factor=job.factor), predictions)


@lru_cache(maxsize=1)
def _shared(reference: Any) -> tuple[Recipe, Predictions | None]:
    """Data that all retrainings share, cached in the worker."""
    recipe, predictions = _import_ray().get(reference)
    recipe = replace(recipe, problem=_own(recipe.problem))
    return recipe, None if predictions is None else _own(predictions)


def _own(record: Any) -> Any:
    """Copy a record's arrays: kernels would compile again for Ray's read-only ones."""
    values = {item.name: getattr(record, item.name) for item in fields(record)}
    arrays = {name: it.copy() for name, it in values.items() if isinstance(it, np.ndarray)}
    return replace(record, **arrays)


def _import_ray() -> Any:
    # Ray reads this on import: it gives up on a missing cluster after one minute instead of
    # fifteen.
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")
    return need("ray", "ray", "engine ray")


def _connect(ray: Any, address: str | None, cores: int) -> None:
    """Start a cluster on this machine, or join the one at an address."""
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    before = signal.getsignal(signal.SIGTERM)
    try:
        if address is None:
            options |= {"num_cpus": cores, "include_dashboard": False}
        else:
            _reach(address)
        ray.init(address="local" if address is None else address, **options)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)  # Ray has installed its own handler
    except Exception as error:
        why = _last_line(error)
        if address is None:
            raise WhereofError(f"Ray does not start here ({why}); choose engine local") from None
        raise WhereofError(
            f"no Ray cluster at {address!r} ({why}); give host:port of its head, such as "
            "10.0.0.5:6379, or none to start one on this machine"
        ) from None


def _reach(address: str) -> None:
    """Raise an error if an address does not answer; Ray itself would wait for minutes."""
    if not address:
        raise ValueError("it is empty")
    host, _, port = address.rpartition(":")
    if port.isdecimal() and "//" not in host:
        socket.create_connection((host.strip("[]"), int(port)), _REACH_SECONDS).close()


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip().rstrip(".") if lines else type(error).__name__
