"""Compiled loops over all candidates: their scores after a removal, and what becomes of them."""

import math

import numpy as np

from whereof._jit import inlined, kernel
from whereof.models.match import DOT, L1

_TAME = 40.0
"""Changes of a score up to here are taken by a polynomial, which is vectorised."""


@kernel
def score_after(kind, rows, scores, chosen, changes, x):
    """x: (n_chosen, n_candidates) change of every candidate's score by each chosen removal.

    scores: (n_candidates,) before it, which only distances ask for.
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
    """The same where no row changes, only the query; four of them share every row that is read."""
    n, last = chosen.shape[0], chosen.shape[0] - 1
    for b in range(0, n, 4):
        # A query that stands in for a missing one is worked out twice.
        b1, b2, b3 = min(b + 1, last), min(b + 2, last), min(b + 3, last)
        four = (
            queries[chosen[b]],
            queries[chosen[b1]],
            queries[chosen[b2]],
            queries[chosen[b3]],
        )
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
    """In double precision: the change is a small difference of large numbers."""
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
def log_sums(x, probabilities, logs, out):
    """out: (n,) log of the sum over candidates of p e^x, for x (n, n_candidates).

    logs: (n_candidates,) log p, which large changes ask for: p itself may be too small to hold.
    """
    for b in range(x.shape[0]):
        highest, lowest = x[b, 0], x[b, 0]
        for c in range(x.shape[1]):
            highest, lowest = max(highest, x[b, c]), min(lowest, x[b, c])
        total = 0.0
        if highest <= _TAME and lowest >= -_TAME:
            for c in range(x.shape[1]):
                total += probabilities[c] * _tame_exp(np.float64(x[b, c]))
            out[b] = math.log(total)
        else:
            top = -math.inf
            for c in range(x.shape[1]):
                top = max(top, logs[c] + x[b, c])
            for c in range(x.shape[1]):
                total += math.exp(logs[c] + x[b, c] - top)
            out[b] = top + math.log(total)


@kernel
def stand_after(x, contenders, place, scale, target, tops, ranks):
    """The best contender and the rank of the answer at `place`, after each removal.

    x: (n, n_candidates) changes of scores; contenders: (n_candidates,) scores before, minus
    infinity for those left out; target: (n,) change of the answer's own score.
    """
    for b in range(x.shape[0]):
        mine, best = contenders[place] + scale * target[b], -math.inf
        n_higher, tops[b] = 0, place
        for c in range(x.shape[1]):
            score = contenders[c] + scale * x[b, c]
            n_higher += score > mine and c != place
            if score > best:
                best, tops[b] = score, c
        ranks[b] = 1 + n_higher


@inlined
def _tame_exp(x):
    """e^x for |x| up to 40, to 1e-13: a polynomial of x/1024, squared ten times over."""
    y = x * (1 / 1024)
    series = 1 / 120 + y * (1 / 720 + y * (1 / 5040 + y * (1 / 40320)))
    z = 1 + y * (1 + y * (1 / 2 + y * (1 / 6 + y * (1 / 24 + y * series))))
    for _ in range(10):
        z *= z
    return z
