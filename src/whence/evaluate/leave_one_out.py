"""Estimated against true influence: every training fact removed alone.

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
from whence.evaluate.results import LeaveOneOut, TrueInfluences
from whence.evaluate.sample import Sample
from whence.evaluate.statistics import bootstrap_interval, mean_size, seeds_mean, spearman
from whence.explain._adjacent import find_adjacent
from whence.types import Numbers


@dataclass(frozen=True)
class LeftOneOut:
    """What the protocol came to."""

    rows: tuple[LeaveOneOut, ...]
    truths: tuple[TrueInfluences, ...]
    """Of every seed. As a table of retrainings they were too many: facts times predictions."""


def leave_one_out(samples: Sequence[Sample], methods: Sequence[str], seed: int = 0) -> LeftOneOut:
    """How methods order facts, beside the true order; a row for every method."""
    truths = [true_influences(sample) for sample in samples]
    rows = tuple(_judge(method, samples, truths, seed) for method in methods)
    return LeftOneOut(rows, tuple(map(_named, samples, truths)))


def true_influences(sample: Sample) -> NDArray[np.float64]:
    """(n_facts, n_predictions) probability with all facts, less that without each one."""
    which = np.arange(len(sample.situations))
    jobs = [Job.of([fact], which) for fact in range(sample.case.trained.dataset.n_facts)]
    outcomes = sample.case.retrainer.ask(sample.predictions, jobs)
    without = np.stack([outputs(sample, standings) for standings in outcomes.jobs])
    return np.asarray(outputs(sample, outcomes.control) - without)


def _named(sample: Sample, truth: NDArray[np.float64]) -> TrueInfluences:
    return TrueInfluences(sample.case.seed, tuple(map(name_prediction, sample.situations)), truth)


def _judge(
    method: str, samples: Sequence[Sample], truths: Sequence[NDArray[np.float64]], seed: int
) -> LeaveOneOut:
    """One method, over all seeds."""
    adjacent, everywhere, shares = [], [], []
    for sample, truth in zip(samples, truths, strict=True):
        estimates = sample.influences(method)
        near = [find_adjacent(situation) for situation in sample.situations]
        pairs = list(zip(estimates, truth.T, strict=True))
        adjacent.append(
            np.array([spearman(e[ids], t[ids]) for (e, t), ids in zip(pairs, near, strict=True)])
        )
        everywhere.append(np.array([spearman(e, t) for e, t in pairs]))
        shares.append(np.array([_share_of_best(e, t) for e, t in pairs]))
    return LeaveOneOut(
        method=method,
        rho_adjacent=seeds_mean(adjacent),
        rho_adjacent_interval=bootstrap_interval(adjacent, seed),
        rho_all=seeds_mean(everywhere),
        rho_all_interval=bootstrap_interval(everywhere, seed),
        share_of_best=seeds_mean(shares),
        n_predictions=mean_size([sample.situations for sample in samples]),
        n_seeds=len(samples),
        n_facts=len(truths[0]),
    )


def _share_of_best(estimates: Numbers, truth: Numbers) -> float:
    """True drop by the fact that is ranked first over the largest; NaN where no fact lowers it.

    Where a method finds no supporting fact, nothing is removed and nothing drops.
    """
    best = float(truth.max())
    if best <= 0:
        return float("nan")
    first = int(estimates.argmax())
    return float(truth[first]) / best if estimates[first] > 0 else 0.0
