"""Scores of candidate rows for a query (dot product, or minus a distance) and their gradients.

A query that is one longer than a row has an offset in its last place, which is added to every
score.
"""

import math

from whereof._jit import inlined, kernel, prefetch_row

MATCH_IDS = {"dot": 0, "l1": 1, "l2": 2}
AHEAD = 8
"""How many rows ahead to prefetch."""

DOT, L1, L2 = MATCH_IDS["dot"], MATCH_IDS["l1"], MATCH_IDS["l2"]


@kernel
def match(kind, q, row, width):
    """The score of one candidate row (its first `width` numbers) for a query."""
    if kind == DOT:
        return _dot(q, row, width)
    if kind == L1:
        return -_distance_l1(q, row, width)
    return -_distance_l2(q, row, width)


@kernel
def score_rows(kind, q, rows, ids, width, scores):
    """Fill scores (n_ids,) with the scores of the rows with these ids, for one query."""
    # The kind of match is tested outside of the loops, because a test inside would prevent
    # vectorisation.
    if kind == DOT:
        for j in range(ids.shape[0]):
            prefetch_ahead(rows, ids, j, width)
            scores[j] = _dot(q, rows[ids[j]], width)
    elif kind == L1:
        for j in range(ids.shape[0]):
            prefetch_ahead(rows, ids, j, width)
            scores[j] = -_distance_l1(q, rows[ids[j]], width)
    else:
        for j in range(ids.shape[0]):
            prefetch_ahead(rows, ids, j, width)
            scores[j] = -_distance_l2(q, rows[ids[j]], width)


@inlined
def prefetch_ahead(rows, ids, j, width):
    """Prefetch the row that a loop over ids reads `AHEAD` steps after j."""
    if j + AHEAD < ids.shape[0]:
        prefetch_row(rows, ids[j + AHEAD], width)


@inlined
def _dot(q, row, width):
    total = q.dtype.type(0)
    for k in range(width):
        total += q[k] * row[k]
    return total + q[width] if q.shape[0] > width else total


@inlined
def _distance_l1(q, row, width):
    total = q.dtype.type(0)
    for k in range(width):
        total += abs(q[k] - row[k])
    return total


@inlined
def _distance_l2(q, row, width):
    total = q.dtype.type(0)
    for k in range(width):
        total += (q[k] - row[k]) * (q[k] - row[k])
    return math.sqrt(total)


@kernel
def add_row_gradient(kind, q, row, weight, width, gradient):
    """gradient += weight * d score / d row."""
    if kind == DOT:
        for k in range(width):
            gradient[k] += weight * q[k]
    elif kind == L1:
        for k in range(width):
            gradient[k] += weight * ((q[k] > row[k]) - (q[k] < row[k]))
    else:
        distance = _distance_l2(q, row, width)
        if distance > 0:  # the gradient is zero where query and row are equal
            weight = weight / distance
            for k in range(width):
                gradient[k] += weight * (q[k] - row[k])


@inlined
def add_query_gradient(kind, q, row, weight, width, gradient):
    """gradient += weight * d score / d query."""
    if kind == DOT:
        for k in range(width):
            gradient[k] += weight * row[k]
        if q.shape[0] > width:
            gradient[width] += weight
    else:
        add_row_gradient(kind, q, row, -weight, width, gradient)


@kernel
def add_query_gradients(kind, q, rows, ids, weights, width, gradient):
    """gradient += sum over ids of weight * d score / d query."""
    done = 0
    if kind == DOT:
        done = ids.shape[0] // 4 * 4
        for j in range(0, done, 4):
            a, b, c, d = rows[ids[j]], rows[ids[j + 1]], rows[ids[j + 2]], rows[ids[j + 3]]
            wa, wb, wc, wd = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            for k in range(width):
                gradient[k] += wa * a[k] + wb * b[k] + wc * c[k] + wd * d[k]
            if q.shape[0] > width:
                gradient[width] += wa + wb + wc + wd
    for j in range(done, ids.shape[0]):
        add_query_gradient(kind, q, rows[ids[j]], weights[j], width, gradient)
