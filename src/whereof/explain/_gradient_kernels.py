"""Kernels for gradients: Jacobian-vector and vector-Jacobian products of scores.

The score of every candidate is a function of all parameters. Pushing takes a direction of the
parameters to what it changes in the scores; pulling takes one weight for every score to the
gradient of their weighted sum.
"""

import math
from typing import Any, NamedTuple

from numpy.typing import NDArray

from whereof._jit import inlined, kernel
from whereof.models.match import DOT, L1, add_query_gradient, add_row_gradient
from whereof.training.losses import SIGMOID, SOFTMAX, sigmoid_loss, softmax_loss, squared_loss
from whereof.types import Rows


class Tables(NamedTuple):
    """All parameters, or one number per parameter."""

    entities: Rows
    relations: Rows


class Pulled(NamedTuple):
    """Gradients with respect to the rows that queries are computed from."""

    given: Rows
    """(n, width)"""
    relations: Rows
    """(n, relation width)"""


class FactGradients(NamedTuple):
    """Gradients of facts, in one or two directions each, before they are summed by row."""

    given: NDArray[Any]
    """(n_directions, n) the given entity of each query."""
    queries: Rows
    """(n_directions, n, query width)"""
    products: Rows
    """(n, n_directions, n_directions) dot products of the queries, without offsets."""
    weights: Rows
    """(n_directions, n, n_entities) derivative of the loss with respect to every entity's score."""
    d_given: Rows
    """(n_directions, n, width) gradient of the row of the given entity."""


@kernel
def push_queries(query_vjp, rows, direction, given, relations, d_query, pulled, out):
    """out: (n, query width) change of every query along a direction.

    A model has only the transpose of what is needed: coordinate k is the direction times the
    gradient of coordinate k. d_query: zeros; pulled: room for one.
    """
    d_given, d_relation = pulled.given[0], pulled.relations[0]
    for i in range(given.shape[0]):
        s, r = given[i], relations[i]
        for k in range(d_query.shape[0]):
            d_query[k] = 1
            query_vjp(rows.entities[s], rows.relations[r], d_query, d_given, d_relation)
            d_query[k] = 0
            along_given = _product(d_given, direction.entities[s])
            out[i, k] = along_given + _product(d_relation, direction.relations[r])


@kernel
def pull_queries(query_vjp, rows, given, relations, d_queries, pulled):
    """From the gradients of queries to those of the rows that they are made of."""
    for i in range(given.shape[0]):
        s, r = rows.entities[given[i]], rows.relations[relations[i]]
        query_vjp(s, r, d_queries[i], pulled.given[i], pulled.relations[i])


@inlined
def _product(a, b):
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@kernel
def push_distances(kind, queries, d_queries, rows, d_rows, out):
    """out: (n, n_candidates) change of minus the distance, as queries and rows change."""
    for i in range(out.shape[0]):
        q, dq = queries[i], d_queries[i]
        for c in range(out.shape[1]):
            row, d_row = rows[c], d_rows[c]
            squares, total = q.dtype.type(0), q.dtype.type(0)
            if kind == L1:
                for k in range(row.shape[0]):
                    side = q.dtype.type((q[k] > row[k]) - (q[k] < row[k]))
                    total += side * (dq[k] - d_row[k])
            else:
                for k in range(row.shape[0]):
                    squares += (q[k] - row[k]) * (q[k] - row[k])
                    total += (q[k] - row[k]) * (dq[k] - d_row[k])
                total = total / math.sqrt(squares) if squares > 0 else q.dtype.type(0)
            out[i, c] = -total


@kernel
def pull_to_queries(kind, queries, rows, weights, d_queries):
    """d_queries += weighted slopes of scores by their queries; weights: (n, n_candidates)."""
    for i in range(weights.shape[0]):
        for c in range(weights.shape[1]):
            if weights[i, c] != 0:
                add_query_gradient(
                    kind, queries[i], rows[c], weights[i, c], rows.shape[1], d_queries[i]
                )


@kernel
def pull_to_rows(kind, queries, rows, weights, d_rows):
    """d_rows += weighted slopes of scores by the candidates' rows."""
    for i in range(weights.shape[0]):
        for c in range(weights.shape[1]):
            if weights[i, c] != 0:
                add_row_gradient(kind, queries[i], rows[c], weights[i, c], rows.shape[1], d_rows[c])


@kernel
def turn_into_slopes(loss, scores, answers, targets):
    """Scores (n, n_candidates) become d loss / d score, where all candidates take part.

    answers: (n,) where the true one stands; targets: (n,) what the squared loss takes it to.
    """
    for i in range(scores.shape[0]):
        row, answer = scores[i], answers[i]
        row[0], row[answer] = row[answer], row[0]  # losses take the true one first
        if loss == SOFTMAX:
            softmax_loss(row)
        elif loss == SIGMOID:
            sigmoid_loss(row)
        else:
            squared_loss(row[:1], targets[i])
            row[1:] = 0
        row[0], row[answer] = row[answer], row[0]


@kernel
def sum_squares(kind, entities, gradients, room, out):
    """out += (n,) squared norms over all entities; slopes that meet in a row are added first."""
    n_directions, n, n_entities = gradients.weights.shape
    width = entities.shape[1]
    for i in range(n):
        total = 0.0
        for c in range(n_entities):
            if kind == DOT and not _is_given(gradients.given, i, c):
                for d in range(n_directions):
                    for e in range(n_directions):
                        weights = gradients.weights[d, i, c] * gradients.weights[e, i, c]
                        total += weights * gradients.products[i, d, e]
                continue
            room[:] = 0
            for d in range(n_directions):
                weight, q = gradients.weights[d, i, c], gradients.queries[d, i]
                if weight != 0:
                    add_row_gradient(kind, q, entities[c], weight, width, room)
                if gradients.given[d, i] == c:
                    for k in range(width):
                        room[k] += gradients.d_given[d, i, k]
            total += _product(room, room)
        out[i] += total


@inlined
def _is_given(given, i, entity):
    found = False
    for d in range(given.shape[0]):
        found = found or given[d, i] == entity
    return found


@kernel
def add_rows(places, rows, out):
    """Add each row to the one of `out` at its place."""
    for i in range(places.shape[0]):
        for k in range(rows.shape[1]):
            out[places[i], k] += rows[i, k]
