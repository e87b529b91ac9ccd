"""Kernels for gradients: Jacobian-vector and vector-Jacobian products of scores.

The score of every candidate is a function of all parameters. Pushing takes a direction of the
parameters to what it changes in the scores; pulling takes one weight for every score to the
gradient of their weighted sum.
"""

from whereof._jit import inlined, kernel
from whereof.models.match import add_query_gradient, add_row_gradient
from whereof.training.losses import SIGMOID, SOFTMAX, sigmoid_loss, softmax_loss, squared_loss


@kernel
def push_queries(query_vjp, rows, direction, given, relations, d_query, pulled, out):
    """out: (n, query width) change of every query along a direction.

    A model has only the transpose of what is needed: coordinate k is the direction times the
    gradient of coordinate k. d_query: zeros; pulled: room for one.
    """
    d_given, d_relation = pulled.entity_rows[0], pulled.relation_rows[0]
    for i in range(given.shape[0]):
        s, r = given[i], relations[i]
        for k in range(d_query.shape[0]):
            d_query[k] = 1
            query_vjp(rows.entity_rows[s], rows.relation_rows[r], d_query, d_given, d_relation)
            d_query[k] = 0
            along_given = _product(d_given, direction.entity_rows[s])
            out[i, k] = along_given + _product(d_relation, direction.relation_rows[r])


@kernel
def pull_queries(query_vjp, rows, given, relations, d_queries, pulled):
    """From the gradients of queries to those of the rows that they are made of."""
    for i in range(given.shape[0]):
        s, r = rows.entity_rows[given[i]], rows.relation_rows[relations[i]]
        query_vjp(s, r, d_queries[i], pulled.entity_rows[i], pulled.relation_rows[i])


@inlined
def _product(a, b):
    total = 0.0
    for k in range(a.shape[0]):
        total += a[k] * b[k]
    return total


@kernel
def push_distances(kind, queries, d_queries, rows, d_rows, slopes, out):
    """out: (n, n_candidates) change of minus the distance, as queries and rows change.

    slopes: room for one query.
    """
    width = rows.shape[1]
    for i in range(out.shape[0]):
        for c in range(out.shape[1]):
            slopes[:] = 0
            add_query_gradient(kind, queries[i], rows[c], 1.0, width, slopes)
            out[i, c] = _product(slopes, d_queries[i]) - _product(slopes, d_rows[c])


@kernel
def pull_distances(kind, queries, rows, weights, d_queries, d_rows):
    """Add weighted slopes of scores by their queries and by the candidates' rows.

    weights: (n, n_candidates).
    """
    width = rows.shape[1]
    for i in range(weights.shape[0]):
        for c in range(weights.shape[1]):
            if weights[i, c] != 0:
                add_query_gradient(kind, queries[i], rows[c], weights[i, c], width, d_queries[i])
                add_row_gradient(kind, queries[i], rows[c], weights[i, c], width, d_rows[c])


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
def add_rows(places, rows, out):
    """Add each row to the one of `out` at its place."""
    for i in range(places.shape[0]):
        for k in range(rows.shape[1]):
            out[places[i], k] += rows[i, k]
