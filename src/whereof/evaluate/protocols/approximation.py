"""Approximation: compare rollback's prediction with retraining, for one removed fact."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whereof.chart import Chart, Points
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import PAPER, Protocol, Retrainings, SampleSize
from whereof.evaluate.sample import Sample, Task
from whereof.evaluate.statistics import Interval, pearson, pearson_interval
from whereof.retrain.engine import Job
from whereof.table import Column
from whereof.units import is_number, show

_METHOD = "rollback"


@dataclass(frozen=True)
class Approximation:
    """Predicted against actual probability without the fact that rollback ranks first."""

    constraint: Annotated[str, Column("", "constraint")]
    n_points: Annotated[int, Column("", "points", "count")]
    pearson_probability: Annotated[float, Column("", "r of {quantities}", "correlation")]
    """Of the predicted and the actual probability, as in the paper."""
    pearson_change: Annotated[float, Column("", "r of changes", "correlation")]
    """Of the predicted and the actual change, which is harder."""
    lipschitz: Annotated[float, Column("", "Lipschitz", "number")]
    """The largest slope of the score during training; the mean over seeds."""
    points: tuple[tuple[float, float, float], ...] = field(repr=False)
    """Original, predicted and actual probability."""
    pearson_probability_interval: Interval | None = None
    pearson_probability_seeds: tuple[float, ...] = ()
    pearson_change_interval: Interval | None = None
    pearson_change_seeds: tuple[float, ...] = ()
    lipschitz_seeds: tuple[float, ...] = ()


class ApproximationProtocol(Protocol):
    """See `docs/protocols/approximation.md`."""

    name = "approximation"
    title = "Predicted against actual"
    citation = PAPER
    fields: ClassVar[Mapping[str, Any]] = {"approximation": tuple[Approximation, ...]}
    uses = (_METHOD,)
    options = ("constraints",)
    note = (
        "Without the one fact that rollback ranks first. r: Pearson's correlation of predicted "
        "and actual. Lipschitz: the largest slope of the score during training."
    )

    def variants(self, options: EvaluateOptions) -> Mapping[str, Mapping[str, Any]]:
        return {name: {"constraint": name} for name in options.constraints or ()}

    def count(self, options: EvaluateOptions, size: SampleSize) -> Retrainings:
        return Retrainings(adjacent=size.n_predictions)

    def jobs(self, sample: Sample, options: EvaluateOptions) -> list[Job]:
        firsts = sample.rank(_METHOD, 1)
        return [Job.of(ids, [number]) for number, ids in enumerate(firsts) if len(ids)]

    def run(self, task: Task) -> Mapping[str, Any]:
        """One row per constraint; points of all seeds are put together."""
        own = {task.seeds[0].case.trained.config.constraint: task.seeds}
        return {
            "approximation": tuple(
                _row(constraint, samples, [self._points(sample, task) for sample in samples], task)
                for constraint, samples in (task.variants or own).items()
            )
        }

    def _points(self, sample: Sample, task: Task) -> NDArray[np.float64]:
        """(n, 3) original, predicted and actual probability of one seed."""
        jobs = self.jobs(sample, task.options)
        outcomes = sample.ask(jobs)
        numbers = [int(job.which[0]) for job in jobs]
        predicted = [
            float(sample.without(number, [job.removed])[0])
            for number, job in zip(numbers, jobs, strict=True)
        ]
        task.record(sample, jobs, outcomes, _METHOD, 1, predicted=predicted)
        original = sample.outputs(outcomes.control)[numbers]
        actual = [sample.outputs(standings)[0] for standings in outcomes.jobs]
        return np.array([original, predicted, actual], np.float64).T

    def sentences(self, found: Evaluation) -> Iterator[str]:
        for row in found.approximation:
            if is_number(row.pearson_probability) and is_number(row.pearson_change):
                yield (
                    f"With {_words(row.constraint)}, predicted and actual {found.quantities} "
                    f"correlate with r = {show(row.pearson_probability, 'correlation')}, their "
                    f"changes with r = {show(row.pearson_change, 'correlation')}."
                )
        known = [row for row in found.approximation if is_number(row.pearson_probability)]
        if len(known) > 1:
            steep = max(known, key=lambda row: float(row.lipschitz))
            flat = min(known, key=lambda row: float(row.lipschitz))
            rises = flat.pearson_probability > steep.pearson_probability
            yield (
                f"From {_words(steep.constraint)} to {_words(flat.constraint)}, the slope of the "
                f"score falls from {show(steep.lipschitz, 'number')} to "
                f"{show(flat.lipschitz, 'number')}, and r {'rises' if rises else 'does not rise'}: "
                f"{show(steep.pearson_probability, 'correlation')} to "
                f"{show(flat.pearson_probability, 'correlation')}."
            )

    def charts(self, found: Evaluation) -> Iterator[Chart]:
        x, y = (
            Column(name, f"{name} {found.quantity}", "probability")
            for name in ("predicted", "actual")
        )
        panels = [
            Points(
                _words(row.constraint).capitalize(),
                [(predicted, actual) for _, predicted, actual in row.points],
                f"r {show(row.pearson_probability, 'correlation')}, "
                f"Lipschitz {show(row.lipschitz, 'number')}",
            )
            for row in found.approximation
        ]
        title = f"{found.quantity.capitalize()} without the fact: predicted and actual"
        yield Chart("approximation", title, panels, x, y)


PROTOCOL = ApproximationProtocol()


def _row(
    constraint: str, samples: Sequence[Sample], points: Sequence[NDArray[np.float64]], task: Task
) -> Approximation:
    """One constraint; the points are those of every seed."""
    seed, every = task.options.seed, np.concatenate(points)
    values = [mine[:, 1:] for mine in points]
    changes = [mine[:, 1:] - mine[:, :1] for mine in points]
    slopes = tuple(float(sample.case.result["lipschitz"]) for sample in samples)
    return Approximation(
        constraint=constraint,
        n_points=len(every),
        pearson_probability=pearson(*np.concatenate(values).T),
        pearson_change=pearson(*np.concatenate(changes).T),
        lipschitz=float(np.mean(slopes)),
        points=tuple((row[0], row[1], row[2]) for row in every.tolist()),
        pearson_probability_interval=pearson_interval(values, seed),
        pearson_probability_seeds=tuple(pearson(*mine.T) for mine in values),
        pearson_change_interval=pearson_interval(changes, seed),
        pearson_change_seeds=tuple(pearson(*mine.T) for mine in changes),
        lipschitz_seeds=slopes,
    )


def _words(constraint: str) -> str:
    """A norm constraint in words."""
    if constraint.startswith("max:"):
        return f"maximum norm {constraint[4:]}"
    return {"none": "no constraint", "unit": "unit norm"}.get(constraint, constraint)
