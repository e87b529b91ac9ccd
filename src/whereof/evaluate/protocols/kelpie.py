"""The Kelpie protocol: all explanations removed together, and how far the answers fall."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import MethodName, Protocol, Retrainings, SampleSize, Size, best
from whereof.evaluate.sample import Task, facts_text
from whereof.evaluate.statistics import mean_size
from whereof.retrain.engine import Job
from whereof.table import Column
from whereof.units import count, show

LIMIT = 100
"""Predictions of a seed that are looked at."""
_Fall = tuple[int, NDArray[np.int32]]
"""The number of removed facts, and (2, n_predictions) ranks before and after."""


@dataclass(frozen=True)
class Kelpie:
    """All explanations of one method and size removed together, one retraining per seed."""

    method: MethodName
    k: Size
    n_predictions: int
    n_seeds: int
    removed_mean: Annotated[float, Column("", "removed", "mean")]
    hits1_before: Annotated[float, Column("", "Hits@1", "percent")]
    hits1_after: Annotated[float, Column("", "after", "percent")]
    hits1_fall: Annotated[float, Column("", "fall", "percent")]
    mrr_before: Annotated[float, Column("", "MRR", "percent")]
    mrr_after: Annotated[float, Column("", "after", "percent")]
    mrr_fall: Annotated[float, Column("", "fall", "percent")]


class KelpieProtocol(Protocol):
    """See `docs/protocols/kelpie.md`."""

    name = "kelpie"
    title = "All explanations removed together"
    citation = (
        "Rossi et al., Explaining Link Prediction Systems based on Knowledge Graph Embeddings, "
        "SIGMOD 2022"
    )
    fields: ClassVar[Mapping[str, Any]] = {"kelpie": tuple[Kelpie, ...]}
    by_method = by_size = True
    note = "Before and after one retraining per seed without the facts of all explanations."

    def count(self, options: EvaluateOptions, size: SampleSize) -> Retrainings:
        return Retrainings(sets=len(options.methods) * len(options.sizes))

    def run(self, task: Task) -> Mapping[str, Any]:
        """Take the first predictions of each seed that the control ranks first.

        A seed without any is left out, and so is a size that leaves no fact to train on.
        """
        options = task.options
        falls = {cell: list[_Fall]() for cell in product(options.methods, options.sizes)}
        for sample in task.seeds:
            control, jobs = sample.ask([]).control, {}
            which = np.flatnonzero(control["rank"] == 1)[:LIMIT]
            for cell, sets in sample.cells(options).items() if len(which) else ():
                job = Job.of(np.concatenate([sets[number] for number in which]), which)
                if len(job.removed) < sample.n_facts:
                    jobs[cell] = job
            sample.ask([*jobs.values()])  # in one batch
            for cell, job in jobs.items():
                (after,) = task.retrain(sample, [job], *cell).jobs
                ranks = np.stack([control["rank"][which], after["rank"]])
                falls[cell].append((len(job.removed), ranks))
        return {"kelpie": tuple(_row(*cell, found) for cell, found in falls.items() if found)}

    def sentences(self, found: Evaluation) -> Iterator[str]:
        if row := best(found.kelpie, "hits1_fall"):
            yield (
                f"Hits@1 of {count(row.n_predictions, 'prediction')} falls most, to "
                f"{show(row.hits1_after, 'percent')}, without {facts_text(row.method, row.k)} "
                "for each of them."
            )


PROTOCOL = KelpieProtocol()


def _row(method: str, k: Size, falls: Sequence[_Fall]) -> Kelpie:
    sizes, ranks = zip(*falls, strict=True)
    hits = np.mean([(mine == 1).mean(axis=1) for mine in ranks], axis=0)  # before and after
    mrr = np.mean([(1 / mine).mean(axis=1) for mine in ranks], axis=0)
    n_predictions, removed_mean = mean_size([mine[0] for mine in ranks]), float(np.mean(sizes))
    falling = [float(each) for both in (hits, mrr) for each in (*both, both[0] - both[1])]
    return Kelpie(method, k, n_predictions, len(falls), removed_mean, *falling)
