"""Gradient rollback: subtract what a fact changed in training, and look at the prediction.

The most influential facts are found exactly: by scoring all, or those that bounds cannot exclude.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whereof.explain.method import (
    Context,
    Method,
    Ranked,
    Removed,
    Sets,
    rank_influences,
    rank_removed,
)
from whereof.explain.rollback import Rollback
from whereof.predict.scored import ScoredPrediction
from whereof.types import FactIds, Numbers

PAPER = (
    "Lawrence, Sztyler and Niepert, Explaining Neural Matrix Factorization with Gradient "
    "Rollback, AAAI 2021"
)
_BATCH = 16
"""Number of sets to score before the threshold for the next ones is updated."""
_FAR = 600.0
"""If scores differ more than this, some probabilities are too small for the bounds."""
_FEW_CANDIDATES, _FEW_SCORES = 64, 1 << 15
"""Up to this number of facts, bounds cost more than they save."""


class RollbackMethod(Method):
    """The method of the paper. Its search skips facts that bounds rule out."""

    name = "rollback"
    title = "Gradient rollback"
    citation = PAPER
    needs = frozenset({"trace"})
    can = frozenset({"groups", "contrast", "device", "standings"})

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        """(n_facts,) the quantity now minus the quantity after the fact is rolled back."""
        return self.remove(scored, Sets.each(fact_ids), context).influences

    def rank(
        self,
        scored: ScoredPrediction,
        fact_ids: FactIds,
        context: Context,
        top: int | str | None,
        *,
        opposing: bool = False,
    ) -> Ranked:
        exhaustive, sets = context.exhaustive, Sets.each(fact_ids)
        return search(_roll(scored, context), sets, top, opposing=opposing, exhaustive=exhaustive)

    def remove(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Removed:
        return _roll(scored, context).remove(sets)

    def rank_sets(
        self, scored: ScoredPrediction, sets: Sets, context: Context, top: int | str | None
    ) -> Ranked:
        return search(_roll(scored, context), sets, top)


class SameAnswerRollback(RollbackMethod):
    """Rollback of facts with the same answer in the same place."""

    name = "rollback-o"
    title = "Gradient rollback, facts with the same answer only"
    same_answer = True


ROLLBACK, ROLLBACK_O = RollbackMethod(), SameAnswerRollback()


def _roll(scored: ScoredPrediction, context: Context) -> Rollback:
    return Rollback(scored, context.aim.of, context.aim.rival)


def search(
    rollback: Rollback,
    sets: Sets,
    top: int | str | None,
    *,
    opposing: bool = False,
    exhaustive: bool = False,
) -> Ranked:
    """The strongest sets of facts, by the fastest exact way."""
    scores = rollback.scored.scores
    few = len(scores) <= _FEW_CANDIDATES or len(sets) * len(scores) <= _FEW_SCORES
    if rollback.is_direct:
        ranked = rank_influences(rollback.direct(sets), top, opposing=opposing)
        return replace(ranked, standings=rollback.remove(sets.take(ranked.chosen)).standings)
    exhaustive |= few or rollback.scores_quickly or bool(np.ptp(scores) > _FAR)
    if not isinstance(top, int) or exhaustive:
        return rank_removed(rollback.remove(sets), top, opposing=opposing)
    return _find_strongest(rollback, sets, top, opposing=opposing)


def _find_strongest(rollback: Rollback, sets: Sets, top: int, *, opposing: bool) -> Ranked:
    """The same result as ranking all exact influences, but few of them are computed.

    Sets are scored in the order of their upper bounds, until no remaining set can reach the `top`
    best so far.
    """
    queue, upper = _queue(rollback, sets, top, opposing=opposing)
    scored: list[NDArray[np.int64]] = []
    parts: list[Removed] = []
    for start in range(0, max(len(queue), 1), _BATCH):
        found = np.concatenate([part.influences for part in parts]) if parts else np.empty(0)
        if start and upper[start] < _bar(-found if opposing else found, top):
            break
        scored.append(np.sort(queue[start : start + _BATCH]))  # read traces in file order
        parts.append(rollback.remove(sets.take(scored[-1])))
    chosen = np.concatenate(scored)
    in_order = np.argsort(chosen)
    joined = Removed(*(np.concatenate(part)[in_order] for part in zip(*parts, strict=True)))
    ranked = rank_removed(joined, top, opposing=opposing)
    totals = ranked.totals if len(chosen) == len(sets) else None
    return replace(ranked, chosen=chosen[in_order][ranked.chosen], totals=totals)


def _queue(
    rollback: Rollback, sets: Sets, top: int, *, opposing: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The sets that can be among the `top` best, with their upper bounds, descending."""
    lower, upper = _signed_bounds(rollback, sets, opposing=opposing)
    reach = np.flatnonzero(upper >= _bar(lower, top))
    if rollback.has_close_bounds and len(reach) > top:
        close = _signed_bounds(rollback, sets.take(reach), opposing=opposing, close=True)
        upper[reach] = np.minimum(upper[reach], close[1])
        reach = reach[upper[reach] >= _bar(np.maximum(lower[reach], close[0]), top)]
    queue = reach[np.argsort(-upper[reach], kind="stable")]
    return queue, upper[queue]


def _signed_bounds(
    rollback: Rollback, sets: Sets, *, opposing: bool, close: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds of the influence, with opposite sign for opposing facts."""
    lower, upper = rollback.bounds(sets, close=close)
    lower, upper = np.nan_to_num(lower, nan=-np.inf), np.nan_to_num(upper, nan=np.inf)
    return (-upper, -lower) if opposing else (lower, upper)


def _bar(values: NDArray[np.float64], top: int) -> float:
    """The threshold that a set must reach to be among the `top` best."""
    if len(values) < top:
        return 0.0
    return max(float(np.partition(values, -top)[-top]), 0.0)
