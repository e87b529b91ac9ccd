"""Approximation: compare rollback's estimate with retraining, for one removed fact."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from whereof.chart import Chart, Points
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import PAPER, Protocol, Retrainings, SampleSize
from whereof.evaluate.sample import Sample, Task
from whereof.evaluate.statistics import Interval, pearson, pearson_interval
from whereof.retrain.engine import Job
from whereof.table import Column
from whereof.types import Numbers
from whereof.units import is_number, show


@dataclass(frozen=True)
class Approximation:
    """Predicted against actual probability without the fact that rollback ranks first."""

    constraint: Annotated[str, Column("", "constraint")]
    n_points: Annotated[int, Column("", "points", "count")]
    pearson_probability: Annotated[float, Column("", "r of {quantities}", "correlation")]
    pearson_change: Annotated[float, Column("", "r of changes", "correlation")]
    lipschitz: Annotated[float, Column("", "Lipschitz", "number")]
    points: tuple[tuple[float, float, float], ...] = field(repr=False)
    """Original, predicted and actual probability."""
    pearson_probability_interval: Interval | None = None
    pearson_probability_seeds: tuple[float, ...] = ()
    pearson_change_interval: Interval | None = None
    pearson_change_seeds: tuple[float, ...] = ()
    lipschitz_seeds: tuple[float, ...] = ()

    @property
    def words(self) -> str:
        """The constraint in words."""
        named = {"none": "no constraint", "unit": "unit norm"}
        return named.get(self.constraint, self.constraint.replace("max:", "maximum norm "))

    @property
    def r(self) -> str:
        return show(self.pearson_probability, "correlation")


class ApproximationProtocol(Protocol):
    """See `docs/protocols/approximation.md`."""

    name = "approximation"
    title = "Predicted against actual"
    citation = PAPER
    fields: ClassVar[Mapping[str, Any]] = {"approximation": tuple[Approximation, ...]}
    uses = ("rollback",)
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
        firsts = sample.rank("rollback", 1)
        return [Job.of(ids, [number]) for number, ids in enumerate(firsts) if len(ids)]

    def run(self, task: Task) -> Mapping[str, Any]:
        """One row per constraint; points of all seeds are put together."""
        own = {task.seeds[0].case.trained.config.constraint: task.seeds}
        rows = (self._row(*each, task) for each in (task.variants or own).items())
        return {"approximation": tuple(rows)}

    def _row(self, constraint: str, samples: Sequence[Sample], task: Task) -> Approximation:
        seed, points = task.options.seed, [self._points(sample, task) for sample in samples]
        values = [mine[:, 1:] for mine in points]
        changes = [mine[:, 1:] - mine[:, :1] for mine in points]
        slopes = tuple(float(sample.case.result["lipschitz"]) for sample in samples)
        return Approximation(
            constraint=constraint,
            n_points=sum(map(len, points)),
            pearson_probability=pearson(*np.concatenate(values).T),
            pearson_change=pearson(*np.concatenate(changes).T),
            lipschitz=float(np.mean(slopes)),
            points=tuple(map(tuple, np.concatenate(points).tolist())),
            pearson_probability_interval=pearson_interval(values, seed),
            pearson_probability_seeds=tuple(pearson(*mine.T) for mine in values),
            pearson_change_interval=pearson_interval(changes, seed),
            pearson_change_seeds=tuple(pearson(*mine.T) for mine in changes),
            lipschitz_seeds=slopes,
        )

    def _points(self, sample: Sample, task: Task) -> Numbers:
        """(n, 3) original, predicted and actual probability of one seed."""
        jobs = self.jobs(sample, task.options)
        points = sample.compare(jobs)
        task.retrain(sample, jobs, "rollback", 1, predicted=points[:, 1].tolist())
        return points

    def sentences(self, found: Evaluation) -> Iterator[str]:
        known = [row for row in found.approximation if is_number(row.pearson_probability)]
        for row in known:
            if is_number(row.pearson_change):
                yield (
                    f"With {row.words}, predicted and actual {found.quantities} correlate with r = "
                    f"{row.r}, their changes with r = {show(row.pearson_change, 'correlation')}."
                )
        if len(known) > 1:
            by_slope = sorted(known, key=lambda row: float(row.lipschitz))
            flat, steep = by_slope[0], by_slope[-1]
            rises = flat.pearson_probability > steep.pearson_probability
            yield (
                f"From {steep.words} to {flat.words}, the slope of the score falls from "
                f"{show(steep.lipschitz, 'number')} to {show(flat.lipschitz, 'number')}, and r "
                f"{'rises' if rises else 'does not rise'}: {steep.r} to {flat.r}."
            )

    def charts(self, found: Evaluation) -> Iterator[Chart]:
        names = "predicted", "actual"
        x, y = (Column(name, f"{name} {found.quantity}", "probability") for name in names)
        title = f"{found.quantity.capitalize()} without the fact: predicted and actual"
        yield Chart("approximation", title, panels(found, "probability"), x, y)


PROTOCOL = ApproximationProtocol()


def panels(found: Evaluation, what: str) -> list[Points]:
    """Predicted against actual for each constraint; `what` is probability or change."""
    made = []
    for row in found.approximation:
        values = np.array(row.points).reshape(-1, 3)
        places = values[:, 1:] - (values[:, :1] if what == "change" else 0.0)
        r = show(getattr(row, f"pearson_{what}"), "correlation")
        note = f"r {r}, Lipschitz {show(row.lipschitz, 'number')}"
        made.append(Points(row.words.capitalize(), places.tolist(), note))
    return made
