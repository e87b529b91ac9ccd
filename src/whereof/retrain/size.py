"""The size of the estimates of a sweep, measured by retraining, once per run.

The log-odds of a prediction, as a function of the weight of one fact, is not quite a line: without
the fact it falls further than its slope at full weight predicts. Large falls deviate more than
small ones: small falls are as estimated, and strong facts of a run have about the same ratio of
true to estimated fall. So a few retrainings of strong facts correct the size of all estimates. The
same retrainings check the corrected estimates.
"""

from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof.errors import Diverged
from whereof.events import Advanced, Events
from whereof.predict.prediction import Prediction
from whereof.predict.predictions import Predictions
from whereof.predict.scored import ScoredPrediction, Standings, Trained
from whereof.retrain.engine import Engine, Job, LocalEngine, Recipe
from whereof.training.problem import Problem
from whereof.types import FactIds, Numbers

N_PREDICTIONS = 8
CHECKS_EACH = 2
"""Number of facts that are checked for each prediction."""
N_LISTED = 10
"""Checks draw from this number of listed facts."""
_STRONG = 0.5
"""The facts that count have at least this share of the largest influence on a prediction."""
_LEAST_RATIO = 0.75
"""The smallest ratio for which a larger estimate always means a larger corrected fall."""
_BEYOND = 2.0
"""The ratio stops growing at falls that are this many times as large as those of strong facts."""
NO_CURVE = np.ones(2)
"""The curve that leaves estimates as they are."""


class MeasuredSizes(NamedTuple):
    """What retraining shows of the sizes of estimates."""

    curve: Numbers
    """(2,) the ratio of true to estimated fall, and the estimated fall; medians of strong facts,
    which are the first facts of the predictions."""
    checks: Numbers
    """(n_checks, 3) the probability or rating of a prediction with all facts, its estimate without
    one of them, and its true value without it. The estimate is corrected by the curve of the other
    predictions."""


def places_to_check(n_listed: int, number: int) -> list[int]:
    """Places of the facts to retrain without, of those that an explanation lists.

    They are the first place, and another one that depends on the number of the prediction.
    """
    if n_listed < 2:
        return list(range(n_listed))
    return [0, 1 + number % (n_listed - 1)]


def draw_sample(trained: Trained) -> list[ScoredPrediction]:
    """Some held-out facts as predictions; facts of training if there are no others."""
    data = trained.dataset
    facts = next(each for each in (data.test, data.valid, data.train) if len(each))
    chosen = np.random.default_rng(0).permutation(len(facts))[:N_PREDICTIONS]
    return [trained.score(Prediction(*fact)) for fact in facts[chosen].tolist()]


def correct_falls(falls: Numbers, curve: Numbers) -> Numbers:
    """Estimated falls, corrected to the size that retraining shows.

    curve: (2,) see `MeasuredSizes`. The ratio is 1 for no fall, and grows in proportion to it.
    """
    ratio, at = curve
    return np.asarray(falls * (1 + (ratio - 1) * np.clip(falls / at, 0, _BEYOND)))


def measure_sizes(
    trained: Trained, sample: Sequence[ScoredPrediction], changes: Numbers, events: Events
) -> MeasuredSizes:
    """Retrain without two of the strongest facts of each prediction, and compare.

    changes: (n_predictions, n_facts) estimated falls of the log-odds, or of ratings.
    """
    pairs = _pairs_to_check(changes)
    facts = np.unique([fact for _, fact in pairs])
    found = _retrain_without(trained, sample, facts, events) if pairs else None
    if found is None:
        return MeasuredSizes(NO_CURVE, np.zeros((0, 3)))
    rated = trained.config.rated
    scale, numbers = trained.scorer.scale if rated else 1.0, np.arange(len(sample))
    falls, estimates = (found[0] - found[1:]) / scale, changes[:, facts].T
    are_first = np.isin(facts, changes.argmax(axis=1))[:, None]
    strong = are_first & (estimates >= _STRONG * changes.max(axis=1))  # (n_facts, n_predictions)
    checks = []
    for number, fact in pairs:
        curve = _fit_curve(falls, estimates, strong & (numbers != number))
        fall = correct_falls(changes[number, fact], curve) * scale
        before, after = found[0, number], found[1 + np.searchsorted(facts, fact), number]
        checks.append((before, before - fall, after))
    values = np.array(checks)
    return MeasuredSizes(
        _fit_curve(falls, estimates, strong), values if rated else probability_of(values)
    )


def _pairs_to_check(changes: Numbers) -> list[tuple[int, int]]:
    """Numbers of predictions, each with a fact that supports it."""
    pairs = []
    for number, falls in enumerate(changes):
        listed = np.argsort(-falls, kind="stable")[:N_LISTED]
        listed = listed[falls[listed] > 0]
        places = places_to_check(len(listed), number)
        pairs += [(number, fact) for fact in listed[places].tolist()]
    return pairs


def _retrain_without(
    trained: Trained, sample: Sequence[ScoredPrediction], facts: FactIds, events: Events
) -> Numbers | None:
    """(1 + n_facts, n_predictions) log-odds or ratings with all facts, and without each fact.

    None if a retraining diverges.
    """
    assert trained.n_trained is not None
    every = np.arange(len(sample))
    predictions = Predictions.of(trained, [each.prediction for each in sample])
    recipe = Recipe(Problem.of(trained.dataset, trained.config), trained.n_trained)
    jobs = [Job.control(len(sample)), *(Job.of([fact], every) for fact in facts)]
    found = np.zeros((len(jobs), len(sample)))
    engine = _engine_of(trained)
    try:
        with closing(engine.retrain(recipe, jobs, predictions, events.should_stop)) as results:
            for n_done, (number, standings) in enumerate(results, 1):
                assert isinstance(standings, np.ndarray)
                found[number] = log_odds_of(standings, trained.config.rated)
                noun = "retrainings, for the size of estimates"
                events.emit(Advanced(n_done, len(jobs), noun))
    except Diverged:
        return None
    return found


def _fit_curve(falls: Numbers, estimates: Numbers, strong: NDArray[np.bool_]) -> Numbers:
    """(2,) the curve of strong facts, see `MeasuredSizes`; no curve if there is none to fit."""
    if not strong.any():
        return NO_CURVE
    ratio, at = np.median(falls[strong] / estimates[strong]), np.median(estimates[strong])
    if not (ratio > 0 and at > 0):
        return NO_CURVE
    return np.array([max(ratio, _LEAST_RATIO), at])


def _engine_of(trained: Trained) -> Engine:
    if trained.on_card:
        from whereof.retrain.cuda.engine import CudaEngine

        return CudaEngine()
    return LocalEngine()


def log_odds_of(standings: Standings, rated: bool) -> Numbers:
    """The log-odds of the predictions, or their ratings."""
    if rated:
        return np.asarray(standings["score"], np.float64)
    return log_odds(standings["probability"])


def log_odds(probability: float | Numbers) -> Numbers:
    """log p / (1 - p), finite even if a probability is rounded to 0 or 1."""
    p = np.clip(probability, 1e-12, 1 - 1e-12)
    return np.asarray(np.log(p) - np.log1p(-p))


def probability_of(log_odds: float | Numbers) -> Numbers:
    """The probability with these log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.asarray(log_odds))))
