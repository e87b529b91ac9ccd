r"""What later steps undo of a fact's changes, across the numbers of a row: for credit=forget.

While training goes on, later steps shrink each number of a fact's trace on its own (`_forget`). But
a step shrinks directions, and these mix the numbers of a row. This is added when training is over.

Let B be the curvature of the loss along a row: summed over the steps of an epoch, scaled by how far
a gradient moves the row, and multiplied by the number of epochs. Of changes that are spread evenly
over training, the share that remains is f(B), with f(x) = (1 - e^{-x}) / x. The diagonal alone
gives f(diag B), which the trace contains already. So it is multiplied by f(B) f(diag B)^{-1}.
"""

import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof._jit import inlined, kernel
from whereof.memory import expect_random_access, prefetch, total_memory
from whereof.models.match import add_query_gradients, add_row_gradient, score_rows
from whereof.training._forget import add_penalty_bend
from whereof.training._trace import from_half, to_half
from whereof.training.losses import SOFTMAX, bend_of
from whereof.training.optimizers import add, fill_reach, pace_of
from whereof.training.problem import Problem
from whereof.training.sampling import CURVATURE_STREAM, key_of, mix
from whereof.training.step import draw_candidates, gather, loss_of
from whereof.training.tables import Ledgers, allocate_work
from whereof.training.trainer import Trainer
from whereof.types import Facts

_WIDEST = 512
"""Wider rows, such as the relations of RESCAL, keep the trace that the diagonal gives."""
_BLOCK_BYTES, _BLOCK_SHARE = 2 << 30, 1 / 4
"""Memory for the curvature of rows, and its share of all memory: larger tables are done in parts.
"""
_PART_SHARE = 1 / 16
"""The trace is changed in parts of this share of memory: a row has its facts anywhere in it."""
_MOST_NUMBERS, _ENOUGH = 1e11, 2
"""A random part of the facts counts for all if there are more numbers to compute than this, or more
facts per row than this many times its width."""
_DRAWS = 2
"""Random vectors for the curvature along the subject and relation rows of a step."""
_LEAST_BEND = 0.25
"""Candidates that bend less are drawn at random, in proportion, and then bend as much."""
_AT_ONCE = 4
"""Vectors that are solved for at once: they read the matrix together."""
_POLE, _PART = 0.369, 0.352
"""f(x) is within 5% of _PART p + (1 - _PART) p^2, with p = 1 / (1 + _POLE x)."""

State = Mapping[str, NDArray[Any]]


