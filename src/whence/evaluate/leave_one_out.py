"""Estimated against true influence: every training fact removed alone, or every adjacent one.

The journal of a run keeps what every retraining came to, so that the matrix of true influences is
trained once and answers any method later.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whence.engines import Job
from whence.evaluate.estimates import outputs
from whence.evaluate.recording import name_prediction
from whence.evaluate.results import LeaveOneOut, Order, TrueInfluences
from whence.evaluate.sample import Sample
from whence.evaluate.statistics import bootstrap_interval, mean_size, seeds_mean, spearman
from whence.explain._adjacent import find_adjacent
from whence.types import FactIds, Numbers


@dataclass(frozen=True)
class LeftOneOut:
    """What the protocol came to."""

    rows: tuple[LeaveOneOut, ...]
    truths: tuple[TrueInfluences, ...]
    """Of every seed. As a table of retrainings they were too many: facts times predictions."""


@dataclass(frozen=True, eq=False)
class Truth:
    """What predictions of one seed lose without each fact."""

    original: Numbers
    """(n_predictions,) probabilities with all facts, or ratings."""
    matrix: NDArray[np.float64]
    """(n_facts, n_predictions) that, less the one without each fact; NaN where not removed."""
    removed: NDArray[np.bool_]
    """(n_facts, n_predictions) which facts were removed for which prediction."""


def leave_one_out(
    samples: Sequence[Sample], methods: Sequence[str], seed: int = 0, *, adjacent_only: bool = False
) -> LeftOneOut:
    """How methods order facts, beside the true order; a row for every method."""
    truths = [find_truth(sample, adjacent_only=adjacent_only) for sample in samples]
    rows = tuple(_judge(method, samples, truths, seed) for method in methods)
    return LeftOneOut(rows, tuple(map(_named, samples, truths)))


def find_truth(sample: Sample, *, adjacent_only: bool = False) -> Truth:
    """Remove facts one by one: all of them or, for each prediction, those adjacent to it."""
    removed = _chosen(sample, adjacent_only=adjacent_only)
    fact_ids = np.flatnonzero(removed.any(axis=1)).tolist()
    jobs = [Job.of([fact], np.flatnonzero(removed[fact])) for fact in fact_ids]
    outcomes = sample.case.retrainer.ask(sample.predictions, jobs)
    original = outputs(sample, outcomes.control)
    matrix = np.full(removed.shape, np.nan)
    for fact, job, standings in zip(fact_ids, jobs, outcomes.jobs, strict=True):
        matrix[fact, job.which] = original[job.which] - outputs(sample, standings)
    return Truth(original, matrix, removed)


def count_left_out(sample: Sample, *, adjacent_only: bool) -> int:
    """How many facts are removed, each alone."""
    return int(_chosen(sample, adjacent_only=adjacent_only).any(axis=1).sum())


def _chosen(sample: Sample, *, adjacent_only: bool) -> NDArray[np.bool_]:
    """(n_facts, n_predictions) which facts are removed for which prediction."""
    shape = sample.case.trained.dataset.n_facts, len(sample.situations)
    chosen = np.full(shape, not adjacent_only)
    for number, situation in enumerate(sample.situations if adjacent_only else ()):
        chosen[find_adjacent(situation), number] = True
    return chosen


def _named(sample: Sample, truth: Truth) -> TrueInfluences:
    names = tuple(map(name_prediction, sample.situations))
    return TrueInfluences(sample.case.seed, names, truth.matrix)


def find_orders(sample: Sample, method: str, truth: Truth) -> list[Order]:
    """How a method orders the adjacent facts of every prediction that has some."""
    near = [find_adjacent(situation) for situation in sample.situations]
    estimates = sample.influences(method)
    return [
        _order(sample, truth, number, ids, estimates[number, ids])
        for number, ids in enumerate(near)
        if len(ids)
    ]


def _order(
    sample: Sample, truth: Truth, number: int, fact_ids: FactIds, estimates: Numbers
) -> Order:
    """Of one prediction; fact_ids and estimates, (n_adjacent,), are of its adjacent facts."""
    drops = truth.matrix[fact_ids, number]
    best, first = int(drops.argmax()), int(estimates.argmax())
    supports = bool(estimates[first] > 0)
    subject, relation, object_, asks = name_prediction(sample.situations[number])
    return Order(
        seed=sample.case.seed,
        subject=subject,
        relation=relation,
        object=object_,
        asks=asks,
        n_adjacent=len(fact_ids),
        original=float(truth.original[number]),
        rho=spearman(estimates, drops),
        best_fact=int(fact_ids[best]),
        best_drop=float(drops[best]),
        best_rank=int((estimates >= estimates[best]).sum()),
        first_fact=int(fact_ids[first]) if supports else None,
        first_drop=float(drops[first]) if supports else 0.0,
    )


def _judge(
    method: str, samples: Sequence[Sample], truths: Sequence[Truth], seed: int
) -> LeaveOneOut:
    """One method, over all seeds."""
    orders, everywhere, shares = [], [], []
    for sample, truth in zip(samples, truths, strict=True):
        orders.append(find_orders(sample, method, truth))
        # (n_facts,) each, of every prediction: estimated, true, and whether it was removed
        triples = [*zip(sample.influences(method), truth.matrix.T, truth.removed.T, strict=True)]
        everywhere.append(np.array([_rho_all(*triple) for triple in triples]))
        shares.append(np.array([_share_of_best(e[m], t[m]) for e, t, m in triples]))
    adjacent = [np.array([order.rho for order in mine]) for mine in orders]
    return LeaveOneOut(
        method=method,
        rho_adjacent=seeds_mean(adjacent),
        rho_adjacent_interval=bootstrap_interval(adjacent, seed),
        rho_all=seeds_mean(everywhere),
        rho_all_interval=bootstrap_interval(everywhere, seed),
        share_of_best=seeds_mean(shares),
        n_predictions=mean_size([sample.situations for sample in samples]),
        n_seeds=len(samples),
        n_facts=int(truths[0].removed.any(axis=1).sum()),
        orders=tuple(order for mine in orders for order in mine),
    )


def _rho_all(estimates: Numbers, truth: Numbers, removed: NDArray[np.bool_]) -> float:
    """NaN where some facts were not removed."""
    return spearman(estimates, truth) if removed.all() else float("nan")


def _share_of_best(estimates: Numbers, truth: Numbers) -> float:
    """True drop by the fact that is ranked first over the largest; NaN where no fact lowers it.

    Where a method finds no supporting fact, nothing is removed and nothing drops.
    """
    best = float(truth.max(initial=0.0))
    if best <= 0:
        return float("nan")
    first = int(estimates.argmax())
    return float(truth[first]) / best if estimates[first] > 0 else 0.0
