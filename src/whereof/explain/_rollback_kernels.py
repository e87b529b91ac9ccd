"""Compiled loops of rollback: what removals change in a query, in rows and in all scores.

A removal is a set of facts whose traces are subtracted together. Changes are computed as
differences in double precision, so that small changes keep their digits.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof._jit import inlined, kernel, prefetch_row
from whereof.models.match import DOT, L1, match
from whereof.types import Rows

_AHEAD = 4
"""How many facts ahead the trace is prefetched."""
_TAME = 40.0
"""Up to this change of score a polynomial replaces exp, because it is vectorised."""


class View(NamedTuple):
    """A prediction as kernels need it."""

    kind: int
    given: int
    relation: int
    """The relation of the query; -1 for none."""
    given_row: NDArray[np.float64]
    relation_row: NDArray[np.float64]
    query: NDArray[np.float64]
    rows: Rows
    places: NDArray[np.int32]
    target: int
    relation_start: int
    object_start: int
    """Starts of the slots of relation and object in the trace."""


class Removals(NamedTuple):
    """Sets of facts: removal i removes fact_ids[bounds[i]:bounds[i + 1]]."""

    bounds: NDArray[np.int64]
    fact_ids: NDArray[np.int64]
    """(n,) fact ids of all removals, one after the other."""
    rows: NDArray[np.int64]
    """(n,) row of each fact in the trace."""
    facts: NDArray[np.int32]
    """(n_facts, 3) all triples."""


class Changes(NamedTuple):
    """How removals change the scores of a prediction's candidates."""

    queries: Rows
    """(n, query width) the change of the query; for distances, the query after the change, in
    double precision."""
    moved: NDArray[np.bool_]
    """(n,) whether the query changes at all."""
    size: NDArray[np.float64]
    """(n,) the norm of the query's change: L1 for an L1 distance, else L2."""
    mean: NDArray[np.float64]
    """(n,) dot product of the query's change and the mean row under the softmax."""
    target: NDArray[np.float64]
    """(n,) change of the target's score."""
    offset: NDArray[np.float64]
    """(n,) the change that is common to all scores."""
    n_own: NDArray[np.int64]
    """(n,) number of candidates whose own rows change."""
    own: NDArray[np.int32]
    """(n, most) their positions among the candidates."""
    own_changes: NDArray[np.float64]
    """(n, most) the changes of their scores."""
    correction: NDArray[np.float64]
    """(n,) what the changes of their own rows add to the sum over all candidates."""
    correction_size: NDArray[np.float64]
    """(n,) the size of its terms, which determines the rounding error."""


class Scratch(NamedTuple):
    """Working memory for one removal."""

    given_row: NDArray[np.float64]
    relation_row: NDArray[np.float64]
    query: NDArray[np.float64]
    row: NDArray[np.float64]
    own_rows: NDArray[np.float64]
    own_of: NDArray[np.int32]
    """(n_candidates,) index of a candidate's changed row, or -1."""


@kernel
def roll_back(query, view, removals, trace, probabilities, mean, scratch, out):
    """Fill the changes for every removal; mean: (width,) mean candidate row under the softmax."""
    for i in range(removals.bounds.shape[0] - 1):
        out.moved[i] = _subtract(i, view, removals, trace, scratch)
        out.size[i], out.mean[i], out.offset[i], out.target[i] = 0.0, 0.0, 0.0, 0.0
        if out.moved[i]:
            query(scratch.given_row, scratch.relation_row, scratch.query)
            _measure(i, view, mean, scratch, out)
            out.target[i] = _plain_change(view, scratch, view.rows[view.target])
        else:
            _copy(view.query, scratch.query)
            for k in range(out.queries.shape[1]):
                out.queries[i, k] = 0 if view.kind == DOT else view.query[k]
        _change_own(i, view, removals, trace, scratch, out)
        out.correction[i], out.correction_size[i] = 0.0, 0.0
        for j in range(out.n_own[i]):
            place = out.own[i, j]
            row = view.rows[place]
            plain = _plain_change(view, scratch, row) if out.moved[i] else 0.0
            if view.kind == DOT:
                out.own_changes[i, j] += plain
            else:
                out.own_changes[i, j] = _moved_change(view, scratch, row, scratch.own_rows[j])
            change = out.own_changes[i, j]
            after, before = math.exp(change), math.exp(plain)
            out.correction[i] += probabilities[place] * (after - before)
            out.correction_size[i] += probabilities[place] * (after * (1 + abs(change)) + before)
            if place == view.target:
                out.target[i] = change
            scratch.own_of[place] = -1


@inlined
def _subtract(i, view, removals, trace, scratch):
    """Subtract a removal's traces from the rows of the query; return whether anything changed."""
    taken = 0.0
    _copy(view.given_row, scratch.given_row)
    _copy(view.relation_row, scratch.relation_row)
    for f in range(removals.bounds[i], removals.bounds[i + 1]):
        if f + _AHEAD < removals.rows.shape[0]:
            prefetch_row(trace, removals.rows[f + _AHEAD], trace.shape[1])
        own_trace, i_fact = trace[removals.rows[f]], removals.fact_ids[f]
        if removals.facts[i_fact, 1] == view.relation:
            taken += _take(own_trace, view.relation_start, scratch.relation_row)
        for end in range(2):
            if removals.facts[i_fact, 2 * end] == view.given:
                taken += _take(own_trace, end * view.object_start, scratch.given_row)
    return taken != 0  # so that NaN is not mistaken for no change


