"""Bounds on the sum over all candidates after a removal, without scoring any of them."""

import numpy as np
from numpy.typing import NDArray

from whence.explain._kernels import Changes
from whence.explain._situation import Situation

Numbers = NDArray[np.float64]


def log_sum_bounds(
    situation: Situation, changes: Changes, spread: float
) -> tuple[Numbers, Numbers]:
    """(n,) each: what log S is at least and at most, S = sum over c of p_c e^(x_c).

    Take the candidates' own rows as they were; their true part is known and added after. For dot
    products x = d . e with the query's change d, a random variable under p. K(t) = log E e^(tx) has
    K(0) = 0, K'(0) = d . mean, K'' = variance of x, and |K'''| <= R K'' with R the range of x, so
    K''(t) <= K''(0) e^(Rt) and

        d . mean <= log E e^x <= d . mean + K''(0) (e^R - R - 1) / R^2

    (the left by Jensen). The variance is at most |d|^2 times the trace of the rows' covariance, and
    R at most 2 |d| times the farthest row's distance from any point. Hoeffding's lemma gives
    d . mean + R^2 / 8 as well. Distances change by no more than the query moves: |x| <= |d|.
    """
    if situation.trained.scorer.model.match == "dot":
        ranges = 2 * changes.size * situation.contest.candidates.radius
        excess = np.minimum(spread * changes.size**2 * _growth(ranges), ranges**2 / 8)
        low, high = changes.mean, changes.mean + excess
    else:
        low, high = -changes.size, changes.size
    # What rounding can make of scores that are worked out in the precision of the rows.
    precision = 8 * np.finfo(changes.queries.dtype).eps
    slack = precision * (1 + changes.size) * (1 + situation.contest.candidates.reach)
    with np.errstate(over="ignore"):
        floor = np.exp(low - slack) + changes.correction
        ceiling = np.exp(high + slack) + changes.correction
    tiny = np.finfo(np.float64).tiny
    return np.log(np.maximum(floor, tiny)), np.log(np.maximum(ceiling, tiny))


def _growth(ranges: Numbers) -> Numbers:
    """(e^R - R - 1) / R^2, which is 1/2 at 0."""
    some = np.clip(ranges, 1e-3, 700.0)  # below, the digits of the numerator would go
    return np.where(ranges < 1e-3, 0.51, (np.expm1(some) - some) / some**2)
