"""The Kelpie protocol: all explanations removed together, and how far the answers fall.

For necessary explanations of predictions that the model ranks first: the facts of every
explanation are removed together and the model is retrained once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whereof.evaluate.evaluation import Evaluation, Retraining
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import (
    Found,
    MethodName,
    Protocol,
    Retrainings,
    SampleSize,
    Size,
    Task,
    table_of,
)
from whereof.evaluate.sample import Sample, facts_text
from whereof.evaluate.statistics import mean_size
from whereof.retrain import Job
from whereof.table import Column, Table
from whereof.types import FactIds
from whereof.units import count, is_number, show

LIMIT = 100
"""Predictions of a seed that are looked at."""
_Key = tuple[str, Size]
"""A method and a size."""


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


@dataclass(frozen=True, eq=False)
class _Fall:
    """One retraining without all explanations of a method and size."""

    n_removed: int
    ranks: NDArray[np.int32]
    """(2, n_predictions) before and after."""


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

    def count(self, options: EvaluateOptions, size: SampleSize) -> Retrainings:
        return Retrainings(sets=len(options.methods) * len(options.sizes))

    def run(self, task: Task) -> Found:
        """The mean over seeds of the fall of Hits@1 and MRR, for every method and size.

        The first 100 predictions that the control ranks first are taken from each seed. A seed
        without any is left out, and so is a size whose explanations leave no fact to train on.
        """
        options = task.options
        falls: dict[_Key, list[_Fall]] = {
            (m, k): [] for m in options.methods for k in options.sizes
        }
        records: list[Retraining] = []
        for sample in task.seeds:
            which = np.flatnonzero(sample.ask([]).control["rank"] == 1)[:LIMIT]
            if len(which):
                records += _retrain(sample, which, _unions(sample, which, options), falls)
        rows = (_row(method, k, found) for (method, k), found in falls.items() if found)
        return Found({"kelpie": tuple(rows)}, tuple(records))

    def tables(self, found: Evaluation) -> Iterator[Table]:
        note = "Before and after one retraining per seed without the facts of all explanations."
        yield table_of("kelpie", found, found.kelpie, "", note)

    def sentences(self, found: Evaluation) -> Iterator[str]:
        best = max(found.kelpie, key=lambda row: float(row.hits1_fall))
        if is_number(best.hits1_fall):
            yield (
                f"Hits@1 of {count(best.n_predictions, 'prediction')} falls most, to "
                f"{show(best.hits1_after, 'percent')}, without {facts_text(best.method, best.k)} "
                "for each of them."
            )


PROTOCOL = KelpieProtocol()


def _unions(
    sample: Sample, which: NDArray[np.int64], options: EvaluateOptions
) -> dict[_Key, FactIds]:
    """The facts of all explanations together, where some facts are left."""
    unions = {}
    for method in options.methods:
        for k, chosen in sample.choose(method, options.sizes).items():
            union = np.unique(np.concatenate([chosen[number] for number in which]))
            if len(union) < sample.n_facts:
                unions[method, k] = union
    return unions


def _retrain(
    sample: Sample,
    which: NDArray[np.int64],
    unions: Mapping[_Key, FactIds],
    falls: Mapping[_Key, list[_Fall]],
) -> list[Retraining]:
    """One retraining for every method and size of a seed; adds to the falls."""
    jobs = [Job.of(union, which) for union in unions.values()]
    outcomes = sample.ask(jobs)
    control = outcomes.control
    records = []
    for (method, k), job, standings in zip(unions, jobs, outcomes.jobs, strict=True):
        ranks = np.stack([control["rank"][which], standings["rank"]])
        falls[method, k].append(_Fall(len(job.removed), ranks))
        records += [
            sample.record(
                *(PROTOCOL.name, number, job.removed, control[number], after),
                method=method,
                k=str(k),
            )
            for number, after in zip(which.tolist(), standings, strict=True)
        ]
    return records


def _row(method: str, k: Size, falls: Sequence[_Fall]) -> Kelpie:
    hits = np.mean([(fall.ranks == 1).mean(axis=1) for fall in falls], axis=0)  # before and after
    mrr = np.mean([(1 / fall.ranks).mean(axis=1) for fall in falls], axis=0)
    return Kelpie(
        method=method,
        k=k,
        n_predictions=mean_size([fall.ranks[0] for fall in falls]),
        n_seeds=len(falls),
        removed_mean=float(np.mean([fall.n_removed for fall in falls])),
        hits1_before=float(hits[0]),
        hits1_after=float(hits[1]),
        hits1_fall=float(hits[0] - hits[1]),
        mrr_before=float(mrr[0]),
        mrr_after=float(mrr[1]),
        mrr_fall=float(mrr[0] - mrr[1]),
    )
