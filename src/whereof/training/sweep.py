"""The sweep: training backwards, which gives the influence of every fact on many predictions.

The influence of a fact is the sum, over its steps, of the adjoint of the state after the step times
the change that the step made. The states on the way back are trained again: training is cut into
segments, and each is replayed with a log of the rows before every update.
"""

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whereof import _jit
from whereof._jit import row_function
from whereof.training._sweep_kernels import Slots, SweepScratch, settle, sweep_back
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.tables import N_TAILS, Ledgers, RowTable, Side, allocate_log, allocate_work
from whereof.training.trainer import Trainer
from whereof.types import Numbers, Rows

Kept = Mapping[str, NDArray[Any]]
"""The state of a sweep on its way, to continue from; see `Sweep.run`."""
Advanced = Callable[[int, Callable[[], Kept]], None]
"""Called with the facts swept since the last call, and a function that copies the state."""

_TOGETHER = 16
"""Predictions that a thread sweeps together: the derivatives of more would not fit into its cache.
"""
_PHASE_REACH = 1e-5
_CACHE = 16 << 20
"""Bytes of a log that is read back before it leaves the cache; larger if states are, which are kept
for every segment."""


def is_compiled() -> bool:
    """Whether the kernels of a sweep are compiled; otherwise the first one takes some minutes."""
    return _jit.is_compiled(sweep_back)


@dataclass(frozen=True)
class Adjoint:
    """Derivatives of predictions with respect to the trained rows."""

    entities: Numbers
    """(n_predictions, n_entities, width)"""
    relations: Numbers
    """(n_predictions, n_relation_rows, width)"""


@dataclass(frozen=True)
class Sweep:
    """The way back over the training of a problem."""

    problem: Problem
    n_trained: int
    """Facts that were trained on, over all epochs."""
    n_swept: int | None = None
    """Facts to sweep over, from the end of training; None for all."""
    slopes: NDArray[np.float32] | None = None
    """(n_epochs, n_facts, n_directions) see `leverage`: credit steps as if each were the fact's
    first; None credits the steps as they were."""
    finite: bool = True
    """Credit the changes that steps made; otherwise the derivatives in the facts' weights."""
    memory: int = 1 << 30
    """Bytes for the log and for kept states."""
    threads: int = 1

    def run(
        self,
        final: Adjoint,
        advanced: Advanced = lambda n_facts, keep: None,
        kept: Kept | None = None,
    ) -> tuple[Numbers, Parameters]:
        """(n_predictions, n_facts) the influence of every fact, and the rows at the end of replay.

        advanced: called after every segment. kept: what its function copied in a sweep of the same
        predictions, which goes on from there.
        """
        n_predictions, replayed = len(final.entities), _LoggedTrainer(self)
        n_shares = self.threads * math.ceil(n_predictions / (self.threads * _TOGETHER))
        shares = np.array_split(np.arange(n_predictions), min(n_shares, n_predictions))
        hands = [_Hand(self, replayed, final, slice(it[0], it[-1] + 1)) for it in shares]
        trained, n_done = list[Parameters](), 0

        def keep() -> Kept:
            arrays = [hand.arrays for hand in hands]
            state = {
                name: np.concatenate([it[name] for it in arrays], axis=1) for name in arrays[0]
            }
            return state | as_kept(trained[0] if trained else replayed.parameters(), n_done)

        if kept is not None and can_continue(kept, keep(), sum(replayed.segments())):
            trained, n_done = [rows_in(kept)], int(kept["n_done"])
            for hand in hands:
                hand.restore(kept)

        with ThreadPoolExecutor(min(self.threads, len(hands))) as pool:

            def sweep(n_facts: int) -> None:
                nonlocal n_done
                replayed.log_segment(n_facts)
                if not trained:
                    trained.append(replayed.parameters())
                    list(pool.map(_Hand.settle, hands))
                list(pool.map(_Hand.sweep, hands))
                n_done += n_facts
                advanced(n_facts, keep)

            go_back(replayed, self.n_swept, sweep, n_done)
        influence = np.concatenate([hand.influence for hand in hands], axis=1)
        return np.ascontiguousarray(influence.T), trained[0]


