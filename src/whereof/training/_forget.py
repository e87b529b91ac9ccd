"""Forgetting: how far later steps shrink what a fact changed, for credit=forget.

To first order, a step multiplies a small change of a row by 1 - reach * bend, coordinate by
coordinate. `reach` is how far a gradient of 1 moves the row, `bend` is the diagonal of the loss's
curvature. A table keeps the product of these factors since the epoch began: what it `retained`. A
fact's credit is divided by the product when it is recorded, and multiplied by it when the epoch
ends. A fact's own steps do not shrink what it changed before, because removing the fact removes
them too. To save time, one step in `EVERY`, drawn at random, counts for all.
"""

import math

import numpy as np

from whereof._jit import inlined, kernel
from whereof.models.match import DOT, add_query_gradient, add_row_gradient
from whereof.training._trace import from_half, to_half
from whereof.training.losses import LEAST_PROBABILITY, SOFTMAX, bend_of
from whereof.training.optimizers import fill_reach
from whereof.training.sampling import BEND_STREAM, key_of, mix
from whereof.training.tables import is_plain

LEAST_RETAINED = {"float16": 1e-3, "float32": 1e-30, "float64": 1e-250}
"""The least product within an epoch, by the precision of the trace, which is divided by it."""
EVERY = 8
_LEAST_FACTOR = 0.5
"""The least factor of one step."""


@inlined
def fill_bends(query_vjp, f, direction, subject, relation, candidates, slopes, work, epoch):
    """Fill the bends of a fact's subject and relation rows: diag(J^T C J).

    C is the curvature in the query: for the softmax, the covariance of the scores' gradients under
    the candidates' probabilities. Of C only the diagonal is used. With random signs e,
    (J^T (e * sqrt(C)))^2 has the mean that is asked for; it is exact if every number of a row
    changes one number of the query.
    """
    scratch, rule, weight = work.scratch, work.rule, work.scratch.weights[f]
    fact = np.uint64(scratch.fact_ids[f])
    key = key_of(work.draw.seed, BEND_STREAM, fact, np.uint64(2 * epoch + direction))
    scratch.bent[f] = key % np.uint64(EVERY) == 0
    if not scratch.bent[f]:
        return
    spread, mean, q, n = scratch.spread, scratch.mean, scratch.query[f], candidates.shape[0]
    rows, width = work.entities.table.state, work.entities.width
    spread[:] = 0
    mean[:] = 0
    total = 0.0
    for j in range(n):
        share = bend_of(rule.loss, slopes[j] / weight, n)
        if rule.loss == SOFTMAX:
            share = slopes[j] / weight + (j == 0)
            if share * n < LEAST_PROBABILITY:
                continue
        total += share
        if rule.match == DOT:
            _add_moments(share, rows[candidates[j], :width], mean, spread)
        else:
            scratch.d_query[:] = 0
            add_query_gradient(rule.match, q, rows[candidates[j]], 1, width, scratch.d_query)
            _add_moments(share, scratch.d_query, mean, spread)
    if q.shape[0] > width:
        mean[width], spread[width] = total, total
    for k in range(spread.shape[0]):
        square = spread[k]
        if rule.loss == SOFTMAX and total > 0:
            square -= mean[k] * mean[k] / total
        root = math.sqrt(max(square, 0))
        sign = mix(key + np.uint64(k >> 6)) >> np.uint64(k & 63)
        spread[k] = root if sign & np.uint64(1) else -root
    bends, relation_bends = work.entities.bends[f], work.relations.bends[f]
    query_vjp(subject, relation, spread, bends, relation_bends)
    for k in range(bends.shape[0]):
        bends[k] *= weight * bends[k]
    for k in range(relation_bends.shape[0]):
        relation_bends[k] *= weight * relation_bends[k]


@kernel
def _add_moments(share, vector, mean, spread):
    share = mean.dtype.type(share)
    for k in range(vector.shape[0]):
        mean[k] += share * vector[k]
    for k in range(vector.shape[0]):
        spread[k] += share * vector[k] * vector[k]