def settle_trace(
    trace: NDArray[Any],
    problem: Problem,
    state: State,
    n_trained: int,
    advanced: Callable[[int, int], None] = lambda n_done, n_rows: None,
) -> None:
    """Correct the trace of a finished training for the directions of its rows, in place.

    After an update, only the trace of new facts: that of earlier facts was corrected when their own
    phase ended, and a phase with few facts changes little of it.

    state: of the optimizer, as training left it after n_trained facts; advanced: called with the
    number of rows that are done, and of all.
    """
    phases = problem.calendar.phases[:-1]
    n_earlier = phases[-1].n_facts if phases else 0
    trainer, n_new = _Curvature(problem, state, n_trained), len(trace) - n_earlier
    expect_random_access(trace)
    half, slots = problem.n_relation_rows // 2, problem.widths.slots(problem.n_directions)
    part_bytes = _PART_SHARE * (total_memory() or math.inf)
    size = max(int(min(part_bytes // trace.strides[0], len(trace))), 1)
    sides = [(side, (side, side + 2)[: len(slots) - 1 - side]) for side in (0, 1)]
    sides = [each for each in sides if 0 < trainer.widths[each[0]] <= _WIDEST]
    n_done, n_rows = 0, sum(trainer.n_rows[side] for side, _ in sides)
    for side, places in sides:
        starts = np.array([slots[place].start for place in places])
        for rows in _blocks(trainer.n_rows[side], trainer.widths[side]):
            bends = trainer.bends(side, rows)
            shares = _shares(rows)
            for first in range(n_earlier, len(trace), size):
                stop = min(first + size, len(trace))
                part = slice(first, stop)
                prefetch(trace, np.arange(first, stop))
                listed = starts, *_owned(problem.facts[part], places, half, trainer.n_rows[side])
                work = partial(_settle, trainer, side, bends, rows.start, listed, trace[part])
                with ThreadPoolExecutor(len(shares)) as pool:
                    list(pool.map(work, shares))
                advanced(n_done + (stop - n_earlier) * len(rows) // n_new, n_rows)
            n_done += len(rows)


def _owned(
    facts: Facts, places: tuple[int, ...], half: int, n_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The parts of the trace by the row that they belong to, and the bounds of every row.

    The trace of fact f in the n-th place has the number n * n_facts + f.
    """
    ids = facts[:, 0], facts[:, 1], facts[:, 2], facts[:, 1] + half
    owners = np.concatenate([ids[place] for place in places])
    order = np.argsort(owners, kind="stable")
    bounds = np.searchsorted(owners[order], np.arange(n_rows + 1))
    return order, bounds


def _blocks(n_rows: int, width: int) -> list[range]:
    """The rows in parts whose curvature fits into memory."""
    room = min(_BLOCK_BYTES, _BLOCK_SHARE * (total_memory() or math.inf))
    size = max(int(room / (4 * _half(width))), 1)
    return [range(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def _shares(rows: range) -> list[range]:
    """The rows in one part per core."""
    parts = np.array_split(np.arange(rows.start, rows.stop), os.cpu_count() or 1)
    return [range(part[0], part[-1] + 1) for part in parts if len(part)]


def _half(width: int) -> int:
    """How many numbers the upper half of a square matrix has."""
    return width * (width + 1) // 2


def _settle(
    trainer: "_Curvature",
    side: int,
    bends: NDArray[np.float32],
    first: int,
    listed: tuple[NDArray[np.int64], ...],
    trace: NDArray[Any],
    rows: range,
) -> None:
    width, n_epochs = trainer.widths[side], trainer.n_epochs
    bits = trace.view(np.uint16) if trace.dtype == np.float16 else trace
    reach = trainer.reach[side]
    matrices = (np.zeros((n, width), reach.dtype) for n in (width, _AT_ONCE, _AT_ONCE))
    span, work = (rows.start, rows.stop, first), (*matrices, *np.zeros((2, width), reach.dtype))
    shrink_rows(bends, reach, n_epochs, bits, listed, span, work)


class _Curvature(Trainer):
    """A training at its end, which measures the curvature along its rows in the last epoch."""

    def __init__(self, problem: Problem, state: State, n_trained: int) -> None:
        super().__init__(problem, ledgers=Ledgers.NONE)
        mine = self.snapshot()
        for name in state.keys() & {"entities.state", "relations.state"}:
            mine[name][...] = state[name]
        calendar = problem.calendar
        self.epoch = calendar.n_epochs(n_trained) - 1
        n_before = sum(phase.n_trained for phase in calendar.phases[:-1])
        self.n_epochs = float(self.epoch + 1 - calendar.n_epochs(n_before))
        self.widths = problem.widths.entity, problem.widths.relation
        self.n_rows = problem.n_entities, problem.n_relation_rows
        middle = np.array([self.timeline.updates_before(self.epoch + 1) // 2])
        rate, count = float(self.timeline.rates(middle)[0]), max(int(state["count"][0]), 1)
        self.reach = tuple(
            self._reach(table.state, width, pace_of(self.rule, rate, count, table.state))
            for table, width in zip(self.tables, self.widths, strict=True)
        )

    def _reach(self, state: NDArray[Any], width: int, pace: Any) -> NDArray[Any]:
        """(n, width) how far a gradient of 1 moves each number of each row."""
        reach = np.zeros((len(state), width), state.dtype)
        for row, its_reach in zip(state, reach, strict=True):
            fill_reach(self.rule.optimizer, pace, row, its_reach)
        return reach

    def bends(self, side: int, rows: range) -> NDArray[np.float32]:
        """(n, half of a matrix) curvature along some rows of a table, in the last epoch."""
        width, problem = self.widths[side], self.problem
        found = np.zeros((len(rows), _half(width)), np.float32)
        size, n_candidates = problem.calendar.size(self.epoch), len(self._work.scratch.scores)
        n_steps, per_step = size * problem.n_directions, 3 * width + (1 + _DRAWS) * n_candidates
        numbers, per_row = n_steps * width * per_step, n_steps / self.n_rows[side]
        every = max(math.ceil(numbers / _MOST_NUMBERS), int(per_row / (_ENOUGH * width)), 1)
        shares = _shares(rows)
        works = [allocate_work(problem, self.tables, self._work.weights) for _ in shares]
        weights = np.zeros((len(shares), n_candidates), found.dtype)

        def add_share(number: int) -> None:
            mine = shares[number]
            work = works[number]._replace(draw=self._work.draw)
            own = found[mine.start - rows.start : mine.stop - rows.start]
            span = mine.start, mine.stop
            add_bends(self._model, work, self._block, side, span, every, own, weights[number])

        with ThreadPoolExecutor(len(shares)) as pool:
            for start in range(0, size, self.timeline.block_size):
                self._enter_block(start, 0)
                list(pool.map(add_share, range(len(shares))))
        return found


@kernel
def add_bends(model, work, block, side, rows, every, bends, weights):
    """Add the curvature along rows of a table by the facts of a block; one in `every` is drawn."""
    rule, draw, scratch = work.rule, work.draw, work.scratch
    for at in range(block.order.shape[0]):
        fact = np.uint64(block.order[at])
        for direction in range(rule.n_directions):
            key = key_of(draw.seed, CURVATURE_STREAM, fact, np.uint64(direction))
            if key % np.uint64(every) or gather(block.order[at : at + 1], direction, work) == 0:
                continue
            candidates = draw_candidates(0, direction, draw, block, scratch)
            _add_step(model, key, candidates, work, side, rows, every, bends, weights)


@inlined
def _add_step(model, key, candidates, work, side, rows, every, bends, weights):
    """Add the curvature by one step."""
    query, query_vjp = model
    rule, scratch, entities, relations = work.rule, work.scratch, work.entities, work.relations
    s, r, o = scratch.facts[0]
    table, width, q, n = entities.table.state, entities.width, scratch.query[0], candidates.shape[0]
    subject, relation = table[s, :width], relations.table.state[r, : relations.width]
    slopes, weight = scratch.scores[:n], scratch.weights[0] * every
    query(subject, relation, q)
    score_rows(rule.match, q, table, candidates, width, slopes)
    loss_of(slopes, scratch.fact_ids[0], work)
    first, stop = rows
    if side == 0:
        for j in range(n):
            row, bend = candidates[j], bend_of(rule.loss, slopes[j], n)
            if bend < _LEAST_BEND and row >= first and row < stop:
                chance = (mix(key + np.uint64(j + 1)) >> np.uint64(11)) / 2.0**53
                bend = _LEAST_BEND if chance * _LEAST_BEND < bend else 0.0
            if bend > 0 and row >= first and row < stop:
                slope = scratch.own[:width]
                slope[:] = 0
                add_row_gradient(rule.match, q, table[row], 1, width, slope)
                _add_square(bends[row - first], slope, weight * bend)
        for row in (s, o):
            if row >= first and row < stop:
                _add_penalty(bends[row - first], table[row], weight, entities, rule, scratch)
    elif r >= first and r < stop:
        _add_penalty(bends[r - first], relation, weight, relations, rule, scratch)
    own = s if side == 0 else r
    for draw in range(_DRAWS if own >= first and own < stop else 0):
        _draw_weights(rule.loss, slopes, key + np.uint64((1 + draw) << 32), weights)
        scratch.d_query[:] = 0
        add_query_gradients(rule.match, q, table, candidates, weights[:n], width, scratch.d_query)
        query_vjp(subject, relation, scratch.d_query, entities.vectors[0], relations.vectors[0])
        vector = entities.vectors[0] if side == 0 else relations.vectors[0]
        _add_square(bends[own - first], vector, weight / _DRAWS)


@kernel
def _draw_weights(loss, slopes, key, weights):
    """Weights of the candidates: the mean of (sum of weight * d score)^2 is the curvature.

    They have random signs. For the softmax, the curvature is a covariance: the mean is left out.
    """
    n, total = slopes.shape[0], 0.0
    for j in range(n):
        share = bend_of(loss, slopes[j], n)
        if loss == SOFTMAX:
            share = max(slopes[j] + (j == 0), 0.0)
        root = math.sqrt(share)
        weights[j] = root if mix(key + np.uint64(j)) & np.uint64(1) else -root
        total += weights[j]
    for j in range(n if loss == SOFTMAX else 0):
        weights[j] -= total * (slopes[j] + (j == 0))


@kernel
def _add_square(half, vector, weight):
    """Upper half of a matrix += weight * vector vector^T."""
    start = 0
    for i in range(vector.shape[0]):
        factor, rest = half.dtype.type(weight * vector[i]), vector[i:]
        row = half[start : start + rest.shape[0]]
        for j in range(rest.shape[0]):
            row[j] += factor * rest[j]
        start += rest.shape[0]


@inlined
def _add_penalty(half, state, weight, side, rule, scratch):
    """Add the curvature of the penalties, of which only the diagonal is used."""
    if side.parts == 0 or (rule.l2 == 0 and rule.n3 == 0):
        return
    bend = scratch.bend[: side.width]
    bend[:] = 0
    add_penalty_bend(state, weight * rule.l2, weight * rule.n3, side.parts, bend)
    start = 0
    for k in range(side.width):
        half[start] += bend[k]
        start += side.width - k


@kernel
def shrink_rows(bends, reach, n_epochs, trace, listed, span, work):
    """Multiply the trace of rows by f(B) f(diag B)^-1.

    bends: (n, half of a matrix) of the rows from `span[2]` on; listed: where the trace has its
    parts, and which ones belong to each row.
    """
    (starts, order, bounds), (start, stop, first) = listed, span
    factor, xs, ys, roots, shares = work
    width, n_facts, one = reach.shape[1], trace.shape[0], roots.dtype.type(1)
    pole, part = roots.dtype.type(_POLE), roots.dtype.type(_PART)
    for row in range(start, stop):
        if bounds[row] == bounds[row + 1]:
            continue
        for k in range(width):
            roots[k] = math.sqrt(reach[row, k] * n_epochs)
        place = 0
        for i in range(width):
            for j in range(i, width):
                factor[j, i] = pole * roots[i] * bends[row - first, place] * roots[j]
                place += 1
            factor[i, i] += one
            shares[i] = (part + (one - part) / factor[i, i]) / factor[i, i]
        _decompose(factor)
        for begin in range(bounds[row], bounds[row + 1], _AT_ONCE):
            parts = order[begin : min(begin + _AT_ONCE, bounds[row + 1])]
            xs[:] = 0
            for at in range(parts.shape[0]):
                slot, fact = divmod(parts[at], n_facts)
                _load(trace[fact, starts[slot] : starts[slot] + width], xs[at])
                for k in range(width):
                    xs[at, k] /= roots[k] * shares[k]
            _solve(factor, xs)
            ys[:] = 0
            for at in range(parts.shape[0]):
                add(ys[at], xs[at])
            _solve(factor, xs)
            for at in range(parts.shape[0]):
                slot, fact = divmod(parts[at], n_facts)
                for k in range(width):
                    ys[at, k] = roots[k] * (part * ys[at, k] + (one - part) * xs[at, k])
                _save(ys[at], trace[fact, starts[slot] : starts[slot] + width])


@kernel
def _decompose(matrix):
    """Cholesky decomposition of the lower half of a positive definite matrix, in place."""
    for j in range(matrix.shape[0]):
        for i in range(j, matrix.shape[0]):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = math.sqrt(total) if i == j else total / matrix[j, j]


@kernel
def _solve(factor, xs):
    """Solve L L^T x = x in place, for four vectors at once."""
    n = factor.shape[0]
    for i in range(n):
        a, b, c, d = xs[0, i], xs[1, i], xs[2, i], xs[3, i]
        for k in range(i):
            own = factor[i, k]
            a -= own * xs[0, k]
            b -= own * xs[1, k]
            c -= own * xs[2, k]
            d -= own * xs[3, k]
        own = factor[i, i]
        xs[0, i], xs[1, i], xs[2, i], xs[3, i] = a / own, b / own, c / own, d / own
    for i in range(n - 1, -1, -1):
        own = factor[i, i]
        a, b, c, d = xs[0, i] / own, xs[1, i] / own, xs[2, i] / own, xs[3, i] / own
        xs[0, i], xs[1, i], xs[2, i], xs[3, i] = a, b, c, d
        for k in range(i):
            own = factor[i, k]
            xs[0, k] -= own * a
            xs[1, k] -= own * b
            xs[2, k] -= own * c
            xs[3, k] -= own * d


@kernel
def _load(row, to):
    for k in range(row.shape[0]):
        to[k] = from_half(int(row[k])) if row.itemsize == 2 else row[k]


@kernel
def _save(vector, to):
    for k in range(to.shape[0]):
        to[k] = to_half(vector[k]) if to.itemsize == 2 else vector[k]
