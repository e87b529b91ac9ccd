"""Which facts influence most: all of them scored, or only those that bounds do not rule out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whence.explain._rollback import Rollback, Sets

_BATCH = 16
"""Sets that are scored before the bar for the next ones is raised."""
_FEW = 1 << 15
"""Scores up to which bounds are not worth their while."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """Some of many sets of facts, strongest first."""

    chosen: NDArray[np.int64]
    influences: NDArray[np.float64]


def search(
    rollback: Rollback,
    sets: Sets,
    top: int | str | None,
    *,
    opposing: bool = False,
    exhaustive: bool = False,
) -> Ranked:
    """The strongest sets of facts, by the shortest way that finds the same ones."""
    n_scores = len(sets) * len(rollback.situation.contest.scores)
    if not isinstance(top, int) or exhaustive or rollback.is_direct or n_scores <= _FEW:
        return rank(rollback.influences(sets), top, opposing=opposing)
    return _find_strongest(rollback, sets, top, opposing=opposing)


def rank(influences: NDArray[np.float64], top: int | str | None, *, opposing: bool) -> Ranked:
    """The order of influences: the `top` strongest, "all" of the asked sign, or with None any.

    Facts stand in the order of their ids, so ties go to the lower one.
    """
    signed = -influences if opposing else influences
    order = np.argsort(-signed, kind="stable")
    if top is not None:
        order = order[signed[order] > 0]
    if isinstance(top, int):
        order = order[:top]
    return Ranked(order, influences[order])


def _find_strongest(rollback: Rollback, sets: Sets, top: int, *, opposing: bool) -> Ranked:
    """The same as ranking all exact influences, with few of them worked out.

    Sets are scored in the order of what they can reach, until none that is left can reach the
    `top` best so far.
    """
    lower, upper = rollback.bounds(sets)
    if opposing:
        lower, upper = -upper, -lower
    reach = np.flatnonzero(upper >= _bar(lower, top))
    queue = reach[np.argsort(-upper[reach], kind="stable")]
    found = np.full(len(sets), -np.inf)
    for start in range(0, len(queue), _BATCH):
        if upper[queue[start]] < _bar(found[queue[:start]], top):
            break
        batch = queue[start : start + _BATCH]
        exact = rollback.influences(sets.take(batch))
        found[batch] = -exact if opposing else exact
    scored = np.flatnonzero(np.isfinite(found))
    ranked = rank(found[scored], top, opposing=False)
    sign = -1.0 if opposing else 1.0
    return Ranked(scored[ranked.chosen], sign * ranked.influences)


def _bar(values: NDArray[np.float64], top: int) -> float:
    """What a set must reach to be among the `top` best, and to count at all."""
    if len(values) < top:
        return 0.0
    return max(float(np.partition(values, -top)[-top]), 0.0)
