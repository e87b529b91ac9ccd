"""Bounds on the sum over all candidates after a removal, computed from few scores or none.

The sum is S = sum over c of p_c e^(x_c), with p the probabilities before and x_c the change of a
candidate's score. Where a candidate keeps its row, a dot product changes by x = d . e, with d the
change of the query: under p a random variable. K(t) = log E e^(tx) has K(0) = 0, K'(0) = E x,
K'' = Var x and |K'''| <= R K'', R being the range of x; so K''(t) <= K''(0) e^(Rt), and

    E x <= log E e^x <= E x + Var x (e^R - R - 1) / R^2,

the left by Jensen. Hoeffding's lemma gives E x + R^2 / 8 on the right as well. R is at most 2 |d|
times the farthest row's distance from their mean. Distances change by no more than the query moves.
"""

import numpy as np

from whereof.explain._rollback_kernels import Changes, log_sums, quadratic_forms, score_queries
from whereof.models.match import DOT
from whereof.predict.scored import ScoredPrediction
from whereof.types import Numbers

Bounds = tuple[Numbers, Numbers]
"""Lower and upper bounds of log S, (n,) each."""

_EXPONENTIALS = 1e-12
"""Relative rounding error of a sum of exponentials."""
_HEAVY = 1024
"""Number of most probable candidates that the close bounds score."""


def wide_bounds(scored: ScoredPrediction, mean_row: Numbers, changes: Changes) -> Bounds:
    """Bounds without scoring: the variance is bounded by the trace of the rows' covariance.

    mean_row: (width,) mean of the candidates' rows, weighted by the softmax.
    """
    if scored.trained.scorer.model.match == "dot":
        mean = float(scored.probabilities @ scored.candidates.squares)
        # The trace of the covariance under the softmax bounds the variance in every direction.
        spread = max(mean - float(mean_row @ mean_row), 0.0) + 1e-6 * mean
        excess = _excess(spread * changes.size**2, scored, changes)
        low, high = changes.mean, changes.mean + excess
    else:
        low, high = -changes.size, changes.size
    slack = _slack(changes, scored)
    with np.errstate(over="ignore"):
        return _logs(np.exp(low - slack), np.exp(high + slack), changes)


def close_bounds(scored: ScoredPrediction, changes: Changes) -> Bounds:
    """Bounds for dot products: probable (heavy) candidates are scored, the light ones bounded.

    A light candidate has at most the probability of the last heavy one, so that the light ones'
    second moment along d is at most that times d^T G d, with G the scatter matrix of all rows.
    """
    n_heavy = min(_HEAVY, len(scored.probabilities))
    heavy = np.argpartition(scored.probabilities, -n_heavy)[-n_heavy:]
    rows, weights = scored.candidates.rows[heavy], scored.probabilities[heavy]
    x = np.empty((len(changes.moved), n_heavy), rows.dtype)
    score_queries(DOT, rows, weights, changes.queries, np.arange(len(x)), x)
    sums, slack = np.empty(len(x)), _slack(changes, scored)
    log_sums(x, weights, np.log(weights), -1, np.zeros(0), sums)
    # No BLAS here: its threads would compete with the threads that share the work.
    light_mean = changes.mean - np.einsum("ij,j->i", x, weights)
    with np.errstate(over="ignore"):
        low, high = _light(scored, weights, light_mean, changes, slack)
        return _logs(np.exp(sums - slack) + low, np.exp(sums + slack) + high, changes)


def _light(
    scored: ScoredPrediction, heavy: Numbers, mean: Numbers, changes: Changes, slack: Numbers
) -> tuple[Numbers | float, Numbers]:
    """Bounds of what the light candidates add to the sum; heavy: the others' probabilities.

    mean: (n,) sum over light candidates of p x.
    """
    mass = max(1.0 - float(heavy.sum()), 0.0)
    most = changes.size * scored.candidates.reach + slack  # no score changes more than this
    if mass < 1e-6:  # their mean would be rounding noise
        return 0.0, (mass + 1e-12) * np.exp(most)
    moment = np.empty(len(mean))
    quadratic_forms(changes.queries, scored.candidates.scatter, moment)
    excess = _excess(float(heavy.min()) * moment / mass, scored, changes)
    low = np.clip((mean - slack) / mass, -most, most)
    high = np.clip((mean + slack) / mass + excess, -most, most)
    return mass * np.exp(low), mass * np.exp(high)


def _excess(variances: Numbers, scored: ScoredPrediction, changes: Changes) -> Numbers:
    """Upper bound of log E e^x - E x."""
    ranges = 2 * changes.size * scored.candidates.radius
    some = np.clip(ranges, 1e-3, 700.0)  # below this, the numerator would lose its digits
    growth = np.where(ranges < 1e-3, 0.51, (np.expm1(some) - some) / some**2)
    return np.minimum(variances * growth, ranges**2 / 8)


def _slack(changes: Changes, scored: ScoredPrediction) -> Numbers:
    """Rounding errors of a change of score and of a sum of exponentials.

    The error of a dot product is at most its width times the precision times both norms.
    """
    width, reach = changes.queries.shape[1] + 2, scored.candidates.reach
    rounding = width * np.finfo(changes.queries.dtype).eps * changes.size * reach
    return np.asarray(rounding + _EXPONENTIALS * (1 + reach))


def _logs(floor: Numbers, ceiling: Numbers, changes: Changes) -> Bounds:
    """Logarithms of the sums, including candidates whose own rows change."""
    precision = float(np.finfo(changes.queries.dtype).eps) + _EXPONENTIALS
    tiny, rough = np.finfo(np.float64).tiny, precision * changes.correction_size
    with np.errstate(invalid="ignore", over="ignore"):
        floor = np.nan_to_num(floor + changes.correction - rough, nan=0.0)
        ceiling = np.nan_to_num(ceiling + changes.correction + rough, nan=np.inf)
    return np.log(np.maximum(floor, tiny)), np.log(np.maximum(ceiling, tiny))
