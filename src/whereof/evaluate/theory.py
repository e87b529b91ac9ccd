"""The paper's theory in numbers: constants, bounds, and what rollback really misses.

The paper (Lawrence, Sztyler and Niepert, AAAI 2021) follows Hardt, Recht and Singer (Train Faster,
Generalize Better, ICML 2016). It proves its bounds for plain SGD that takes one fact a step, on a
function f in [0, 1] with slope at most L and smoothness beta; for other optimizers they are shown
beside the errors as the paper's text does, and prove nothing. As in the paper, L and beta are those
of the score.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whereof.evaluate.estimates import outputs, rolled_back
from whereof.evaluate.results import Theory
from whereof.evaluate.sample import Sample
from whereof.retrain import Job, Retrainer
from whereof.training.timeline import Timeline
from whereof.types import RELATION, SUBJECT, Numbers, Rows

_BLOCK = 1 << 20
"""Steps of the recurrence that are held in memory at a time."""
N_RANDOM = 3
"""Random adjacent facts that are removed for each prediction, beside rollback's first."""
_MOST_FACTS = 10_000
"""Facts that the normaliser is looked at for."""


def lipschitz_constant(largest_norm: float) -> float:
    """|score(w) - score(w')| <= 2 C^2 |w - w'| for rows of norm at most C; no loops (s = o)."""
    return 2 * largest_norm**2


def smoothness(largest_norm: float) -> float:
    """|grad score(w) - grad score(w')| <= 4 C |w - w'| for rows of norm at most C."""
    return 4 * largest_norm


def schedule_constant(rates: Numbers) -> float:
    """The least c with rate_t <= c / t at every step t, which counts from 1.

    Of a constant rate that is the rate times the number of steps.
    """
    return float((rates * np.arange(1, len(rates) + 1)).max())


def stability_bound(L: float, beta: float, c: float, n_facts: int, n_steps: int) -> float:
    """Lambda_stab-nc = (1 + 1/(beta c)) / (n - 1) (c L^2)^(1/(beta c + 1)) T^(beta c/(beta c + 1)).

    Of rates of at most c / t. Under a constant rate beta c is large and it tends to T / (n - 1),
    the epochs, which says nothing of an f in [0, 1].
    """
    if n_facts < 2:
        return math.inf
    power = beta * c
    log_bound = (
        math.log1p(1 / power)
        - math.log(n_facts - 1)
        + (math.log(c) + 2 * math.log(L) + power * math.log(n_steps)) / (power + 1)
    )
    return _exp(log_bound)


def recurrence_bound(L: float, beta: float, rates: Numbers, n_facts: int) -> float:
    """min over t0 <= n of t0 / n + L Delta_T, the rates as they are; above 1 it says nothing.

    Delta_{t+1} = (1 - 1/n)(1 + a_t beta) Delta_t + (Delta_t + a_t L) / n from Delta_{t0} = 0 on:
    in the first t0 steps the fact is met with a probability of t0 / n at most. That is a sum over
    t >= t0 of a_t L / n times the growth after t; both are added up from the last step back, in
    logarithms, since they outgrow any float.
    """
    starts = np.arange(min(n_facts, len(rates)) + 1)
    log_sums = np.full(len(starts), -np.inf)  # of the steps from each start on
    log_growth, log_sum = 0.0, -np.inf
    for stop in range(len(rates), 0, -_BLOCK):
        first = max(stop - _BLOCK, 0)
        steps = rates[first:stop][::-1]
        growths = log_growth + np.cumsum(np.log1p((1 - 1 / n_facts) * beta * steps))
        before = np.concatenate([[log_growth], growths[:-1]])
        with np.errstate(divide="ignore"):  # a rate may be 0
            terms = np.log(steps) + math.log(L / n_facts) + before
        sums = np.logaddexp.accumulate(np.concatenate([[log_sum], terms]))[1:][::-1]
        log_growth, log_sum = float(growths[-1]), float(sums[0])
        mine = log_sums[first:stop]
        mine[:] = sums[: len(mine)]
    with np.errstate(over="ignore"):
        return float((starts / n_facts + np.exp(math.log(L) + log_sums)).min())


