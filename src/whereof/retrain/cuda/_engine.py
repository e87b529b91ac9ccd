"""Retraining on a CUDA card: a fleet of models, one block of threads each."""

from collections.abc import Callable, Generator, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from whereof.errors import Diverged, Interrupted
from whereof.predict.standing import STANDING, Predictions, Standings
from whereof.retrain._local import machine_identity, processor_name
from whereof.retrain._protocol import Job
from whereof.retrain.cuda._card import Card, open_card
from whereof.retrain.cuda._checking import check_problem
from whereof.retrain.cuda._fleet import Fleet
from whereof.retrain.cuda._layout import Sizes, plan_layout
from whereof.retrain.cuda._parting import Parting, find_places, make_waves
from whereof.retrain.cuda._placing import Memory
from whereof.retrain.recipe import Recipe
from whereof.training.problem import Problem
from whereof.training.results import Parameters

_LOOK_SECONDS, _PROBE_SECONDS = 0.5, 0.2
_ROUNDING = 1
"""Raise it when the order of a kernel's sums changes: kept retrainings are not used after that."""
_SCORE_BYTES = 1 << 28
"""Of the scores that are fetched at a time."""


class CudaEngine:
    """One card; models that it has no room for at once run in waves."""

    device = "cuda"

    def __init__(self, card: Card | None = None) -> None:
        self._card = open_card() if card is None else card
        self.at_once = self._card.limits.n_processors
        """Of the problem that was asked for last."""

    @property
    def identity(self) -> str:
        """See `Engine`."""
        return f"cuda {_ROUNDING} {self._card.identity} {machine_identity()}"

    def describe(self) -> str:
        """See `Engine`."""
        return f"{self._card.name}, {processor_name()}"

    def seconds_for(self, recipe: Recipe, n_retrainings: int) -> float:
        """See `Engine`. At most: what models have in common is trained once, and not known yet."""
        size = self._wave_size(recipe.problem)
        n_whole, left = divmod(n_retrainings, size)
        whole = n_whole * self._probe(recipe, size) if n_whole else 0.0
        return whole + (self._probe(recipe, left) if left else 0.0)

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
        places = find_places(recipe, [job.removed for job in jobs])
        size, root = self._wave_size(recipe.problem), None
        as_asked = predictions is None  # rows are large, and wait for all that were asked before
        for wave in make_waves(places, size, as_asked=as_asked):
            if root and root.n_facts > places[wave].min():
                root = None
            removed = [jobs[number].removed for number in wave]
            parting = Parting(places[wave], root)
            fleet = Fleet(self._card, recipe.problem, removed, parting=parting)
            for _ in fleet.train(recipe.n_facts, _LOOK_SECONDS):
                if should_stop():
                    raise Interrupted("retraining was interrupted")
            fleet.settle()
            root = fleet.root
            yield from _results(fleet, jobs, wave, predictions)
            del fleet  # before the next one asks for its memory

    def _wave_size(self, problem: Problem) -> int:
        """Jobs that run together: as many as work at a time, or as memory holds."""
        card = self._card
        check_problem(problem, card)
        slots = plan_layout(Sizes.of(problem), card.limits).slots(card.limits)
        room = Memory.of(problem).n_models(card.free_bytes() - 2 * _SCORE_BYTES)
        self.at_once = max(min(slots, room), 1)
        return self.at_once

    def close(self) -> None:
        """See `Engine`."""


def _results(
    fleet: Fleet, jobs: Sequence[Job], wave: NDArray[np.int64], predictions: Predictions | None
) -> Iterator[tuple[int, Standings | Parameters]]:
    """What is wanted of every model; one that diverged is said when the others are through."""
    finite = fleet.finite()
    models = np.flatnonzero(finite).tolist()
    if predictions is None:
        yield from ((int(wave[model]), fleet.rows(model)) for model in models)
    else:
        for model in models:
            number = int(wave[model])
            yield number, _stand(fleet, model, jobs[number], predictions)
    if len(models) < len(wave):
        job = jobs[int(wave[~finite].min())]
        raise Diverged(f"training without {len(job.removed)} facts diverged; choose a lower rate")


def _stand(fleet: Fleet, model: int, job: Job, predictions: Predictions) -> Standings:
    """How a job's predictions stand; only scores come back from the card."""
    most = int(np.diff(predictions.candidates, axis=1).max(initial=1))
    size, found = max(_SCORE_BYTES // (8 * most), 1), [np.zeros(0, STANDING)]
    for first in range(0, len(job.which), size):
        which = job.which[first : first + size]
        asked = np.column_stack(
            [
                np.full(len(which), model),
                predictions.places[which, :2],
                predictions.candidates[which],
            ]
        )
        scores = fleet.scores(asked.astype(np.int32))
        found.append(predictions.stand_by_scores(scores, which, job.removed))
    return np.concatenate(found)
