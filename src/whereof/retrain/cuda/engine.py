"""Retraining on a CUDA GPU: many models at a time, one block of threads each."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from whereof.errors import Interrupted
from whereof.predict.predictions import Predictions
from whereof.retrain import engine
from whereof.retrain.cuda.card import Card, open_card, unfit
from whereof.retrain.cuda.fleet import Fleet, make_waves, prefix_lengths
from whereof.retrain.cuda.layout import Sizes, draw_bytes, plan_layout
from whereof.retrain.cuda.memory import Memory
from whereof.retrain.cuda.source import model_source
from whereof.retrain.engine import Engine, Job, Recipe, Result, Results, Stop
from whereof.training.problem import Problem

_LOOK_SECONDS, _PROBE_SECONDS = 0.5, 0.2
_ROUNDING = 2
"""Raise it when a kernel adds in another order: stored retrainings are then done again."""
_SPARE_BYTES = 1 << 29  # GPU memory for copies of rows on their way


def check_problem(problem: Problem, card: Card, *, tracked: bool = False) -> None:
    """Raise an error that names the setting, if the CUDA kernels cannot train the problem."""
    config, sizes = problem.config, Sizes.of(problem)
    if config.phases:
        raise unfit("a run that was updated does not train on CUDA: choose engine local")
    if config.batch_size > 1:
        what = f"batch_size {config.batch_size} does not run on CUDA, which trains fact by fact"
        raise unfit(f"{what}; choose batch_size 1")
    if tracked and config.forgets:
        raise unfit("credit forget does not run on CUDA; choose credit source")
    if config.optimizer == "adam" and config.schedule != "constant":
        what = f"optimizer adam with schedule {config.schedule} does not run on CUDA"
        raise unfit(f"{what}; choose schedule constant or optimizer adam-lazy")
    if draw_bytes(problem) > card.limits.block_bytes:
        what = f"sampling independent with {sizes.most - 1} negatives does not fit into the GPU's"
        raise unfit(f"{what} shared memory; choose sampling distinct")
    plan_layout(sizes, card.limits)
    model_source(problem.model)
    memory, free = Memory.of(problem, tracked=tracked), card.free_bytes()
    if not memory.n_models(free):
        needed = (memory.of_model + memory.shared) / 1e9
        what = f"training needs {needed:.1f} GB of GPU memory, and {free / 1e9:.1f} GB are free"
        raise unfit(f"{what}; choose a lower dim")


class CudaEngine(Engine):
    """One GPU; models that do not fit into its memory together run in waves."""

    device = "cuda"

    def __init__(self, card: Card | None = None) -> None:
        self._card = open_card() if card is None else card
        self.at_once = self._card.limits.n_processors  # for the problem that was asked for last

    @property
    def identity(self) -> str:
        return f"cuda {_ROUNDING} {self._card.identity} {engine.machine_identity()}"

    def describe(self) -> str:
        return f"{self._card.name}, {engine.processor_name()}"

    def seconds_for(self, recipe: Recipe, n_retrainings: int) -> float:
        """Estimated seconds, an upper bound: how much the models share is not known yet."""
        size = self._wave_size(recipe.problem)
        n_whole, left = divmod(n_retrainings, size)
        whole = n_whole * self._probe(recipe, size) if n_whole else 0.0
        return whole + (self._probe(recipe, left) if left else 0.0)

    def _probe(self, recipe: Recipe, n_models: int) -> float:
        """Measure the seconds of one wave."""
        fleet = Fleet(self._card, recipe.problem, [np.zeros(0, np.int64)] * n_models)
        stretches = fleet.train(recipe.n_facts, _PROBE_SECONDS / 4)
        n_facts, spent = next(stretches)  # the first also loads the kernels: not counted
        for number, (n, seconds) in enumerate(stretches):
            n_facts, spent = (n_facts + n, spent + seconds) if number else (n, seconds)
            if spent > _PROBE_SECONDS:
                break
        return spent * recipe.n_facts / n_facts

    def retrain(
        self, recipe: Recipe, jobs: Sequence[Job], predictions: Predictions | None, stop: Stop
    ) -> Results:
        lengths = prefix_lengths(recipe, [job.removed for job in jobs])
        size, state = self._wave_size(recipe.problem), None
        in_order = predictions is None  # rows are large, and are handed on in the order of the jobs
        for wave in make_waves(lengths, size, in_order=in_order):
            if state and state.n_facts > lengths[wave].min():
                state = None
            mine = [jobs[number] for number in wave]
            factors = [job.factor for job in mine] if any(job.factor for job in mine) else None
            fleet = Fleet(
                self._card,
                recipe.problem,
                [job.removed for job in mine],
                factors,
                prefix=lengths[wave],
                state=state,
            )
            for _ in fleet.train(recipe.n_facts, _LOOK_SECONDS):
                if stop():
                    raise Interrupted("retraining was interrupted")
            fleet.settle()
            state = fleet.prefix_state
            yield from _results(fleet, jobs, wave, predictions)
            del fleet  # free the memory before the next wave needs it

    def _wave_size(self, problem: Problem) -> int:
        """Number of jobs that run together: what the processors or the memory can take."""
        card = self._card
        check_problem(problem, card)
        slots = plan_layout(Sizes.of(problem), card.limits).slots(card.limits)
        room = Memory.of(problem).n_models(card.free_bytes() - _SPARE_BYTES)
        self.at_once = max(min(slots, room), 1)
        return self.at_once


def _results(
    fleet: Fleet, jobs: Sequence[Job], wave: NDArray[np.int64], predictions: Predictions | None
) -> Results:
    """The result of every model; one that diverged raises once the others are handed on."""

    def result(model: int) -> tuple[int, Result]:
        number = int(wave[model])
        return number, jobs[number].result(fleet.rows(model), predictions)

    finite = fleet.finite()
    models = np.flatnonzero(finite).tolist()
    if predictions is None:
        yield from map(result, models)  # one at a time, because rows are large
    else:
        with ThreadPoolExecutor() as pool:
            yield from pool.map(result, models)
    if not finite.all():
        raise engine.diverged(jobs[int(wave[~finite].min())].removed)
