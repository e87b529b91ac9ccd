"""Estimated against true influence: every training fact removed alone, or every adjacent one.

The journal of a run keeps what every retraining came to, so that true influences are trained once
and answer any method later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.evaluate.estimates import outputs
from whereof.evaluate.recording import name_prediction
from whereof.evaluate.results import PAIR, LeaveOneOut, Order, TrueInfluences
from whereof.evaluate.sample import Sample
from whereof.evaluate.statistics import bootstrap_interval, mean_size, seeds_mean, spearman
from whereof.explain._adjacent import find_adjacent
from whereof.retrain import Job
from whereof.types import FactIds, Numbers


@dataclass(frozen=True)
class LeftOneOut:
    """What the protocol came to."""

    rows: tuple[LeaveOneOut, ...]
    truths: tuple[TrueInfluences, ...]
    """Of every seed. As a table of retrainings they were too many: facts times predictions."""


@dataclass(frozen=True, eq=False)
class Truth:
    """What predictions of one seed lose without facts, each removed alone."""

    original: Numbers
    """(n_predictions,) probabilities with all facts, or ratings."""
    adjacent: tuple[FactIds, ...]
    """Of every prediction, ascending."""
    drops: tuple[Numbers, ...]
    """Of every prediction: the probability, less the one without each adjacent fact."""
    n_removed: int
    """Different facts."""
    matrix: NDArray[np.float64] | None = None
    """(n_facts, n_predictions) the same without each fact, where all were removed."""


def leave_one_out(
    samples: Sequence[Sample], methods: Sequence[str], seed: int = 0, *, adjacent_only: bool = False
) -> LeftOneOut:
    """How methods order facts, beside the true order; a row for every method."""
    truths = [find_truth(sample, adjacent_only=adjacent_only) for sample in samples]
    rows = tuple(_judge(method, samples, truths, seed) for method in methods)
    return LeftOneOut(rows, tuple(map(_named, samples, truths)))


def find_truth(sample: Sample, *, adjacent_only: bool = False) -> Truth:
    """Remove facts one by one: all of them or, for each prediction, those adjacent to it."""
    near = tuple(map(find_adjacent, sample.situations))
    return _adjacent_truth(sample, near) if adjacent_only else _whole_truth(sample, near)


def _whole_truth(sample: Sample, near: tuple[FactIds, ...]) -> Truth:
    every = np.arange(len(near))
    jobs = [Job.of([fact], every) for fact in range(sample.case.trained.dataset.n_facts)]
    outcomes = sample.case.retrainer.ask(sample.predictions, jobs)
    original = outputs(sample, outcomes.control)
    matrix = original - np.array([outputs(sample, standings) for standings in outcomes.jobs])
    drops = tuple(matrix[ids, number] for number, ids in enumerate(near))
    return Truth(original, near, drops, len(jobs), matrix)


def _adjacent_truth(sample: Sample, near: tuple[FactIds, ...]) -> Truth:
    """One retraining for a fact looks at all predictions that it is adjacent to."""
    ids, owners = np.concatenate(near), np.repeat(np.arange(len(near)), [*map(len, near)])
    order = np.argsort(ids, kind="stable")
    fact_ids, starts = np.unique(ids[order], return_index=True)
    stops = [*starts[1:], len(ids)]
    which = [owners[order[start:stop]] for start, stop in zip(starts, stops, strict=False)]
    jobs = [Job.of([fact], mine) for fact, mine in zip(fact_ids, which, strict=True)]
    outcomes = sample.case.retrainer.ask(sample.predictions, jobs)
    original, drops = outputs(sample, outcomes.control), np.zeros(len(ids))
    after = [outputs(sample, standings) for standings in outcomes.jobs]
    drops[order] = original[owners[order]] - np.concatenate([np.zeros(0), *after])
    bounds = np.cumsum([*map(len, near)])[:-1]
    return Truth(original, near, tuple(np.split(drops, bounds)), len(jobs))


def count_adjacent(sample: Sample) -> int:
    """How many facts are removed, each alone, where only adjacent ones are."""
    removed = np.zeros(sample.case.trained.dataset.n_facts, bool)
    for situation in sample.situations:
        removed[find_adjacent(situation)] = True
    return int(removed.sum())


def _named(sample: Sample, truth: Truth) -> TrueInfluences:
    names = tuple(map(name_prediction, sample.situations))
    pairs = _pairs(truth) if truth.matrix is None else None
    return TrueInfluences(sample.case.seed, names, truth.matrix, pairs)


def _pairs(truth: Truth) -> NDArray[Any]:
    """Of every prediction and adjacent fact; see `TrueInfluences`."""
    sizes = [*map(len, truth.adjacent)]
    pairs = np.zeros(sum(sizes), PAIR)
    pairs["fact"] = np.concatenate(truth.adjacent)
    pairs["prediction"] = np.repeat(np.arange(len(sizes)), sizes)
    pairs["influence"] = np.concatenate(truth.drops)
    return pairs


def find_orders(sample: Sample, method: str, truth: Truth) -> list[Order]:
    """How a method orders the adjacent facts of every prediction that has some."""
    estimates = sample.adjacent_influences(method)
    return [
        _order(sample, truth, number, estimates[number])
        for number, ids in enumerate(truth.adjacent)
        if len(ids)
    ]


def _order(sample: Sample, truth: Truth, number: int, estimates: Numbers) -> Order:
    """Of one prediction; estimates, (n_adjacent,), are of its adjacent facts."""
    fact_ids, drops = truth.adjacent[number], truth.drops[number]
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
    pairs = [*zip(samples, truths, strict=True)]
    everywhere = [_rhos_all(*pair, method) for pair in pairs]
    shares = [_shares_of_best(*pair, method) for pair in pairs]
    orders = [find_orders(sample, method, truth) for sample, truth in pairs]
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
        n_facts=truths[0].n_removed,
        orders=tuple(order for mine in orders for order in mine),
    )


def _rhos_all(sample: Sample, truth: Truth, method: str) -> Numbers:
    """(n_predictions,) over all facts; NaN where not all were removed."""
    if truth.matrix is None:
        return np.full(len(truth.adjacent), np.nan)
    estimates = sample.influences(method)
    return np.array([spearman(*pair) for pair in zip(estimates, truth.matrix.T, strict=True)])


def _shares_of_best(sample: Sample, truth: Truth, method: str) -> Numbers:
    """(n_predictions,) over all facts that were removed."""
    whole = truth.matrix is not None
    estimates = sample.influences(method) if whole else sample.adjacent_influences(method)
    drops = truth.drops if truth.matrix is None else truth.matrix.T
    return np.array([_share_of_best(*pair) for pair in zip(estimates, drops, strict=True)])


def _share_of_best(estimates: Numbers, truth: Numbers) -> float:
    """True drop by the fact that is ranked first over the largest; NaN where no fact lowers it.

    Where a method finds no supporting fact, nothing is removed and nothing drops.
    """
    best = float(truth.max(initial=0.0))
    if best <= 0:
        return float("nan")
    first = int(estimates.argmax())
    return float(truth[first]) / best if estimates[first] > 0 else 0.0
