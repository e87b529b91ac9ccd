"""Remove a method's facts, retrain, and see whether the probability falls, the answer changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.evaluate.estimates import outputs, rolled_back
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.recording import Recorder, as_ids
from whereof.evaluate.results import Change, Removal, Retraining, Significance, Size
from whereof.evaluate.sample import Sample
from whereof.evaluate.statistics import (
    bootstrap_interval,
    mean_size,
    randomisation_p,
    seeds_mean,
    spread,
)
from whereof.explain import METHODS
from whereof.predict import Standings
from whereof.retrain import Job
from whereof.types import FactIds, Numbers

Cell = tuple[str, Size]
"""A method and a size: one cell of the table."""


@dataclass(frozen=True, eq=False)
class Removed:
    """What became of a sample's predictions in every cell."""

    sample: Sample
    control: Standings
    sets: Mapping[Cell, Sequence[FactIds]]
    after: Mapping[Cell, Standings]

    def dropped(self, cell: Cell) -> Numbers:
        """(n_predictions,) 1 where the probability fell, or the rating."""
        return np.asarray(self.left(cell) < outputs(self.sample, self.control), np.float64)

    def changed(self, cell: Cell) -> Numbers:
        """(n_predictions,) 1 where another answer is on top."""
        return np.asarray(self.after[cell]["top"] != self.control["top"], np.float64)

    def released(self, cell: Cell) -> Numbers:
        """(n_predictions,) as `changed`, if answers that only removed facts had count as new."""
        return np.asarray(self.after[cell]["top_released"] != self.control["top"], np.float64)

    def measured(self, metric: str, cell: Cell) -> Numbers:
        """The values of pd or tc."""
        return self.dropped(cell) if metric == "pd" else self.changed(cell)

    def left(self, cell: Cell) -> Numbers:
        """(n_predictions,) the probability after removal, or the rating."""
        return outputs(self.sample, self.after[cell])

    def sizes(self, cell: Cell) -> NDArray[np.int64]:
        """(n_predictions,) how many facts were removed."""
        return np.array([len(ids) for ids in self.sets[cell]], np.int64)


def remove(sample: Sample, methods: Sequence[str], ks: Sequence[Size]) -> Removed:
    """Retrain without the facts of every method and size, all in one go."""
    sets = _choose_sets(sample, methods, ks)
    outcomes = sample.case.retrainer.ask(sample.predictions, _jobs(sets))
    standings = np.concatenate(outcomes.jobs).reshape(len(sets), -1)
    return Removed(sample, outcomes.control, sets, dict(zip(sets, standings, strict=True)))


def removal_jobs(sample: Sample, methods: Sequence[str], ks: Sequence[Size]) -> list[Job]:
    """The retrainings that `remove` rests on."""
    return _jobs(_choose_sets(sample, methods, ks))


def _choose_sets(
    sample: Sample, methods: Sequence[str], ks: Sequence[Size]
) -> dict[Cell, Sequence[FactIds]]:
    return {
        (method, k): ids
        for method in methods
        for k, ids in choose_facts(sample, method, ks).items()
    }


def _jobs(sets: Mapping[Cell, Sequence[FactIds]]) -> list[Job]:
    return [Job.of(ids, [i]) for found in sets.values() for i, ids in enumerate(found)]


def choose_facts(sample: Sample, method: str, ks: Sequence[Size]) -> dict[Size, Sequence[FactIds]]:
    """The facts that a method would remove for every prediction, by how many."""
    numbers = [k for k in ks if isinstance(k, int)]
    first = sample.rank(method, max(numbers)) if numbers else ()
    return {
        k: [ids[:k] for ids in first] if isinstance(k, int) else _supporting(sample, method)
        for k in ks
    }


