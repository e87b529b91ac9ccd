"""Rollback: how a prediction changes when the traces of some facts are subtracted.

With x_c the change of candidate c's score and p the probabilities before, the prediction's
probability becomes p_o e^(x_o - log S), where S = sum over c of p_c e^(x_c).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof._jit import row_function
from whereof.explain._backing import CoreScoring, Scoring
from whereof.explain._bounds import CloseBounds, WideBounds
from whereof.explain._changes import Changes, Removals, Scratch, View, roll_back
from whereof.explain._scores_after import mean_row
from whereof.explain._sets import Sets
from whereof.explain._situation import Situation
from whereof.models.match import DOT, MATCH_IDS
from whereof.types import Numbers


@dataclass(frozen=True, eq=False)
class Outcomes:
    """How the prediction stands after each of some removals, and what that is to it."""

    influences: Numbers
    probabilities: Numbers
    scores: Numbers
    ranks: NDArray[np.int64]
    tops: NDArray[np.int64]
    """Where the top answer stands among the candidates."""

    @classmethod
    def joined(cls, parts: Sequence["Outcomes"]) -> "Outcomes":
        """All parts in one."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def take(self, chosen: NDArray[np.int64]) -> "Outcomes":
        return Outcomes(*(column[chosen] for column in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Rollback:
    """One situation, from which facts are rolled back, and what their influence is on."""

    situation: Situation
    of: str
    """probability, score, loss or log_ratio."""
    rival: int | None = None
    """For log_ratio: where the answer to compare with stands among the candidates."""

    @property
    def has_close_bounds(self) -> bool:
        return self.situation.trained.scorer.model.match == "dot"

    @property
    def scores_quickly(self) -> bool:
        """Whether scoring every set takes less time than bounds that rule some out."""
        return self._scoring.is_quick

    @property
    def is_direct(self) -> bool:
        """Whether influence needs no sum over all candidates."""
        return self.of in ("score", "log_ratio") or self._is_sigmoid_loss

    @property
    def _is_sigmoid_loss(self) -> bool:
        return self.of == "loss" and self.situation.trained.config.loss == "sigmoid"

    def changes(self, sets: Sets, target: int | None = None) -> Changes:
        """What each set changes in the scores of the candidates."""
        situation, view = self.situation, self._view
        if target is not None:
            view = view._replace(target=target)
        trace, rows = _readable(situation.trained.need_trace(), sets.fact_ids)
        facts = situation.trained.dataset.train
        removals = Removals(sets.bounds, sets.fact_ids, rows, facts)
        most = 2 * int(np.diff(sets.bounds).max(initial=0))
        out = _room_for_changes(len(sets), most, len(view.query), self._scoring.dtype)
        scratch = _room_for_one(most, view)
        query = row_function(situation.trained.scorer.model.query, 3, "float64")
        roll_back(
            query,
            view,
            removals,
            trace,
            situation.contest.probabilities,
            self._mean_row,
            scratch,
            out,
        )
        return out

    def bounds(self, sets: Sets, *, close: bool = False) -> tuple[Numbers, Numbers]:
        """(n_sets,) each: what influence is at least and at most.

        Close bounds, which dot products have, cost more.
        """
        kind = self._close_bounds if close else self._wide_bounds
        lower, upper = [], []
        for part in sets.parts():
            changes = self.changes(part)
            low, high = kind.log_sums(changes)
            lower.append(self._influence(changes, low))
            upper.append(self._influence(changes, high))
        return np.concatenate(lower), np.concatenate(upper)

    def direct(self, sets: Sets) -> Numbers:
        """(n_sets,) influence that needs no sum over all candidates."""
        parts = [self._direct(part, self.changes(part)) for part in sets.parts()]
        return np.concatenate([np.empty(0), *parts])

    def outcomes(self, sets: Sets) -> Outcomes:
        """How the prediction stands after every set."""
        return Outcomes.joined([self._outcomes(part) for part in sets.parts()])

    def _outcomes(self, sets: Sets) -> Outcomes:
        situation, changes = self.situation, self.changes(sets)
        scale, after = situation.trained.scorer.scale, self._scoring.after(changes)
        log_sum = after.log_sums
        influences = (
            self._direct(sets, changes) if self.is_direct else self._influence(changes, log_sum)
        )
        return Outcomes(
            influences=influences,
            probabilities=np.exp(self._log_probability + changes.target - log_sum),
            scores=situation.standing.score + scale * (changes.target + changes.offset),
            ranks=after.ranks,
            tops=after.tops,
        )

    def _influence(self, changes: Changes, log_sum: Numbers) -> Numbers:
        log_ratio = changes.target - log_sum
        if self.of == "loss":
            return np.asarray(-log_ratio) + 0.0  # no influence is 0, not -0
        before = self.situation.probability
        fall = -before * np.expm1(np.minimum(log_ratio, 1.0)) + 0.0  # digits of small ones kept
        rises = log_ratio > 1.0
        if rises.any():
            after = np.exp(np.minimum(self._log_probability + log_ratio[rises], 0.0))
            fall[rises] = before - after
        return fall

    def _direct(self, sets: Sets, changes: Changes) -> Numbers:
        scale = self.situation.trained.scorer.scale
        if self.of == "log_ratio":
            other = self.changes(sets, target=self.rival)
            return np.asarray(scale * (other.target - changes.target))
        change = scale * (changes.target + changes.offset)
        if self._is_sigmoid_loss:
            before = self.situation.standing.score
            return np.asarray(np.logaddexp(0, -before - change) - np.logaddexp(0, -before))
        return np.asarray(-change) + 0.0

    @cached_property
    def _scoring(self) -> Scoring:
        return (self.situation.trained.backing or CoreScoring)(self.situation)

    @cached_property
    def _view(self) -> View:
        situation, contest = self.situation, self.situation.contest
        trained = situation.trained
        slots = trained.slots
        return View(
            kind=MATCH_IDS[trained.scorer.model.match],
            given=contest.given,
            relation=-1 if trained.dataset.two_way else situation.relation,
            given_row=contest.given_row,
            relation_row=contest.relation_vector,
            query=contest.query,
            rows=contest.candidates.rows,
            places=contest.candidates.places,
            target=situation.place,
            relation_start=slots[3 if contest.asks == "subject" else 1].start,
            object_start=slots[2].start,
        )

    @property
    def _log_probability(self) -> float:
        return float(self.situation.contest.log_probabilities[self.situation.place])

    @cached_property
    def _mean_row(self) -> Numbers:
        """(width,) mean of the candidates' rows under the softmax; distances do not ask."""
        rows = self.situation.contest.candidates.rows
        mean = np.zeros(rows.shape[1])
        if self._view.kind == DOT:
            mean_row(rows, self.situation.contest.probabilities, mean)
        return mean

    @cached_property
    def _wide_bounds(self) -> WideBounds:
        return WideBounds(self.situation.contest, self._mean_row)

    @cached_property
    def _close_bounds(self) -> CloseBounds:
        return CloseBounds(self.situation.contest)


def _readable(
    trace: NDArray[Any], fact_ids: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """A trace that kernels can read, and where in it the facts stand."""
    if trace.dtype == np.float16:  # compiled code knows no half precision
        trace, fact_ids = trace[fact_ids].astype(np.float32), np.arange(len(fact_ids))
    # One compiled kernel serves traces in memory and those mapped for reading alone.
    view = np.asarray(trace).view()
    view.flags.writeable = False
    return view, fact_ids


def _room_for_changes(
    n_sets: int, most: int, query_width: int, dtype: "np.dtype[np.floating]"
) -> Changes:
    def numbers() -> Numbers:
        return np.zeros(n_sets)

    return Changes(
        queries=np.empty((n_sets, query_width), dtype),
        moved=np.empty(n_sets, np.bool_),
        size=numbers(),
        mean=numbers(),
        target=numbers(),
        offset=numbers(),
        n_own=np.zeros(n_sets, np.int64),
        own=np.empty((n_sets, most), np.int32),
        own_changes=np.empty((n_sets, most)),
        correction=numbers(),
        correction_size=numbers(),
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