@inlined
def _take(own_trace, start, row):
    """Subtract a slot of a trace from a row; return the size of the change."""
    # A separate slice: with the index `start + k` the loop would not be vectorised.
    slot, taken = own_trace[start : start + row.shape[0]], 0.0
    for k in range(row.shape[0]):
        taken += abs(slot[k])
        row[k] -= slot[k]
    return taken


@inlined
def _change_own(i, view, removals, trace, scratch, out):
    """List the candidates whose own rows change in a removal.

    For dot products, only the product of query and change is needed; it goes directly to
    own_changes. Distances need the changed rows.
    """
    width, n_own = view.rows.shape[1], 0
    for f in range(removals.bounds[i], removals.bounds[i + 1]):
        own_trace, i_fact = trace[removals.rows[f]], removals.fact_ids[f]
        for end in range(2):
            place, start = view.places[removals.facts[i_fact, 2 * end]], end * view.object_start
            if place < 0:
                continue
            j = scratch.own_of[place]
            if j < 0:
                j = n_own
                n_own += 1
                scratch.own_of[place] = j
                out.own[i, j], out.own_changes[i, j] = place, 0.0
                if view.kind != DOT:
                    scratch.own_rows[j] = 0
            slot = own_trace[start : start + width]
            if view.kind == DOT:
                product = 0.0
                for k in range(width):
                    product += scratch.query[k] * slot[k]
                out.own_changes[i, j] -= product
            else:
                for k in range(width):
                    scratch.own_rows[j, k] += slot[k]
    out.n_own[i] = n_own


@inlined
def _copy(source, target):
    for k in range(source.shape[0]):
        target[k] = source[k]


@inlined
def _measure(i, view, mean, scratch, out):
    """Store the query's change, its norm and its product with the mean row."""
    width, squares, total, along = view.rows.shape[1], 0.0, 0.0, 0.0
    queries = out.queries[i]
    for k in range(width):
        change = scratch.query[k] - view.query[k]
        queries[k] = change if view.kind == DOT else scratch.query[k]
        squares += change * change
        total += abs(change)
        along += change * mean[k]
    out.size[i] = total if view.kind == L1 else math.sqrt(squares)
    out.mean[i] = along
    if scratch.query.shape[0] > width:
        out.offset[i] = scratch.query[width] - view.query[width]
        out.queries[i, width] = out.offset[i]


@inlined
def _plain_change(view, scratch, row):
    """Change of a score if the candidate's row does not change."""
    width, total = row.shape[0], 0.0
    if view.kind == DOT:
        for k in range(width):
            total += (scratch.query[k] - view.query[k]) * row[k]
        return total
    return match(view.kind, scratch.query, row, width) - match(view.kind, view.query, row, width)


@inlined
def _moved_change(view, scratch, row, own):
    """Change of a score if the candidate's row changes by `own` too; overwrites `own`."""
    width = row.shape[0]
    _copy(row, scratch.row)  # rounded like the row after it, so that no change gives exactly 0
    for k in range(width):
        own[k] = row[k] - own[k]
    before = match(view.kind, view.query, scratch.row, width)
    return match(view.kind, scratch.query, own, width) - before


@kernel
def score_after(kind, rows, scores, chosen, changes, x):
    """x: (n_chosen, n_candidates) change of every candidate's score by each chosen removal.

    scores: (n_candidates,) before the removal; needed for distances only.
    """
    score_queries(kind, rows, scores, changes.queries, chosen, x)
    for b in range(chosen.shape[0]):
        removal = chosen[b]
        if not changes.moved[removal]:
            x[b] = 0
        for j in range(changes.n_own[removal]):
            x[b, changes.own[removal, j]] = changes.own_changes[removal, j]


@kernel
def score_queries(kind, rows, scores, queries, chosen, x):
    """The same if only the query changes; four queries share every row that is read."""
    n, last = chosen.shape[0], chosen.shape[0] - 1
    for b in range(0, n, 4):
        # If fewer than four queries are left, one is computed more than once.
        b1, b2, b3 = min(b + 1, last), min(b + 2, last), min(b + 3, last)
        four = (queries[chosen[b]], queries[chosen[b1]], queries[chosen[b2]], queries[chosen[b3]])
        if kind == DOT:
            _dots(rows, four, x[b], x[b1], x[b2], x[b3])
        else:
            _distances(kind, rows, scores, four, x[b], x[b1], x[b2], x[b3])


