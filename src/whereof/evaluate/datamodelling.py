"""Linear datamodelling score: how well sums of influences foretell training on random halves.

Ilyas et al. (Datamodels, ICML 2022) and Park et al. (TRAK, ICML 2023): many models are trained on
random subsets of the facts. For every prediction, what each of them gives is compared by rank with
what the method foretells, the sum of the influences of the facts that were kept.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.evaluate.estimates import outputs
from whereof.evaluate.recording import Recorder, as_ids
from whereof.evaluate.results import Datamodelling, Found, Retraining
from whereof.evaluate.sample import Sample
from whereof.evaluate.statistics import bootstrap_interval, mean_size, seeds_mean, spearman
from whereof.retrain import Job, Outcomes

_PROTOCOL = "datamodelling"


def datamodel(
    samples: Sequence[Sample], methods: Sequence[str], n_subsets: int, seed: int
) -> Found:
    """The score of every method, over the same halves for all seeds of training and all methods.

    Outputs are probabilities. The literature takes the margin log(p / (1 - p)), which grows with
    p: the ranks of one prediction over subsets, and so its correlation, are the same.
    """
    if n_subsets < 2:
        raise WhereofError(f"n_subsets is {n_subsets}; a correlation needs 2 or more")
    halves = draw_halves(samples[0].case.trained.dataset.n_facts, n_subsets, seed)
    actual: list[NDArray[np.float64]] = []
    records: list[Retraining] = []
    for sample in samples:
        which = range(len(sample.situations))
        jobs = [Job.of(np.flatnonzero(row), which) for row in halves]
        outcomes = sample.case.retrainer.ask(sample.predictions, jobs)
        actual.append(np.array([outputs(sample, standings) for standings in outcomes.jobs]))
        records += _records(sample, jobs, outcomes)
    rows = (_score(method, samples, halves, actual, seed) for method in methods)
    return Found(tuple(rows), tuple(records))


def draw_halves(n_facts: int, n_subsets: int, seed: int) -> NDArray[np.bool_]:
    """(n_subsets, n_facts) which facts are removed: half of them, drawn anew for each subset.

    A subset depends on the seed and its number alone, so that more of them begin with the same.
    """
    removed = np.zeros((n_subsets, n_facts), bool)
    for number, row in enumerate(removed):
        order = np.random.default_rng((seed, number)).permutation(n_facts)
        row[order[: round(n_facts / 2)]] = True
    return removed


def _records(sample: Sample, jobs: Sequence[Job], outcomes: Outcomes) -> Iterator[Retraining]:
    recorder = Recorder(sample, outcomes.control, _PROTOCOL)
    for job, standings in zip(jobs, outcomes.jobs, strict=True):
        removed = as_ids(job.removed)
        for number, after in enumerate(standings):
            yield recorder.record(number, removed, after, method="", k="half")


def _without_rounding(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n_predictions, n_subsets) sums whose last digits are cut: what is equal ties."""
    largest = np.abs(sums).max(axis=1, keepdims=True, initial=0.0)
    return np.asarray(np.round(sums / np.where(largest > 0, largest, 1.0), 12))


def _score(
    method: str,
    samples: Sequence[Sample],
    removed: NDArray[np.bool_],
    actual: Sequence[NDArray[np.float64]],
    seed: int,
) -> Datamodelling:
    """One method, over all seeds."""
    scores = []
    for sample, found in zip(samples, actual, strict=True):
        foretold = _without_rounding(sample.influences(method) @ ~removed.T)
        scores.append(np.array([spearman(f, a) for f, a in zip(foretold, found.T, strict=True)]))
    return Datamodelling(
        method=method,
        score=seeds_mean(scores),
        interval=bootstrap_interval(scores, seed),
        n_subsets=len(removed),
        n_predictions=mean_size([sample.situations for sample in samples]),
        n_seeds=len(samples),
    )
