"""Retraining on a CUDA card: a fleet of models, one block of threads each."""

from collections.abc import Callable, Generator, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from whence._jit import source_digest
from whence.engines._local import processor_name
from whence.engines._protocol import Job
from whence.engines.cuda._card import Card, open_card
from whence.engines.cuda._fleet import Fleet
from whence.engines.cuda._layout import Sizes, plan_layout
from whence.engines.cuda._source import check_problem, sources_digest
from whence.predict import Predictions, Standings
from whence.training._problem import Problem
from whence.training.results import Diverged, Interrupted, Parameters
from whence.training.retraining import Recipe

_LOOK_SECONDS, _PROBE_SECONDS = 0.5, 0.2
_SPARE = 0.9
"""Of the free memory; the rest is for steps and results."""
_SCORE_BYTES = 1 << 28


class CudaEngine:
    """One card; models that it has no room for at once run in waves."""

    def __init__(self, card: Card | None = None) -> None:
        self._card = open_card() if card is None else card
        self.at_once = 2 * self._card.limits.n_processors

    @property
    def identity(self) -> str:
        """See `Engine`."""
        return f"cuda {sources_digest()} {source_digest()} {self._card.identity}"

    def describe(self) -> str:
        """See `Engine`."""
        return f"{self._card.name}, {processor_name()}"

    def seconds_for(self, recipe: Recipe, n_retrainings: int) -> float:
        """See `Engine`."""
        if not n_retrainings:
            return 0.0
        sizes = [len(wave) for wave in self._waves(recipe.problem, n_retrainings)]
        each = {size: self._probe(recipe, size) for size in set(sizes)}
        return sum(each[size] for size in sizes)

    def _probe(self, recipe: Recipe, n_models: int) -> float:
        """Seconds of one wave."""
        fleet = Fleet(self._card, recipe.problem, [np.zeros(0, np.int64)] * n_models)
        stretches = fleet.train(recipe.n_facts, _PROBE_SECONDS / 4)
        n_facts, spent = next(stretches)  # which loads the kernels, and counts where it is all
        for number, (n, seconds) in enumerate(stretches):
            n_facts, spent = (n_facts + n, spent + seconds) if number else (n, seconds)
            if spent > _PROBE_SECONDS:
                break
        return spent * recipe.n_facts / n_facts

    def retrain(
        self,
        recipe: Recipe,
        jobs: Sequence[Job],
        predictions: Predictions | None,
        should_stop: Callable[[], bool],
    ) -> Generator[tuple[int, Standings | Parameters], None, None]:
        """See `Engine`."""
        for wave in self._waves(recipe.problem, len(jobs)):
            fleet = Fleet(self._card, recipe.problem, [jobs[number].removed for number in wave])
            for _ in fleet.train(recipe.n_facts, _LOOK_SECONDS):
                if should_stop():
                    raise Interrupted("retraining was interrupted")
            fleet.settle()
            _check_finite(fleet, [jobs[number] for number in wave])
            if predictions is None:
                yield from ((number, fleet.rows(model)) for model, number in enumerate(wave))
            else:
                yield from _stand(fleet, jobs, wave, predictions)
            del fleet  # before the next one asks for its memory

    def _waves(self, problem: Problem, n_models: int) -> list[range]:
        """Jobs that run together: as many as work at a time, or as memory holds."""
        check_problem(problem)
        slots = plan_layout(Sizes.of(problem), self._card.limits).slots(self._card.limits)
        room = int(_SPARE * self._card.free_bytes()) // Fleet.bytes_each(problem)
        size = max(min(slots, room), 1)
        return [range(first, min(first + size, n_models)) for first in range(0, n_models, size)]

    def close(self) -> None:
        """See `Engine`."""


def _check_finite(fleet: Fleet, jobs: Sequence[Job]) -> None:
    for job, finite in zip(jobs, fleet.finite(), strict=True):
        if not finite:
            raise Diverged(
                f"training without {len(job.removed)} facts diverged; choose a lower rate"
            )


def _stand(
    fleet: Fleet, jobs: Sequence[Job], wave: range, predictions: Predictions
) -> Iterator[tuple[int, Standings]]:
    """How the predictions of every job stand; only scores come back from the card."""
    most = int(np.diff(predictions.candidates, axis=1).max(initial=1))
    for part in _parts(jobs, wave, _SCORE_BYTES // (8 * most)):
        asked = [_asked(predictions, model, jobs[wave[model]]) for model in part]
        scores = fleet.scores(np.concatenate(asked)) if sum(map(len, asked)) else np.zeros((0, 1))
        start = 0
        for model, rows in zip(part, asked, strict=True):
            job, mine = jobs[wave[model]], scores[start : start + len(rows)]
            yield wave[model], predictions.stand_by_scores(mine, job.which, job.removed)
            start += len(rows)


def _parts(jobs: Sequence[Job], wave: range, most: int) -> Iterator[range]:
    """Models of a wave in stretches that look at so many predictions at most, or one model."""
    first, n = 0, 0
    for model, number in enumerate(wave):
        more = len(jobs[number].which)
        if n and n + more > most:
            yield range(first, model)
            first, n = model, 0
        n += more
    yield range(first, len(wave))


def _asked(predictions: Predictions, model: int, job: Job) -> NDArray[np.int32]:
    """(n, 5) what `Fleet.scores` is asked for."""
    places, candidates = predictions.places[job.which], predictions.candidates[job.which]
    models = np.full(len(places), model)
    return np.column_stack([models, places[:, :2], candidates]).astype(np.int32)
