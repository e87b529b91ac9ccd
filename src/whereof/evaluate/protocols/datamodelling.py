"""Linear datamodelling score: how well sums of influences predict training on random halves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import MethodName, Protocol, Retrainings, SampleSize, best
from whereof.evaluate.sample import Sample, Task
from whereof.evaluate.statistics import Interval, mean_size, measured, spearman
from whereof.retrain.engine import Job
from whereof.table import Column
from whereof.types import Numbers
from whereof.units import show


@dataclass(frozen=True)
class Datamodelling:
    """The score of one method: Spearman correlation over random halves of the facts."""

    method: MethodName
    score: Annotated[float, Column("", "score", "correlation")]
    interval: Annotated[Interval | None, Column("", "95%", "correlation", "interval")]
    n_subsets: Annotated[int, Column("", "halves", "count")]
    n_predictions: Annotated[int, Column("", "predictions", "count")]
    n_seeds: int


class DatamodellingProtocol(Protocol):
    """See `docs/protocols/datamodelling.md`."""

    name = "datamodelling"
    title = "Linear datamodelling score"
    citation = (
        "Ilyas et al., Datamodels: Predicting Predictions from Training Data, ICML 2022; "
        "Park et al., TRAK: Attributing Model Behavior at Scale, ICML 2023"
    )
    fields: ClassVar[Mapping[str, Any]] = {"datamodelling": tuple[Datamodelling, ...]}
    by_method = True
    options = ("subsets",)
    note = (
        "score: Spearman's correlation over random halves of the facts, of the sum of the "
        "influences of the kept facts and the {quantity} after training on them."
    )

    def count(self, options: EvaluateOptions, size: SampleSize) -> Retrainings:
        return Retrainings(sets=options.subsets)

    def jobs(self, sample: Sample, options: EvaluateOptions) -> list[Job]:
        halves = draw_halves(sample.n_facts, options.subsets, options.seed)
        return [Job.of(np.flatnonzero(row), range(len(sample))) for row in halves]

    def run(self, task: Task) -> Mapping[str, Any]:
        """The same halves for all seeds and methods.

        Outputs are probabilities. The literature takes the margin log(p / (1 - p)), which grows
        with p, so the ranks and the correlation are the same.
        """
        options, scores = task.options, {method: list[Numbers]() for method in task.options.methods}
        for sample in task.seeds:
            outcomes = task.retrain(sample, self.jobs(sample, options), "", "half")
            actual = np.array([sample.outputs(each) for each in outcomes.jobs])
            kept = ~draw_halves(sample.n_facts, options.subsets, options.seed)
            for method, mine in scores.items():
                predicted = _without_rounding(sample.influences(method) @ kept.T)
                mine.append(np.array([*map(spearman, predicted, actual.T)]))
        counts = options.subsets, mean_size(task.seeds), len(task.seeds)
        seed, items = options.seed, scores.items()
        rows = (Datamodelling(method, *measured(mine, seed)[:2], *counts) for method, mine in items)
        return {"datamodelling": tuple(rows)}

    def sentences(self, found: Evaluation) -> Iterator[str]:
        if row := best(found.datamodelling, "score"):
            score = show(row.score, "correlation")
            yield f"{row.method} predicts random halves best, with a score of {score}."


PROTOCOL = DatamodellingProtocol()


def draw_halves(n_facts: int, n_subsets: int, seed: int) -> NDArray[np.bool_]:
    """(n_subsets, n_facts) which facts are removed: half of them, drawn by seed and subset."""
    removed = np.zeros((n_subsets, n_facts), bool)
    for number, row in enumerate(removed):
        order = np.random.default_rng((seed, number)).permutation(n_facts)
        row[order[: round(n_facts / 2)]] = True
    return removed


def _without_rounding(sums: Numbers) -> Numbers:
    """(n_predictions, n_subsets) rounded sums, so that equal sums tie."""
    largest = np.abs(sums).max(axis=1, keepdims=True, initial=0.0)
    return np.asarray(np.round(sums / np.where(largest > 0, largest, 1.0), 12))
