"""Gradient rollback: subtract what a fact changed in training, and look at the prediction.

Let x_c be the change of candidate c's score and p the probabilities before. The prediction's
probability becomes p_o e^(x_o - log S), where S = sum over c of p_c e^(x_c). The most influential
facts are found exactly: by scoring all, or those that bounds cannot exclude.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof._jit import row_function
from whereof.explain import _rollback_kernels as kernels
from whereof.explain._rollback_kernels import Changes as Changes
from whereof.explain._rollback_kernels import View
from whereof.explain._rollback_own_score import roll_back_own_score
from whereof.explain.bounds import close_bounds, wide_bounds
from whereof.explain.method import Aim, Context, Method, Ranked, Removed, Sets, rank_influences
from whereof.memory import prefetch
from whereof.models.match import DOT, MATCH_IDS
from whereof.predict.scored import STANDING, ScoredPrediction, Trained
from whereof.training.results import Parameters
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Numbers

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
_TRACES = 1 << 12
"""Number of traces to read at a time."""
_BLOCK, _SCORES = 16, 1 << 18
"""Number of removals to score at a time; more if there are few candidates."""


class RollbackMethod(Method):
    """The method of the paper. Its search skips facts that bounds rule out."""

    name = "rollback"
    title = "Gradient rollback"
    phrase = "quick estimate"
    citation = PAPER
    needs = frozenset({"trace"})
    can = frozenset({"groups", "contrast", "device", "standings"})

    def rank(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Ranked:
        if scored.trained.scorer.model.score is not None:
            influences, standings = self.remove(scored, sets, context)
            return rank_influences(influences, context, standings)
        return search(Rollback(scored, context.aim), sets, context)

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        rollback, sets = Rollback(scored, context.aim), Sets.each(fact_ids)
        if scored.trained.scorer.model.score is not None:
            return self.remove(scored, sets, context).influences
        return rollback.direct(sets) if rollback.is_direct else rollback.remove(sets).influences

    def remove(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Removed:
        if scored.trained.scorer.model.score is not None:
            return roll_back_own_score(scored, sets, context.aim)
        return Rollback(scored, context.aim).remove(sets)


class SameAnswerRollback(RollbackMethod):
    """Rollback of facts with the same answer in the same place."""

    name = "rollback-o"
    title = "Gradient rollback, facts with the same answer only"
    phrase = "quick estimate, facts with the same answer only"
    same_answer = True
    nominates = False  # rollback finds the same facts


ROLLBACK, ROLLBACK_O = RollbackMethod(), SameAnswerRollback()


class Rescored(NamedTuple):
    """All candidates scored again after each of some removals."""

    log_sums: Numbers
    """(n,) log S; exactly 0 if no score changes."""
    tops: NDArray[np.int64]
    """(n,) position of the top answer among the candidates."""
    ranks: NDArray[np.int64]
    """(n,) rank of the prediction's own answer."""