def as_kept(trained: Parameters, n_done: int) -> dict[str, NDArray[Any]]:
    """The part of a state that all predictions share: rows at the end, and facts swept."""
    rows = {"entity_rows": trained.entity_rows, "relation_rows": trained.relation_rows}
    return {**rows, "n_done": np.array(n_done)}


def can_continue(kept: Kept, first: Kept, n_most: int) -> bool:
    """Whether a state has the arrays of a sweep's first state, and some of `n_most` facts swept."""
    alike = (
        (it.shape, it.dtype) == (kept[name].shape, kept[name].dtype)
        for name, it in first.items()
        if name in kept
    )
    return first.keys() <= kept.keys() and all(alike) and 0 < int(kept["n_done"]) <= n_most


def rows_in(kept: Kept) -> Parameters:
    """The rows at the end of replay, in a state."""
    return Parameters(kept["entity_rows"], kept["relation_rows"])


class Replay(Protocol):
    """Training that is done again, in segments."""

    n_kept: int
    """Number of states that memory has room for."""

    def segments(self) -> list[int]:
        """The facts of each segment of training, in order."""

    def advance(self, n_facts: int) -> int:
        """Train on a segment."""

    def keep(self) -> dict[str, Any]:
        """A copy of the current state."""

    def restore(self, arrays: dict[str, Any]) -> None:
        """Continue from a kept state."""


def go_back(
    replayed: Replay, n_swept: int | None, sweep: Callable[[int], None], n_done: int = 0
) -> None:
    """Call `sweep` with the facts of each segment, the last one first, at the state before it.

    n_swept: facts to sweep over at least, from the end of training; None for all. n_done: how many
    of them were swept before.
    """
    segments = replayed.segments()
    first = 0 if n_swept is None else len(segments)
    while first and sum(segments[first:]) < (n_swept or 0):
        first -= 1
    for n_facts in segments[:first]:
        replayed.advance(n_facts)

    def back(segments: list[int]) -> None:
        if len(segments) == 1:
            sweep(segments[0])
            return
        size = math.ceil(len(segments) / replayed.n_kept)
        groups = [segments[at : at + size] for at in range(0, len(segments), size)]
        kept = []
        for group in groups[:-1]:
            kept.append(replayed.keep())
            for n_facts in group:
                replayed.advance(n_facts)
        back(groups[-1])
        for group in reversed(groups[:-1]):
            replayed.restore(kept.pop())
            back(group)

    left = segments[first:]
    while n_done > 0 and left:
        n_facts = left.pop()
        if n_facts > n_done:
            left.append(n_facts - n_done)
        n_done -= n_facts
    if left:
        back(left)


