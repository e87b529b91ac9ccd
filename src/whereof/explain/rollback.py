"""Rollback: how a prediction changes when the traces of facts are subtracted.

Let x_c be the change of candidate c's score and p the probabilities before. The prediction's
probability becomes p_o e^(x_o - log S), where S = sum over c of p_c e^(x_c).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from whereof._jit import row_function
from whereof.explain._rollback_kernels import (
    Changes,
    Removals,
    Scratch,
    View,
    log_sums,
    mean_row,
    roll_back,
    score_after,
    score_queries,
    stand_after,
)
from whereof.explain.bounds import CloseBounds, wide_bounds
from whereof.explain.method import Removed, Sets
from whereof.models.match import DOT, MATCH_IDS
from whereof.predict.scored import ScoredPrediction
from whereof.predict.standing import STANDING
from whereof.types import Numbers

__all__ = ["Changes", "CoreScoring", "Rescored", "Rollback", "Scoring"]

_BLOCK, _SCORES = 16, 1 << 18
"""Number of removals to score at a time; more if there are few candidates."""


class Rescored(NamedTuple):
    """All candidates scored again after each of some removals."""

    log_sums: Numbers
    """(n,) log S; exactly 0 if no score changes."""
    tops: NDArray[np.int64]
    """(n,) position of the top answer among the candidates."""
    ranks: NDArray[np.int64]
    """(n,) rank of the prediction's own answer."""


class Scoring(Protocol):
    """Scores all candidates of one prediction after removals of facts."""

    @property
    def dtype(self) -> "np.dtype[np.floating]":
        """The type of the queries in the changes that it takes."""

    @property
    def is_quick(self) -> bool:
        """Whether scoring every removal is faster than computing bounds first."""

    def after(self, changes: Changes) -> Rescored:
        """Score all candidates after each removal."""


