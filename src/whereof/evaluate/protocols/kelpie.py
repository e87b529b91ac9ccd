"""The Kelpie protocol: all explanations removed together, and how far the answers fall."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, ClassVar

import numpy as np

from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import MethodName, Protocol, Retrainings, SampleSize, Size, best
from whereof.evaluate.sample import Task, facts_text
from whereof.retrain.engine import Job
from whereof.table import Column
from whereof.units import count, show

LIMIT = 100
"""Predictions of a seed that are looked at."""


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
        options, rows = task.options, list[Kelpie]()
        found = {cell: list[list[float]]() for cell in product(options.methods, options.sizes)}
        for sample in task.seeds:
            jobs = dict[Any, Job]()
            first = sample.only(np.flatnonzero(sample.ask([]).control["rank"] == 1)[:LIMIT])
            for cell, sets in first.choose_all(options).items() if len(first) else ():
                job = Job.of(np.concatenate(sets), np.arange(len(first)))
                if len(job.removed) < first.n_facts:
                    jobs[cell] = job
            first.ask([*jobs.values()])  # in one batch
            for cell, job in jobs.items():
                (after,) = task.retrain(first, [job], *cell).jobs
                ranks = np.stack([np.ones(len(first)), after["rank"]])
                hits, mrr = (ranks == 1).mean(axis=1), (1 / ranks).mean(axis=1)
                found[cell].append([len(first), len(job.removed), *hits, *mrr])
        for cell, seeds in found.items():
            if seeds:
                n, removed, hits, hits_after, mrr, mrr_after = np.mean(seeds, axis=0).tolist()
                falls = hits, hits_after, hits - hits_after, mrr, mrr_after, mrr - mrr_after
                rows.append(Kelpie(*cell, round(n), len(seeds), removed, *falls))
        return {"kelpie": tuple(rows)}

    def sentences(self, found: Evaluation) -> Iterator[str]:
        if row := best(found.kelpie, "hits1_fall"):
            yield (
                f"Hits@1 of {count(row.n_predictions, 'prediction')} falls most, to "
                f"{show(row.hits1_after, 'percent')}, without {facts_text(row.method, row.k)} "
                "for each of them."
            )


PROTOCOL = KelpieProtocol()