@inlined
def add_bend(kind, q, row, weight, scratch, bend):
    """bend += weight * (d score / d row)^2."""
    if kind == DOT:
        _add_squares(weight, q, bend)
    else:
        slope = scratch.spread[: bend.shape[0]]
        slope[:] = 0
        add_row_gradient(kind, q, row, 1, bend.shape[0], slope)
        _add_squares(weight, slope, bend)


@kernel
def _add_squares(weight, vector, bend):
    weight = bend.dtype.type(weight)
    for k in range(bend.shape[0]):
        bend[k] += weight * vector[k] * vector[k]


@kernel
def add_penalty_bend(state, l2, n3, parts, bend):
    """Add the second derivative of l2/2 |x|^2 + n3/3 |x|^3 in each number."""
    width = bend.shape[0]
    l2, n3, tiny = state.dtype.type(l2), state.dtype.type(n3), state.dtype.type(1e-30)
    half = width // parts
    for k in range(width):
        own = state[k] * state[k]
        square = own
        if parts == 2:
            other = state[k - half] if k >= half else state[k + half]
            square += other * other
        size = math.sqrt(square)
        bend[k] += l2 + n3 * (size + own / max(size, tiny))


@inlined
def forget_negatives(side, rule, pace, n_candidates, scratch):
    """Shrink what is retained of rows that one fact touches as a negative; match dot only."""
    touched, table = side.touched, side.table
    bend, reach = scratch.bend[: side.width], scratch.reach[: side.width]
    for slot in range(touched.sizes[0] if scratch.bent.any() else 0):
        f, row = touched.fact[slot], touched.ids[slot]
        if not scratch.bent[f] or not is_plain(touched, slot):
            continue
        weight = scratch.weights[f]
        share = weight * bend_of(rule.loss, touched.weight[slot] / weight, n_candidates)
        if share > 0:
            bend[:] = 0
            _add_squares(share, scratch.query[f], bend)
            fill_reach(rule.optimizer, pace, table.state[row], reach)
            shrink(table.retained[row], reach, bend, rule.least_retained)


@kernel
def shrink(retained, reach, bend, least):
    """Multiply what a row retained by the factors of one step."""
    least, one = retained.dtype.type(least), retained.dtype.type(1)
    least_factor = retained.dtype.type(_LEAST_FACTOR)
    for k in range(retained.shape[0]):
        factor = max(one - reach[k] * bend[k], least_factor)
        retained[k] = max(retained[k] * factor**EVERY, least)


@kernel
def divide(vector, by):
    """vector /= by."""
    for k in range(vector.shape[0]):
        vector[k] /= by[k]


@kernel
def undo_own(bend, reach, before, retained, undone):
    """Fill `undone` with what keeps a fact's own step from shrinking its trace.

    bend: by the other facts of the batch; before: what the row retained before the update.
    """
    one, least_factor = bend.dtype.type(1), bend.dtype.type(_LEAST_FACTOR)
    for k in range(bend.shape[0]):
        factor = max(one - reach[k] * bend[k], least_factor)
        undone[k] = factor**EVERY * before[k] / retained[k]


@kernel
def record_retained(row, credit, undone):
    """row = row * undone + credit, where row may contain the bits of half-precision numbers."""
    if row.itemsize == 2:
        for k in range(row.shape[0]):
            row[k] = to_half(from_half(int(row[k])) * undone[k] + credit[k])
    else:
        for k in range(row.shape[0]):
            row[k] = row[k] * undone[k] + credit[k]


@kernel
def fold(trace, facts, entities, relations, n_directions):
    """Multiply the trace by what the rows retained."""
    width, relation_width, half = entities.shape[1], relations.shape[1], relations.shape[0] // 2
    for fact in range(trace.shape[0]):
        row, s, r, o = trace[fact], facts[fact, 0], facts[fact, 1], facts[fact, 2]
        _scale(row[:width], entities[s])
        _scale(row[width : width + relation_width], relations[r])
        start = width + relation_width
        _scale(row[start : start + width], entities[o])
        if n_directions == 2:
            _scale(row[start + width :], relations[r + half])


@kernel
def _scale(row, factors):
    if row.itemsize == 2:
        for k in range(row.shape[0]):
            row[k] = to_half(from_half(int(row[k])) * factors[k])
    else:
        for k in range(row.shape[0]):
            row[k] *= factors[k]