def _supporting(sample: Sample, method: str) -> Sequence[FactIds]:
    """All facts that support; of the random method, as many as support by rollback."""
    if method != "random":
        return sample.rank(method, "all")
    if sample.case.trained.trace is None:
        raise WhereofError(
            "random at k all removes as many facts as rollback would, and this run has no trace; "
            "leave all out of k, or train it without --no-trace"
        )
    sizes = [len(ids) for ids in sample.rank("rollback", "all")]
    drawn = sample.rank("random", max(1, *sizes))
    return [ids[:size] for ids, size in zip(drawn, sizes, strict=True)]


def tabulate(found: Sequence[Removed], seed: int) -> Iterator[Removal]:
    """PD and TC of every cell, over all seeds."""
    for cell in found[0].sets:
        pd, tc = ([each.measured(name, cell) for each in found] for name in ("pd", "tc"))
        released = [each.released(cell) for each in found]
        sizes = np.concatenate([each.sizes(cell) for each in found])
        yield Removal(
            method=cell[0],
            k=cell[1],
            pd=seeds_mean(pd),
            pd_interval=bootstrap_interval(pd, seed),
            pd_seeds=_means(pd),
            tc=seeds_mean(tc),
            tc_interval=bootstrap_interval(tc, seed),
            tc_seeds=_means(tc),
            tc_released=seeds_mean(released),
            n_predictions=mean_size(pd),
            n_seeds=len(found),
            removed_mean=float(sizes.mean()),
            removed_std=float(sizes.std()),
            tc_released_interval=bootstrap_interval(released, seed),
            tc_released_seeds=_means(released),
            removed_seeds=_means([each.sizes(cell) for each in found]),
        )


def _means(values: Sequence[NDArray[Any]]) -> tuple[float, ...]:
    """Of every seed."""
    return tuple(float(mine.mean()) for mine in values)


def compare(found: Sequence[Removed], options: EvaluateOptions) -> Iterator[Significance]:
    """Every other method against the baseline, prediction by prediction."""
    queries = [each.sample.queries for each in found]
    for (method, k), (baseline, _) in _pairs(found, options):
        for metric in ("pd", "tc"):
            differences = [
                each.measured(metric, (method, k)) - each.measured(metric, (baseline, k))
                for each in found
            ]
            yield Significance(
                *(method, baseline, k, metric),
                difference=seeds_mean(differences),
                p_value=randomisation_p(differences, options.seed, queries=queries),
                interval=bootstrap_interval(differences, options.seed),
                seeds=_means(differences),
            )


def spread_changes(found: Sequence[Removed], options: EvaluateOptions) -> Iterator[Change]:
    """How much lower every other method leaves the probability than the baseline does."""
    for mine, other in _pairs(found, options):
        lower = np.concatenate([each.left(other) - each.left(mine) for each in found])
        removed = float(np.concatenate([each.sizes(mine) for each in found]).mean())
        yield Change(mine[0], other[0], mine[1], spread(lower), removed)


def _pairs(found: Sequence[Removed], options: EvaluateOptions) -> Iterator[tuple[Cell, Cell]]:
    baseline = str(options.baseline)
    for method, k in found[0].sets:
        if method != baseline:
            yield (method, k), (baseline, k)


def record(found: Removed) -> Iterator[Retraining]:
    """One row for every cell and prediction."""
    recorder = Recorder(found.sample, found.control, "removal")
    for (method, k), sets in found.sets.items():
        predicted = foretell(found.sample, method, sets)
        for number, ids in enumerate(sets):
            yield recorder.record(
                number,
                as_ids(ids),
                found.after[method, k][number],
                method=method,
                k=str(k),
                predicted=predicted[number],
            )


def foretell(sample: Sample, method: str, sets: Sequence[FactIds]) -> Sequence[float | None]:
    """The probability that rolling every prediction's facts back together leaves, or the rating.

    None of a method that ranks facts and foretells neither.
    """
    if not METHODS[method].rolls_back:
        return [None] * len(sets)
    return [float(rolled_back(sample, number, [ids])[0]) for number, ids in enumerate(sets)]
