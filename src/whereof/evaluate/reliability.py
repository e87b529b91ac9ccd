"""Measure by retraining how reliable the estimates of a run are."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.sample import Sample, pick
from whereof.evaluate.statistics import pearson, spearman
from whereof.evaluate.variant import find_variant
from whereof.explain.method import Ranked
from whereof.retrain.engine import Job
from whereof.retrain.retrainer import Case
from whereof.retrain.size import CHECKS_EACH, log_odds_of, places_to_check
from whereof.run.reliability import Claims, Linearity, Reliability
from whereof.types import FactIds

LEAST, MOST = 5, 25
"""The least and the largest size of `measure`."""
_MOST_PREDICTIONS = 100
_UP, _DOWN = 1.1, 0.9
_NUDGE = 1 + 1e-6
"""A factor for a weight that is so close to 1 that only rounding changes the result."""
_ABOVE = 3
"""Pairs count if they change by this many times the noise of a slope."""
_LARGEST = 10
"""The ratio is measured on the largest tenth of the removals."""


def n_retrainings(n: int) -> int:
    """The largest number of retrainings of `measure`."""
    return 1 + 3 * n + 1 + CHECKS_EACH * n


def measure(case: Case, n: int) -> Reliability:
    """Measure linearity with n facts, and claims with n predictions."""
    asked = EvaluateOptions(predictions="top", limit=_MOST_PREDICTIONS)
    sample = pick(case, asked)
    jobs = [*linearity_jobs(sample, n, asked.seed), *claims_jobs(sample, sample.default_method, n)]
    sample.ask(jobs)  # all in one go
    linearity = measure_linearity([sample], n, asked.seed)
    claims = measure_claims([sample], sample.default_method, n)
    return Reliability().updated(linearity, [claims] if claims else [])


def linearity_jobs(sample: Sample, n_facts: int, seed: int) -> list[Job]:
    """Retrainings without facts, then with their weights up and down, and one nudge.

    None if the engine cannot change weights.
    """
    if not sample.case.retrainer.engine.weighs:
        return []
    fact_ids = _draw_near(sample, n_facts, seed).tolist()
    factors = [(fact, factor) for factor in (0.0, _UP, _DOWN) for fact in fact_ids]
    every = np.arange(len(sample))
    return [Job.of([fact], every, factor) for fact, factor in [*factors, (fact_ids[0], _NUDGE)]]


def measure_linearity(samples: Sequence[Sample], n_facts: int, seed: int) -> Linearity | None:
    """Compare removals with slopes, in all samples together; None without retrainings for it."""
    pairs, noises = [], []
    for sample in samples:
        if jobs := linearity_jobs(sample, n_facts, seed):
            found, rated = sample.ask(jobs), sample.case.trained.config.rated
            before, after = (
                log_odds_of(found.control, rated),
                log_odds_of(np.stack(found.jobs), rated),
            )
            gone, up, down = np.split(after[:-1], 3)  # each (n_facts, n_predictions)
            pairs.append([before - gone, (up - down) / (_UP - _DOWN)])
            noises.append(np.abs(after[-1] - before))
    if not pairs:
        return None
    removals, slopes = np.concatenate([np.reshape(each, (2, -1)) for each in pairs], axis=1)
    noise = float(np.median(noises))
    seen = np.maximum(np.abs(removals), np.abs(slopes)) > _ABOVE * noise / (_UP - _DOWN)
    removals, slopes = removals[seen], slopes[seen]
    largest = np.argsort(-np.abs(removals), kind="stable")[: -(-len(removals) // _LARGEST)]
    largest = largest[removals[largest] != 0]
    return Linearity(
        n_pairs=len(removals),
        spearman=_known(spearman(slopes, removals)),
        pearson=_known(pearson(slopes, removals)),
        ratio=float(np.median(slopes[largest] / removals[largest])) if len(largest) else None,
        noise=noise,
    )


def claims_jobs(sample: Sample, method: str, most: int) -> list[Job]:
    """The retrainings that check a method's claims: one without each fact that is checked.

    most: number of predictions. Empty if the method makes no claims.
    """
    return [
        Job.of(each.chosen[[place]], [number])
        for number, (each, places) in enumerate(_listed(sample, method, most))
        for place in places
    ]


def measure_claims(samples: Sequence[Sample], method: str, most: int) -> Claims | None:
    """Compare what a method says about facts that it lists with retraining, in all samples."""
    parts = []
    for sample in samples:
        if jobs := claims_jobs(sample, method, most):
            found = sample.ask(jobs)
            before = found.control[[int(job.which[0]) for job in jobs]]
            listed = _listed(sample, method, most)
            estimated = [it.standings[at] for it, at in listed if it.standings is not None]
            parts.append((before, np.concatenate(estimated), np.concatenate(found.jobs)))
    if not parts:
        return None
    before, said, after = (np.concatenate(each) for each in zip(*parts, strict=True))
    outputs = samples[0].outputs
    announced = (said["top"] >= 0) & (said["top"] != before["top"])  # below 0: not known
    return replace(
        Claims.compare(method, *map(outputs, (before, said, after))),
        n_announced=int(announced.sum()),
        n_true=int((announced & (after["top"] == said["top"])).sum()),
    )


def _listed(sample: Sample, method: str, most: int) -> list[tuple[Ranked, list[int]]]:
    """The facts listed for predictions, and the places of those to check.

    Empty if the method estimates no removals here.
    """
    chosen = find_variant(method).method
    says = "standings" in chosen.can and not chosen.retrains
    fits = says and chosen.fits(sample.case_of(method).trained)
    listed = sample.listed(method, most) if fits else ()
    return [(each, places_to_check(len(each.chosen), at)) for at, each in enumerate(listed)]


def _draw_near(sample: Sample, n: int, seed: int) -> FactIds:
    """For each of n predictions, a random fact with one of its entities; repeated ones once."""
    random = np.random.default_rng([seed, sample.case.seed])
    near, found = sample.case.trained.adjacency.facts_of_entity, []
    for number in random.permutation(len(sample))[:n]:
        prediction = sample.predictions[number]
        ends = [end for end in (prediction.subject, prediction.object) if end is not None]
        found.append(random.choice(np.unique(np.concatenate([*map(near, ends)]))))
    return np.unique(np.array(found, np.int64))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value