@inlined
def _dots(rows, four, x0, x1, x2, x3):
    q0, q1, q2, q3 = four
    width = rows.shape[1]
    for c in range(rows.shape[0]):
        row = rows[c]
        a0 = a1 = a2 = a3 = rows.dtype.type(0)
        for k in range(width):
            a0 += q0[k] * row[k]
            a1 += q1[k] * row[k]
            a2 += q2[k] * row[k]
            a3 += q3[k] * row[k]
        x0[c], x1[c], x2[c], x3[c] = a0, a1, a2, a3


@inlined
def _distances(kind, rows, scores, four, x0, x1, x2, x3):
    """In double precision, because the change is a small difference of large numbers."""
    q0, q1, q2, q3 = four
    width = rows.shape[1]
    for c in range(rows.shape[0]):
        row = rows[c]
        a0 = a1 = a2 = a3 = 0.0
        if kind == L1:
            for k in range(width):
                a0 += abs(q0[k] - row[k])
                a1 += abs(q1[k] - row[k])
                a2 += abs(q2[k] - row[k])
                a3 += abs(q3[k] - row[k])
        else:
            for k in range(width):
                a0 += (q0[k] - row[k]) ** 2
                a1 += (q1[k] - row[k]) ** 2
                a2 += (q2[k] - row[k]) ** 2
                a3 += (q3[k] - row[k]) ** 2
            a0, a1, a2, a3 = math.sqrt(a0), math.sqrt(a1), math.sqrt(a2), math.sqrt(a3)
        before = scores[c]
        x0[c], x1[c], x2[c], x3[c] = -a0 - before, -a1 - before, -a2 - before, -a3 - before


@kernel
def mean_row(rows, weights, out):
    """out: (width,) sum of the rows times their weights, in double precision; four at a time."""
    n = rows.shape[0]
    out[:] = 0
    for c in range(0, n - n % 4, 4):
        r0, r1, r2, r3 = rows[c], rows[c + 1], rows[c + 2], rows[c + 3]
        w0, w1, w2, w3 = weights[c], weights[c + 1], weights[c + 2], weights[c + 3]
        for k in range(out.shape[0]):
            out[k] += w0 * r0[k] + w1 * r1[k] + w2 * r2[k] + w3 * r3[k]
    for c in range(n - n % 4, n):
        for k in range(out.shape[0]):
            out[k] += weights[c] * rows[c, k]


@kernel
def quadratic_forms(vectors, matrix, out):
    """out: (n,) v^T M v of every vector; matrix: (width, width)."""
    width = matrix.shape[0]
    for i in range(out.shape[0]):
        out[i] = 0
        for j in range(width):
            total = 0.0
            for k in range(width):
                total += matrix[j, k] * vectors[i, k]
            out[i] += vectors[i, j] * total


@kernel
def log_sums(x, probabilities, logs, place, target, out):
    """out: (n,) log of the sum over candidates of p e^x, for x (n, n_candidates).

    logs: (n_candidates,) log p, needed for large changes because p may underflow. target: (n,) the
    x of the candidate at `place` in double precision, so that its share of the sum is never above
    1; place -1: it is not needed.
    """
    for b in range(x.shape[0]):
        highest, lowest = x[b, 0], x[b, 0]
        for c in range(x.shape[1]):
            highest, lowest = max(highest, x[b, c]), min(lowest, x[b, c])
        total = 0.0
        if highest <= _TAME and lowest >= -_TAME:
            for c in range(x.shape[1]):
                total += probabilities[c] * _tame_exp(np.float64(x[b, c]))
            if place >= 0:
                rounded = _tame_exp(np.float64(x[b, place]))
                total += probabilities[place] * (_tame_exp(target[b]) - rounded)
            out[b] = math.log(total)
        else:
            top = -math.inf
            for c in range(x.shape[1]):
                top = max(top, logs[c] + (target[b] if c == place else np.float64(x[b, c])))
            for c in range(x.shape[1]):
                change = target[b] if c == place else np.float64(x[b, c])
                total += math.exp(logs[c] + change - top)
            out[b] = top + math.log(total)


@kernel
def stand_after(x, contenders, place, target, tops, ranks):
    """The best candidate and the rank of the answer at `place`, after each removal.

    x: (n, n_candidates) changes of scores; contenders: (n_candidates,) scores before, minus
    infinity for excluded candidates; target: (n,) change of the answer's own score.
    """
    for b in range(x.shape[0]):
        mine, best = contenders[place] + target[b], -math.inf
        n_higher, tops[b] = 0, place
        for c in range(x.shape[1]):
            score = contenders[c] + x[b, c]
            n_higher += score > mine and c != place
            if score > best:
                best, tops[b] = score, c
        ranks[b] = 1 + n_higher


@inlined
def _tame_exp(x):
    """e^x for |x| up to 40, accurate to 1e-13: a polynomial of x/1024, squared ten times."""
    y = x * (1 / 1024)
    series = 1 / 120 + y * (1 / 720 + y * (1 / 5040 + y * (1 / 40320)))
    z = 1 + y * (1 + y * (1 / 2 + y * (1 / 6 + y * (1 / 24 + y * series))))
    for _ in range(10):
        z *= z
    return z