class CoreScoring:
    """Scores all candidates of one prediction after removals of facts, on a CPU core.

    Each thread may work on its own prediction. `Trained.backing` gives another one of its kind.
    """

    is_quick = False
    """Whether scoring every removal is faster than computing bounds first."""

    def __init__(self, scored: ScoredPrediction) -> None:
        self._scored, self._rows = scored, scored.candidates.rows
        self._kind = MATCH_IDS[scored.trained.scorer.model.match]
        # The type of queries in changes. Differences of distances need more digits than rows have.
        self.dtype: np.dtype[np.floating] = (
            self._rows.dtype if self._kind == DOT else np.dtype(np.float64)
        )

    def after(self, changes: Changes) -> Rescored:
        """Score all candidates after each removal."""
        scored, n_sets, n_candidates = self._scored, len(changes.moved), len(self._rows)
        logs, tops, ranks = np.empty(n_sets), np.empty(n_sets, int), np.empty(n_sets, int)
        weights = (scored.probabilities, scored.log_probabilities)
        before, size = (scored.contenders, scored.place), max(_SCORES // n_candidates, _BLOCK)
        room = np.empty((min(size, n_sets), n_candidates), self.dtype)
        for start in range(0, n_sets, size):
            chosen = np.arange(start, min(start + size, n_sets))
            block, x = slice(start, start + size), room[: len(chosen)]
            kernels.score_after(self._kind, self._rows, self._before, chosen, changes, x)
            mine = scored.place, changes.target[block]
            kernels.log_sums(x, *weights, *mine, logs[block])
            kernels.stand_after(x, *before, changes.target[block], tops[block], ranks[block])
        return Rescored(logs - self._log_sum_before, tops, ranks)

    @cached_property
    def _log_sum_before(self) -> Numbers:
        """(1,) the log of the sum of all probabilities: 0 up to rounding."""
        weights, out = (self._scored.probabilities, self._scored.log_probabilities), np.empty(1)
        nothing = np.zeros((1, len(self._rows)), self.dtype)
        kernels.log_sums(nothing, *weights, self._scored.place, np.zeros(1), out)
        return out

    @cached_property
    def _before(self) -> Numbers:
        """(n_candidates,) distances, rounded like those after a change: no change is exactly 0."""
        x, nothing = np.zeros((1, len(self._rows))), np.zeros(len(self._rows))
        if self._kind != DOT:
            query, first = self._scored.query[None], np.zeros(1, np.int64)
            kernels.score_queries(self._kind, self._rows, nothing, query, first, x)
        return np.asarray(x[0])


@dataclass(frozen=True, eq=False)
class Rollback:
    """Rolls back facts for one prediction and one quantity."""

    scored: ScoredPrediction
    aim: Aim

    @cached_property
    def scoring(self) -> CoreScoring:
        return (self.scored.trained.backing or CoreScoring)(self.scored)

    @property
    def is_direct(self) -> bool:
        """Whether the influence can be computed without a sum over all candidates."""
        return self.aim.of in ("score", "log_ratio") or self._is_sigmoid_loss

    @property
    def _is_sigmoid_loss(self) -> bool:
        return self.aim.of == "loss" and self.scored.trained.config.loss == "sigmoid"

    def changes(self, sets: Sets, view: View | None = None) -> Changes:
        """How each set changes the scores of the candidates."""
        scored, view = self.scored, view or self._view
        assert scored.trained.trace is not None, "see Method.check"
        trace, rows = _readable(scored.trained.trace, sets.fact_ids)
        removals = kernels.Removals(sets.bounds, sets.fact_ids, rows, scored.trained.dataset.train)
        n, most = len(sets), 2 * int(np.diff(sets.bounds).max(initial=0))
        numbers = ("size", "mean", "target", "offset", "correction", "correction_size")
        out = Changes(
            queries=np.empty((n, len(view.query)), self.scoring.dtype),
            moved=np.empty(n, np.bool_),
            n_own=np.zeros(n, np.int64),
            own=np.empty((n, most), np.int32),
            own_changes=np.empty((n, most)),
            **{name: np.zeros(n) for name in numbers},
        )
        width = view.rows.shape[1]
        scratch = kernels.Scratch(
            given_row=np.empty_like(view.given_row),
            relation_row=np.empty_like(view.relation_row),
            query=np.empty_like(view.query),
            row=np.empty(width),
            own_rows=np.empty((0 if view.kind == DOT else most, width)),
            own_of=np.full(len(view.rows), -1, np.int32),
        )
        query = row_function(scored.trained.scorer.model.query, 3, "float64")
        before = (scored.probabilities, self._mean_row)
        kernels.roll_back(query, view, removals, trace, *before, scratch, out)
        return out

    def bounds(self, sets: Sets, *, close: bool = False) -> tuple[Numbers, Numbers]:
        """Lower and upper bounds of the influence, (n_sets,) each.

        Close bounds exist for dot products only and cost more. Wide ones of single facts are kept:
        one explanation ranks the same facts several times.
        """
        if close or not sets.are_single:
            return self._bounds(sets, close=close)
        key, fact_ids = ("bounds", self.aim), sets.fact_ids
        if key in self.scored.memo:
            known, limits = self.scored.memo[key]
            places = np.searchsorted(known, fact_ids).clip(max=len(known) - 1)
            if len(known) and (known[places] == fact_ids).all():
                return limits[0][places], limits[1][places]
        limits = self._bounds(sets)
        if (fact_ids[1:] > fact_ids[:-1]).all():
            self.scored.memo[key] = fact_ids, limits
        return limits

    def _bounds(self, sets: Sets, *, close: bool = False) -> tuple[Numbers, Numbers]:
        scored, mean, found = self.scored, self._mean_row, []
        for changes in map(self.changes, sets.parts()):
            limits = close_bounds(scored, changes) if close else wide_bounds(scored, mean, changes)
            found.append([self._influence(changes, log_sums) for log_sums in limits])
        lower, upper = map(np.concatenate, zip(*found, strict=True))
        return np.nan_to_num(lower, nan=-np.inf), np.nan_to_num(upper, nan=np.inf)

    def direct(self, sets: Sets) -> Numbers:
        """(n_sets,) influence that is computed without a sum over all candidates."""
        return np.concatenate([self._direct(part, self.changes(part)) for part in sets.parts()])

    def remove(self, sets: Sets) -> Removed:
        """Influence of each set, and the standing of the prediction without it.

        Influence is the quantity now minus the quantity after the set is rolled back.
        """
        return Removed(*map(np.concatenate, zip(*map(self._remove, sets.parts()), strict=True)))

    def _remove(self, sets: Sets) -> Removed:
        scored, changes = self.scored, self.changes(sets)
        after, scale = self.scoring.after(changes), scored.trained.scorer.scale
        out, mine = np.empty(len(sets), STANDING), scored.log_probabilities[scored.place]
        # Above 0 by rounding only.
        out["probability"] = np.exp(np.minimum(mine + changes.target - after.log_sums, 0.0))
        out["score"] = scored.scores[scored.place] + scale * (changes.target + changes.offset)
        out["rank"] = after.ranks
        out["top"] = out["top_released"] = scored.candidates.ids[after.tops]
        if self.is_direct:
            return Removed(self._direct(sets, changes), out)
        return Removed(self._influence(changes, after.log_sums), out)

    def _influence(self, changes: Changes, log_sum: Numbers) -> Numbers:
        log_ratio = changes.target - log_sum
        if self.aim.of == "loss":
            return np.asarray(-log_ratio) + 0.0  # turn -0 into 0
        before, mine = self.scored.probability, self.scored.log_probabilities[self.scored.place]
        fall = -before * np.expm1(np.minimum(log_ratio, 1.0)) + 0.0  # keeps small digits
        rises = log_ratio > 1.0
        if rises.any():
            after = np.exp(np.minimum(mine + log_ratio[rises], 0.0))
            fall[rises] = before - after
        return fall

    def _direct(self, sets: Sets, changes: Changes) -> Numbers:
        scale = self.scored.trained.scorer.scale
        if self.aim.rival is not None:
            rival = int(self.scored.candidates.places[self.aim.rival])
            other = self.changes(sets, self._view._replace(target=rival))
            return np.asarray(scale * (other.target - changes.target))
        change = scale * (changes.target + changes.offset)
        if self._is_sigmoid_loss:
            before = float(self.scored.scores[self.scored.place])
            return np.asarray(np.logaddexp(0, -before - change) - np.logaddexp(0, -before))
        return np.asarray(-change) + 0.0

    @cached_property
    def _view(self) -> View:
        scored, trained, asked = self.scored, self.scored.trained, self.scored.prediction
        slots, rows = trained.slots, trained.parameters
        return View(
            kind=MATCH_IDS[trained.scorer.model.match],
            given=asked.given,
            relation=-1 if trained.dataset.two_way else asked.relation,
            given_row=np.asarray(rows.entity_rows[asked.given], np.float64),
            relation_row=np.asarray(rows.relation_rows[scored.relation_row], np.float64),
            query=scored.query,
            rows=scored.candidates.rows,
            places=scored.candidates.places,
            target=scored.place,
            relation_start=slots[3 if asked.asks == "subject" else 1].start,
            object_start=slots[2].start,
        )

    @property
    def _mean_row(self) -> Numbers:
        """(width,) mean of the candidates' rows under the softmax; not needed for distances."""
        if "mean row" not in self.scored.memo:
            rows = self.scored.candidates.rows
            mean = np.zeros(rows.shape[1])
            if self._view.kind == DOT:
                kernels.mean_row(rows, self.scored.probabilities, mean)
            self.scored.memo["mean row"] = mean
        found: Numbers = self.scored.memo["mean row"]
        return found


def roll_back_rows(trained: Trained, fact_ids: FactIds) -> Parameters:
    """All rows of a run minus the traces of some facts, in double precision."""
    assert trained.trace is not None, "see Method.check"
    entities, relations = (np.array(rows, np.float64) for rows in trained.parameters)
    tables = (
        (entities, SUBJECT, 0),
        (relations, RELATION, 0),
        (entities, OBJECT, 0),
        (relations, RELATION, trained.dataset.inverse_offset),
    )
    for start in range(0, len(fact_ids), _TRACES):
        chosen = fact_ids[start : start + _TRACES]
        facts, traces = trained.dataset.train[chosen], trained.trace[chosen]
        for slot, (rows, place, shift) in zip(trained.slots, tables, strict=False):
            np.subtract.at(rows, facts[:, place] + shift, traces[:, slot].astype(np.float64))
    return Parameters(entities, relations)


def _readable(trace: NDArray[Any], fact_ids: FactIds) -> tuple[NDArray[Any], FactIds]:
    """A trace that kernels can read, and the rows of the facts in it."""
    prefetch(trace, fact_ids)
    if trace.dtype == np.float16:  # compiled code does not support half precision
        trace, fact_ids = trace[fact_ids].astype(np.float32), np.arange(len(fact_ids))
    # So one compiled kernel works for traces in memory and for read-only maps.
    view = np.asarray(trace).view()
    view.flags.writeable = False
    return view, fact_ids


def search(rollback: Rollback, sets: Sets, context: Context) -> Ranked:
    """The strongest sets of facts, by the fastest exact way."""
    if rollback.is_direct:
        ranked = rank_influences(rollback.direct(sets), context)
        return replace(ranked, standings=rollback.remove(sets.take(ranked.chosen)).standings)
    scores = rollback.scored.scores
    few = len(scores) <= _FEW_CANDIDATES or len(sets) * len(scores) <= _FEW_SCORES
    score_all = few or context.exhaustive or rollback.scoring.is_quick
    if score_all or not isinstance(context.top, int) or np.ptp(scores) > _FAR:
        influences, standings = rollback.remove(sets)
        return rank_influences(influences, context, standings)
    return _find_strongest(rollback, sets, context, context.top)


def _find_strongest(rollback: Rollback, sets: Sets, context: Context, top: int) -> Ranked:
    """The same result as ranking all exact influences, but few of them are computed.

    Sets are scored in the order of their upper bounds, until no remaining set can reach the `top`
    best so far.
    """
    opposing = context.opposing
    queue, upper = _queue(rollback, sets, top, opposing=opposing)
    scored, parts = list[NDArray[np.int64]](), list[Removed]()
    for start in range(0, max(len(queue), 1), _BATCH):
        found = np.concatenate([np.empty(0), *(part.influences for part in parts)])
        if start and upper[start] < _threshold(-found if opposing else found, top):
            break
        scored.append(np.sort(queue[start : start + _BATCH]))  # read traces in file order
        parts.append(rollback.remove(sets.take(scored[-1])))
    chosen = np.concatenate(scored)
    in_order = np.argsort(chosen)
    influences, standings = (np.concatenate(part)[in_order] for part in zip(*parts, strict=True))
    ranked = rank_influences(influences, context, standings)
    totals = ranked.totals if len(chosen) == len(sets) else None
    return replace(ranked, chosen=chosen[in_order][ranked.chosen], totals=totals)


def _queue(
    rollback: Rollback, sets: Sets, top: int, *, opposing: bool
) -> tuple[NDArray[np.int64], Numbers]:
    """The sets that can be among the `top` best, with their upper bounds, descending."""

    def bounds(sets: Sets, *, close: bool = False) -> tuple[Numbers, Numbers]:
        lower, upper = rollback.bounds(sets, close=close)
        return (-upper, -lower) if opposing else (lower, upper)

    lower, upper = bounds(sets)
    reach = np.flatnonzero(upper >= _threshold(lower, top))
    if rollback.scored.trained.scorer.model.match == "dot" and len(reach) > top:
        close = bounds(sets.take(reach), close=True)
        upper[reach] = np.minimum(upper[reach], close[1])
        reach = reach[upper[reach] >= _threshold(np.maximum(lower[reach], close[0]), top)]
    queue = reach[np.argsort(-upper[reach], kind="stable")]
    return queue, upper[queue]


def _threshold(values: Numbers, top: int) -> float:
    """The threshold that a set must reach to be among the `top` best."""
    return max(float(np.partition(values, -top)[-top]), 0.0) if len(values) >= top else 0.0
