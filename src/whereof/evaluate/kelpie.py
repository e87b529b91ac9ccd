"""The Kelpie protocol: all explanations removed together, and how far the answers fall.

Rossi et al. (Explaining Link Prediction Systems based on Knowledge Graph Embeddings, SIGMOD 2022),
necessary explanations: of predictions that the model ranks first, the facts of every explanation
are removed at once and the model is retrained once; the more Hits@1 and MRR of the predictions
fall, the better the explanations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.evaluate.recording import Recorder, as_ids
from whereof.evaluate.removal import choose_facts
from whereof.evaluate.results import Found, Kelpie, Retraining, Size
from whereof.evaluate.sample import Sample
from whereof.evaluate.statistics import mean_size
from whereof.retrain import Job
from whereof.types import FactIds

_PROTOCOL = "kelpie"
_Key = tuple[str, Size]
"""A method, and how many facts of each explanation."""


@dataclass(frozen=True, eq=False)
class _Fall:
    """One retraining without all explanations of a method and size."""

    n_removed: int
    ranks: NDArray[np.int32]
    """(2, n_predictions) before and after."""


def kelpie(
    samples: Sequence[Sample], methods: Sequence[str], ks: Sequence[Size], limit: int = 100
) -> Found:
    """The fall of Hits@1 and MRR for every method and size: the mean over seeds.

    Of each seed, the first `limit` predictions that the control ranks first are taken; a seed that
    has none is left out, and so is a size whose explanations leave no fact to train on.
    """
    if limit < 1:
        raise WhereofError(f"limit is {limit}; give a number from 1 on")
    falls: dict[_Key, list[_Fall]] = {(method, k): [] for method in methods for k in ks}
    records: list[Retraining] = []
    for sample in samples:
        control = sample.case.retrainer.ask(sample.predictions, []).control
        which = np.flatnonzero(control["rank"] == 1)[:limit]
        if len(which):
            records += _retrain(sample, which, _unions(sample, which, methods, ks), falls)
    rows = (_row(method, k, found) for (method, k), found in falls.items() if found)
    return Found(tuple(rows), tuple(records))


def _unions(
    sample: Sample, which: NDArray[np.int64], methods: Sequence[str], ks: Sequence[Size]
) -> dict[_Key, FactIds]:
    """The facts of all explanations together, where some facts are left."""
    unions = {}
    for method in methods:
        for k, chosen in choose_facts(sample, method, ks).items():
            union = np.unique(np.concatenate([chosen[number] for number in which]))
            if len(union) < sample.case.trained.dataset.n_facts:
                unions[method, k] = union
    return unions


def _retrain(
    sample: Sample,
    which: NDArray[np.int64],
    unions: Mapping[_Key, FactIds],
    falls: Mapping[_Key, list[_Fall]],
) -> list[Retraining]:
    """One retraining for every method and size of a seed; what it did is added to the falls."""
    jobs = [Job.of(union, which) for union in unions.values()]
    outcomes = sample.case.retrainer.ask(sample.predictions, jobs)
    recorder = Recorder(sample, outcomes.control, _PROTOCOL)
    before = outcomes.control["rank"][which]
    records = []
    for (method, k), job, standings in zip(unions, jobs, outcomes.jobs, strict=True):
        ranks = np.stack([before, standings["rank"]])
        falls[method, k].append(_Fall(len(job.removed), ranks))
        removed = as_ids(job.removed)
        records += [
            recorder.record(number, removed, after, method=method, k=str(k))
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