class _LoggedTrainer(Trainer):
    """Training that can log the rows before each update."""

    def __init__(self, sweep: Sweep) -> None:
        super().__init__(sweep.problem, ledgers=Ledgers.NONE)
        problem, batch, states = sweep.problem, self.rule.batch_size, [t.state for t in self.tables]
        self._n_trained = sweep.n_trained
        n_rows = (2 + max(self._work.draw.objects[2], self._work.draw.subjects[2]), 1)
        fact_bytes = sum(
            n * each.shape[1] * each.itemsize for n, each in zip(n_rows, states, strict=True)
        )
        state_bytes = sum(each.nbytes for each in states)
        room = min(sweep.memory // 2, max(_CACHE, 4 * state_bytes))
        fits = room // (fact_bytes * problem.n_directions * batch)
        block, n_facts = self.timeline.block_size, len(problem.facts)
        self._segment = min(max(fits, 1) * batch, block, math.ceil(n_facts / batch) * batch)
        self.n_kept = max(sweep.memory // 2 // state_bytes, 2)
        self._spare = list[dict[str, Any]]()
        self._plain, self.log = self._work.log, allocate_log(problem, self.tables, self._segment)

    def segments(self) -> list[int]:
        """The facts of each segment of training, in order; a segment is within one block.

        Rounded up to whole batches, which training takes.
        """
        found, left, batch = [], self._n_trained, self.rule.batch_size
        for number in range(self.problem.calendar.n_epochs(left)):
            epoch = min(left, self.problem.calendar.size(number))
            for start in range(0, epoch, self.timeline.block_size):
                stop = min(start + self.timeline.block_size, epoch)
                starts = range(start, stop, self._segment)
                found += [min(self._segment, -(-(stop - at) // batch) * batch) for at in starts]
            left -= epoch
        return found

    def keep(self) -> dict[str, Any]:
        state = self.snapshot()
        # Memory from the system is slow on first use, so that of restored states is used again.
        kept = self._spare.pop() if self._spare else {it: state[it].copy() for it in state}
        for name, array in state.items():
            kept[name][...] = array
        return kept

    def restore(self, arrays: dict[str, Any]) -> None:
        super().restore(arrays)
        self._spare.append(arrays)

    def log_segment(self, n_facts: int) -> None:
        """Train on a segment and log it."""
        for array in (self.log.size, self.log.seen_entities, self.log.seen_relations):
            array[:] = 0
        self._work = self._work._replace(log=self.log)
        self.advance(n_facts)
        self._work = self._work._replace(log=self._plain)


class _Hand:
    """Sweeps for a share of the predictions."""

    def __init__(
        self, sweep: Sweep, replayed: _LoggedTrainer, final: Adjoint, share: slice
    ) -> None:
        problem, tables, real = sweep.problem, replayed.tables, difference_of(sweep.problem)[0]
        self._replay, self._finite, self._slopes = replayed, sweep.finite, sweep.slopes
        self._model = (
            row_function(problem.model.query, 3, real.name),
            row_function(problem.model.query_vjp, 5, real.name),
        )
        self._work = allocate_work(problem, tables, problem.weights)
        n_predictions = share.stop - share.start
        self.influence = np.zeros((len(problem.facts), n_predictions))
        self._scratch = _allocate(problem, replayed, n_predictions)
        widths = (table.state.shape[1] for table in tables)
        entities, relations = (
            _state_adjoint(rows[share], width, real)
            for rows, width in zip((final.entities, final.relations), widths, strict=True)
        )
        totals = np.zeros((2, n_predictions))
        self._adjoint = entities, relations, *totals
        self._share, at = share, self._scratch
        pending = {"pending": at.entities.pending, "pending_relations": at.relations.pending}
        of_rows = {"entities": entities, "relations": relations, **pending}
        self.arrays = {**of_rows, "totals": totals, "influence": self.influence}
        """The state of the sweep: (n, n_predictions, ...) each."""

    def restore(self, kept: Kept) -> None:
        """Go on from a state of all predictions."""
        for name, array in self.arrays.items():
            array[...] = kept[name][:, self._share]

    def settle(self) -> None:
        """Start from the rows as training left them: some drift until they are read."""
        done = self._replay
        if done.rule.deferred:
            count = int(done.count[0])
            settle(self._work, done._block, count, self._scratch, self._adjoint)

    def sweep(self) -> None:
        """Go back over the logged segment."""
        done, at = self._replay, self._scratch
        work = self._work._replace(draw=done._work.draw)
        slopes = np.zeros((0, 0), np.float32)
        if self._slopes is not None:
            slopes = self._slopes[done.epoch]
        out = self._finite, slopes, self.influence
        sweep_back(self._model, work, done._block, at, done.log, self._adjoint, *out)


def difference_of(problem: Problem) -> tuple[np.dtype[Any], float]:
    """Precision of a sweep, and how far its central differences reach, as a share of the vectors.

    Queries are quadratic, so that a central difference is exact over any distance; angles are not:
    they are swept in double precision, over a short distance.
    """
    if problem.model.relation_phases:
        return np.dtype("float64"), _PHASE_REACH
    return np.dtype(problem.config.precision), 1.0


def _state_adjoint(rows: Numbers, state_width: int, real: Any) -> Numbers:
    """(n_rows, n_predictions, state width): zero for the moments, which no prediction reads."""
    n_predictions, n_rows, width = rows.shape
    found = np.zeros((n_rows, n_predictions, state_width), real)
    found[:, :, :width] = rows.transpose(1, 0, 2)
    return found


def _row_table(state: Rows, n_deferred: int, width: int) -> RowTable:
    """A table without ledgers."""
    none = np.zeros((0, width), state.dtype)
    touched, tails = np.zeros(n_deferred, np.int64), np.zeros((n_deferred, N_TAILS))
    return RowTable(state, touched, tails, none, none, none, none, none)


def _allocate(problem: Problem, trainer: Trainer, n_predictions: int) -> SweepScratch:
    """Allocate working memory for an update."""
    rule, draw, (real, reach) = problem.rule, problem.draw, difference_of(problem)
    batch, n_candidates = rule.batch_size, 1 + max(draw.objects[2], draw.subjects[2])

    def slots(side: Side, places: int) -> Slots:
        n_rows, states = side.table.state.shape
        capacity = min(batch * places, n_rows)
        before = np.zeros((capacity, states), real)
        return Slots(
            slot_of=np.full(n_rows, -1, np.int32),
            ids=np.zeros(capacity, np.int64),
            first=np.zeros(capacity, np.int64),
            last=np.zeros(capacity, np.int64),
            following=np.zeros(batch * places, np.int64),
            n=np.zeros(1, np.int64),
            places=places,
            width=side.width,
            parts=side.parts,
            constrained=side.constrained,
            before=before,
            pulls=np.zeros((batch, 2, n_predictions, side.width), real),
            vectors=np.zeros((batch, side.width), real),
            unlearnt=np.zeros((batch, side.width), real),
            after=np.zeros(states, real),
            pull=np.zeros((n_predictions, side.width), real),
            gradient=np.zeros(side.width, real),
            own=np.zeros((2, side.width), real),
            slopes=np.zeros((4, side.width), real),
            change=np.zeros((2, states), real),
            table=_row_table(before, capacity * rule.deferred, side.width),
            missed=np.zeros(capacity * rule.deferred, np.int64),
            drift=np.zeros((capacity * rule.deferred, 2, side.width), real),
            drifted=np.zeros((capacity * rule.deferred, side.width), real),
            drift_factor=np.zeros(capacity * rule.deferred, real),
            fades=np.zeros((capacity * rule.deferred, 2), real),
            latest=np.zeros(states, real),
            pending=np.zeros((n_rows * rule.deferred, n_predictions)),
        )

    work, widths = trainer._work, (rule.entity_width, rule.relation_width)
    query = rule.query_width
    return SweepScratch(
        entities=slots(work.entities, n_candidates + 1),
        relations=slots(work.relations, 1),
        subjects=np.zeros(batch, np.int64),
        relation_slots=np.zeros(batch, np.int64),
        candidates=np.zeros((batch, n_candidates), np.int64),
        n_candidates=np.zeros(1, np.int64),
        queries=np.zeros((batch, query), real),
        weights=np.zeros((batch, n_candidates), real),
        curvature=np.zeros((batch, n_candidates), real),
        d_query=np.zeros((batch, query), real),
        unlearnt=np.zeros((batch, n_candidates), real),
        unlearnt_query=np.zeros(query, real),
        bends=np.zeros((batch, 3, 2, max(widths)), real),
        tangent=np.zeros((batch, n_predictions, n_candidates), real),
        dq=np.zeros((n_predictions, query), real),
        ddq=np.zeros((batch, n_predictions, query), real),
        q=np.zeros((2, query), real),
        s=np.zeros((2, widths[0]), real),
        r=np.zeros((2, widths[1]), real),
        ds=np.zeros((2, widths[0]), real),
        dr=np.zeros((2, widths[1]), real),
        along=np.zeros(max(widths), real),
        reach=reach,
    )
