"""Linear datamodelling score: how well sums of influences predict training on some facts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import MethodName, Protocol, Retrainings, SampleSize, best
from whereof.evaluate.sample import Sample, Task
from whereof.evaluate.statistics import Interval, mean_size, measured, spearman
from whereof.evaluate.variant import find_variant
from whereof.retrain.engine import Job
from whereof.retrain.retrainer import Outcomes
from whereof.table import Column
from whereof.types import Numbers
from whereof.units import show


@dataclass(frozen=True)
class Datamodelling:
    """The score of one method: Spearman correlation over random sets of dropped facts."""

    method: MethodName
    score: Annotated[float, Column("", "score", "correlation")]
    interval: Annotated[Interval | None, Column("", "95%", "correlation", "interval")]
    n_subsets: Annotated[int, Column("", "sets", "count")]
    n_predictions: Annotated[int, Column("", "predictions", "count")]
    n_seeds: int
    drop: Annotated[float, Column("", "dropped", "percent")] = 0.5
    """The share of the facts that was dropped."""


class DatamodellingProtocol(Protocol):
    """See `docs/protocols/datamodelling.md`."""

    name = "datamodelling"
    title = "Linear datamodelling score"
    citation = (
        "Ilyas et al., Datamodels: Predicting Predictions from Training Data, ICML 2022; "
        "Park et al., TRAK: Attributing Model Behavior at Scale, ICML 2023"
    )
    fields: ClassVar[Mapping[str, Any]] = {"datamodelling": tuple[Datamodelling, ...]}
    by_method = repeated = True
    options = ("subsets",)
    note = (
        "score: Spearman's correlation over random sets of dropped facts, of the sum of the "
        "influences of the kept facts and the {quantity} after training on them. Exact methods "
        "retrain instead."
    )

    def count(self, options: EvaluateOptions, size: SampleSize) -> Retrainings:
        return Retrainings(sets=options.subsets * len(options.shares))

    def jobs(self, sample: Sample, options: EvaluateOptions) -> list[Job]:
        return [job for share in options.shares for job in _jobs(sample, options, share)]

    def run(self, task: Task) -> Mapping[str, Any]:
        """The same sets for all seeds and methods.

        Outputs are probabilities. The literature takes the margin log(p / (1 - p)), which grows
        with p, so the ranks and the correlation are the same.
        """
        options, rows = task.options, list[Datamodelling]()
        counts = options.subsets, mean_size(task.seeds), len(task.seeds)
        for share in options.shares:
            scores = {method: list[Numbers]() for method in options.methods}
            for sample in task.seeds:
                jobs = _jobs(sample, options, share)
                k = "half" if share == 0.5 else f"{100 * share:g}%"
                actual = _outputs(sample, task.retrain(sample, jobs, "", k))
                kept = ~draw_removed(sample.n_facts, options.subsets, options.seed, share)
                for method, mine in scores.items():
                    predicted = _predict(sample, method, jobs, kept)
                    mine.append(np.array([*map(spearman, predicted, actual.T)]))
            for method, mine in scores.items():
                score = measured(mine, options.seed)[:2]
                rows.append(Datamodelling(method, *score, *counts, share))
        return {"datamodelling": tuple(rows)}

    def sentences(self, found: Evaluation) -> Iterator[str]:
        for drop in dict.fromkeys(row.drop for row in found.datamodelling):
            rows = [row for row in found.datamodelling if row.drop == drop]
            if row := best(rows, "score"):
                score, share = show(row.score, "correlation"), show(drop, "percent")
                yield (
                    f"{row.method} predicts best what happens when {share} of the facts are "
                    f"dropped, with a score of {score}."
                )


PROTOCOL = DatamodellingProtocol()


def _jobs(sample: Sample, options: EvaluateOptions, share: float) -> list[Job]:
    removed = draw_removed(sample.n_facts, options.subsets, options.seed, share)
    return [Job.of(np.flatnonzero(row), range(len(sample))) for row in removed]


def _outputs(sample: Sample, outcomes: Outcomes) -> Numbers:
    """(n_subsets, n_predictions) what influence is measured on."""
    return np.array([sample.outputs(each) for each in outcomes.jobs])


def _predict(sample: Sample, method: str, jobs: Sequence[Job], kept: NDArray[np.bool_]) -> Numbers:
    """(n_predictions, n_subsets) sums of influences; an exact method retrains without the sets."""
    if find_variant(method).exact:
        return _outputs(sample, sample.ask(jobs, sample.case_of(method))).T
    return _without_rounding(sample.influences(method) @ kept.T)


def draw_removed(n_facts: int, n_subsets: int, seed: int, share: float = 0.5) -> NDArray[np.bool_]:
    """(n_subsets, n_facts) which facts are removed: a share of them, drawn by seed and subset."""
    removed = np.zeros((n_subsets, n_facts), bool)
    for number, row in enumerate(removed):
        order = np.random.default_rng((seed, number)).permutation(n_facts)
        row[order[: max(round(n_facts * share), 1)]] = True
    return removed


def _without_rounding(sums: Numbers) -> Numbers:
    """(n_predictions, n_subsets) rounded sums, so that equal sums tie."""
    largest = np.abs(sums).max(axis=1, keepdims=True, initial=0.0)
    return np.asarray(np.round(sums / np.where(largest > 0, largest, 1.0), 12))