def theorise(samples: Sequence[Sample]) -> Theory:
    """Constants, bounds, errors and normaliser of a run.

    Of several seeds the largest constants and the longest training, so that the bounds are for all.
    Errors are over single facts, each removed alone: for every prediction the one that rollback
    ranks first, and three adjacent ones drawn at random. The normaliser is that of the first seed.
    """
    results = [sample.case.result for sample in samples]
    problem = samples[0].case.retrainer.recipe.problem
    rates = max((_rates(sample.case.retrainer) for sample in samples), key=len)
    largest_norm = max(max(result["norms"].values()) for result in results)
    known = problem.model.trilinear
    L, beta = lipschitz_constant(largest_norm), smoothness(largest_norm)
    c, n_facts, n_steps = schedule_constant(rates), len(problem.facts), len(rates)
    bounded = known and problem.config.batch_size == 1
    misses = np.concatenate([_misses(sample) for sample in samples])
    normalisers, scores = _normalisers(samples[0])
    return Theory(
        model=problem.model.name,
        largest_norm=largest_norm,
        lipschitz=L if known else None,
        lipschitz_met=max(result["lipschitz"] for result in results),
        smoothness=beta if known else None,
        n_facts=n_facts,
        n_steps=n_steps,
        rate=c,
        stability_bound=stability_bound(L, beta, c, n_facts, n_steps) if bounded else None,
        recurrence_bound=recurrence_bound(L, beta, rates, n_facts) if bounded else None,
        rollback_error=float(misses[:, 0].mean()),
        original_error=float(misses[:, 1].mean()),
        n_pairs=len(misses),
        normaliser_mean=float(normalisers.mean()) if len(normalisers) else None,
        normaliser_std=float(normalisers.std()) if len(normalisers) else None,
        score_std=float(scores.std()) if len(scores) else None,
    )


def _rates(retrainer: Retrainer) -> Numbers:
    """(n_steps,) the rate of every step, up to the epoch that the run kept."""
    recipe, problem = retrainer.recipe, retrainer.recipe.problem
    nothing = np.zeros(0, np.bool_)
    timeline = Timeline(problem.config, len(problem.facts), problem.n_directions, nothing)
    n_epochs, n_more = divmod(recipe.n_facts, len(problem.facts))
    n_batches = math.ceil(n_more / problem.config.batch_size)
    n_steps = n_epochs * timeline.updates_per_epoch + n_batches * problem.n_directions
    return timeline.rates(np.arange(n_steps))


def _misses(sample: Sample) -> NDArray[np.float64]:
    """(n_pairs, 2) how far rollback, and how far the original, is from the retrained model."""
    ranked = sample.rank("rollback", 1), sample.rank("random", N_RANDOM)
    chosen = [np.union1d(first, others) for first, others in zip(*ranked, strict=True)]
    pairs = [(number, fact_id) for number, ids in enumerate(chosen) for fact_id in ids]
    jobs = [Job.of([fact_id], [number]) for number, fact_id in pairs]
    outcomes = sample.case.retrainer.ask(sample.predictions, jobs)
    actual = outputs(sample, np.concatenate(outcomes.jobs))
    original = outputs(sample, outcomes.control)[[number for number, _ in pairs]]
    foretold = [rolled_back(sample, number, [*ids[:, None]]) for number, ids in enumerate(chosen)]
    return np.abs(np.stack([np.concatenate(foretold), original], axis=1) - actual[:, None])


def _normalisers(sample: Sample) -> tuple[Numbers, Numbers]:
    """Of facts spread evenly over all: log of the sum over all objects of e^score, and the score.

    Both are empty for ratings, which no softmax turns into probabilities.
    """
    trained = sample.case.trained
    facts, scorer, objects = trained.dataset.train, trained.scorer, trained.dataset.objects
    if trained.learned_ratings:
        return np.zeros(0), np.zeros(0)
    chosen = np.unique(np.linspace(0, len(facts) - 1, min(len(facts), _MOST_FACTS)).astype(int))
    facts = facts[chosen]
    queries, places = np.unique(facts[:, [SUBJECT, RELATION]], axis=0, return_inverse=True)
    sums = [_log_sum(scorer.scores(subject, relation, objects)) for subject, relation in queries]
    return np.array(sums)[places.ravel()], scorer.fact_scores(facts).astype(np.float64)


def _log_sum(scores: Rows) -> float:
    return float(np.logaddexp.reduce(scores.astype(np.float64)))


def _exp(value: float) -> float:
    """e^value, or infinity where that is too large."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