class CoreScoring:
    """Scoring on a CPU core; each thread may work on its own prediction."""

    is_quick = False

    def __init__(self, scored: ScoredPrediction) -> None:
        self._scored = scored
        self._kind = MATCH_IDS[scored.trained.scorer.model.match]
        self._rows = scored.candidates.rows

    @property
    def dtype(self) -> "np.dtype[np.floating]":
        """Differences of distances need more digits than the rows have."""
        return self._rows.dtype if self._kind == DOT else np.dtype(np.float64)

    def after(self, changes: Changes) -> Rescored:
        scored, n_sets, n_candidates = self._scored, len(changes.moved), len(self._rows)
        before = (scored.contenders, scored.place, scored.trained.scorer.scale)
        log_sum = np.empty(n_sets)
        tops, ranks = np.empty(n_sets, np.int64), np.empty(n_sets, np.int64)
        size = min(max(_SCORES // n_candidates, _BLOCK), n_sets)
        room = np.empty((size, n_candidates), self.dtype)
        for start in range(0, n_sets, max(size, 1)):
            chosen = np.arange(start, min(start + size, n_sets))
            block, x = slice(start, start + size), room[: len(chosen)]
            score_after(self._kind, self._rows, self._scores_before, chosen, changes, x)
            log_sums(x, *self._weights, log_sum[block])
            stand_after(x, *before, changes.target[block], tops[block], ranks[block])
        return Rescored(log_sum - self._log_sum_before, tops, ranks)

    @property
    def _weights(self) -> tuple[Numbers, Numbers]:
        """Probabilities and their logarithms, (n_candidates,) each."""
        return self._scored.probabilities, self._scored.log_probabilities

    @cached_property
    def _scores_before(self) -> Numbers:
        """(n_candidates,) distances, rounded like those after a change.

        So an unchanged score has a change of exactly 0.
        """
        rows, query = self._rows, self._scored.query
        x, nothing = np.zeros((1, len(rows))), np.zeros(len(rows))
        if self._kind != DOT:
            score_queries(self._kind, rows, nothing, query[None], np.zeros(1, np.int64), x)
        return np.asarray(x[0])

    @cached_property
    def _log_sum_before(self) -> float:
        """The log of the sum of all probabilities: 0 up to rounding."""
        out = np.empty(1)
        log_sums(np.zeros((1, len(self._rows)), self.dtype), *self._weights, out)
        return float(out[0])


@dataclass(frozen=True, eq=False)
class Rollback:
    """Rolls back facts for one prediction and one quantity."""

    scored: ScoredPrediction
    of: str
    """probability, score, loss or log_ratio."""
    rival: int | None = None
    """For log_ratio: the answer to compare with."""

    @property
    def has_close_bounds(self) -> bool:
        return self._view.kind == DOT

    @property
    def scores_quickly(self) -> bool:
        """Whether scoring every set is faster than computing bounds first."""
        return self._scoring.is_quick

    @property
    def is_direct(self) -> bool:
        """Whether the influence can be computed without a sum over all candidates."""
        return self.of in ("score", "log_ratio") or self._is_sigmoid_loss

    @property
    def _is_sigmoid_loss(self) -> bool:
        return self.of == "loss" and self.scored.trained.config.loss == "sigmoid"

    def changes(self, sets: Sets, view: View | None = None) -> Changes:
        """How each set changes the scores of the candidates."""
        scored, view = self.scored, view or self._view
        trace, rows = _readable(scored.trained.need_trace(), sets.fact_ids)
        removals = Removals(sets.bounds, sets.fact_ids, rows, scored.trained.dataset.train)
        most = 2 * int(np.diff(sets.bounds).max(initial=0))
        out = _room_for_changes(len(sets), most, len(view.query), self._scoring.dtype)
        query = row_function(scored.trained.scorer.model.query, 3, "float64")
        before, scratch = (scored.probabilities, self._mean_row), _room_for_one(most, view)
        roll_back(query, view, removals, trace, *before, scratch, out)
        return out

    def bounds(self, sets: Sets, *, close: bool = False) -> tuple[Numbers, Numbers]:
        """Lower and upper bounds of the influence, (n_sets,) each.

        Close bounds exist for dot products only and cost more.
        """
        lower, upper = [], []
        for changes in map(self.changes, sets.parts()):
            if close:
                low, high = self._close_bounds.log_sums(changes)
            else:
                low, high = wide_bounds(self.scored, self._mean_row, changes)
            lower.append(self._influence(changes, low))
            upper.append(self._influence(changes, high))
        return np.concatenate(lower), np.concatenate(upper)

    def direct(self, sets: Sets) -> Numbers:
        """(n_sets,) influence that is computed without a sum over all candidates."""
        parts = [self._direct(part, self.changes(part)) for part in sets.parts()]
        return np.concatenate([np.empty(0), *parts])

    def remove(self, sets: Sets) -> Removed:
        """Influence of each set, and the standing of the prediction without it."""
        parts = zip(*map(self._remove, sets.parts()), strict=True)
        return Removed(*map(np.concatenate, parts))

    def _remove(self, sets: Sets) -> Removed:
        scored, changes = self.scored, self.changes(sets)
        scale, after = scored.trained.scorer.scale, self._scoring.after(changes)
        out = np.empty(len(sets), STANDING)
        out["probability"] = np.exp(self._log_probability + changes.target - after.log_sums)
        before = float(scored.scores[scored.place])
        out["score"] = before + scale * (changes.target + changes.offset)
        out["rank"] = after.ranks
        out["top"] = out["top_released"] = scored.candidates.ids[after.tops]
        if self.is_direct:
            return Removed(self._direct(sets, changes), out)
        return Removed(self._influence(changes, after.log_sums), out)

    def _influence(self, changes: Changes, log_sum: Numbers) -> Numbers:
        log_ratio = changes.target - log_sum
        if self.of == "loss":
            return np.asarray(-log_ratio) + 0.0  # turn -0 into 0
        before = self.scored.probability
        fall = -before * np.expm1(np.minimum(log_ratio, 1.0)) + 0.0  # keeps small digits
        rises = log_ratio > 1.0
        if rises.any():
            after = np.exp(np.minimum(self._log_probability + log_ratio[rises], 0.0))
            fall[rises] = before - after
        return fall

    def _direct(self, sets: Sets, changes: Changes) -> Numbers:
        scale = self.scored.trained.scorer.scale
        if self.of == "log_ratio":
            rival = int(self.scored.candidates.places[self.rival])
            other = self.changes(sets, self._view._replace(target=rival))
            return np.asarray(scale * (other.target - changes.target))
        change = scale * (changes.target + changes.offset)
        if self._is_sigmoid_loss:
            before = float(self.scored.scores[self.scored.place])
            return np.asarray(np.logaddexp(0, -before - change) - np.logaddexp(0, -before))
        return np.asarray(-change) + 0.0

    @cached_property
    def _scoring(self) -> Scoring:
        return (self.scored.trained.backing or CoreScoring)(self.scored)

    @cached_property
    def _view(self) -> View:
        scored, trained = self.scored, self.scored.trained
        slots, rows = trained.slots, trained.parameters
        return View(
            kind=MATCH_IDS[trained.scorer.model.match],
            given=scored.given,
            relation=-1 if trained.dataset.two_way else scored.relation,
            given_row=np.asarray(rows.entity_rows[scored.given], np.float64),
            relation_row=np.asarray(rows.relation_rows[scored.relation_row], np.float64),
            query=scored.query,
            rows=scored.candidates.rows,
            places=scored.candidates.places,
            target=scored.place,
            relation_start=slots[3 if scored.asks == "subject" else 1].start,
            object_start=slots[2].start,
        )

    @property
    def _log_probability(self) -> float:
        return float(self.scored.log_probabilities[self.scored.place])

    @cached_property
    def _mean_row(self) -> Numbers:
        """(width,) mean of the candidates' rows under the softmax; not needed for distances."""
        rows = self.scored.candidates.rows
        mean = np.zeros(rows.shape[1])
        if self._view.kind == DOT:
            mean_row(rows, self.scored.probabilities, mean)
        return mean

    @cached_property
    def _close_bounds(self) -> CloseBounds:
        return CloseBounds(self.scored)


def _readable(
    trace: NDArray[Any], fact_ids: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """A trace that kernels can read, and the rows of the facts in it."""
    if trace.dtype == np.float16:  # compiled code does not support half precision
        trace, fact_ids = trace[fact_ids].astype(np.float32), np.arange(len(fact_ids))
    # So one compiled kernel works for traces in memory and for read-only maps.
    view = np.asarray(trace).view()
    view.flags.writeable = False
    return view, fact_ids


def _room_for_changes(
    n_sets: int, most: int, query_width: int, dtype: "np.dtype[np.floating]"
) -> Changes:
    numbers = ("size", "mean", "target", "offset", "correction", "correction_size")
    return Changes(
        queries=np.empty((n_sets, query_width), dtype),
        moved=np.empty(n_sets, np.bool_),
        n_own=np.zeros(n_sets, np.int64),
        own=np.empty((n_sets, most), np.int32),
        own_changes=np.empty((n_sets, most)),
        **{name: np.zeros(n_sets) for name in numbers},
    )


def _room_for_one(most: int, view: View) -> Scratch:
    return Scratch(
        given_row=np.empty_like(view.given_row),
        relation_row=np.empty_like(view.relation_row),
        query=np.empty_like(view.query),
        row=np.empty(view.rows.shape[1]),
        own_rows=np.empty((0 if view.kind == DOT else most, view.rows.shape[1])),
        own_of=np.full(len(view.rows), -1, np.int32),
    )
