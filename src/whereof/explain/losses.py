"""The training losses of facts over all candidates, and their gradients by all parameters.

Negatives are not sampled: the loss of a fact compares its answer with every candidate. With inverse
relations a fact has two losses, one for its object and one for its subject, which add up. The
weight of a fact scales them. Regularisation is left out.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof._jit import row_function
from whereof.errors import WhereofError
from whereof.explain import _gradient_kernels as kernels
from whereof.explain.method import able_method
from whereof.models.match import DOT, MATCH_IDS, score_rows
from whereof.models.scoring import Scorer
from whereof.predict.scored import Trained
from whereof.training.losses import LOSS_IDS
from whereof.training.results import Parameters
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Numbers, Rows

_CELLS = 1 << 22
"""Number of scores to keep in memory at a time."""
_Block = tuple["Jacobian", NDArray[np.int64], Rows, Rows]
"""Some facts in one direction, with all candidates of that direction; (n,) positions of the true
answers among them, (n, n_candidates) the derivative of the loss by every score, and (n, 1) the
weights of the facts, which are not yet in it."""


def as_rows(vector: Numbers, scorer: Scorer) -> Parameters:
    """A vector of all parameters in the shape of a scorer's rows, not copied."""
    n = scorer.entity_rows.size
    entities = vector[:n].reshape(scorer.entity_rows.shape)
    return Parameters(entities, vector[n:].reshape(scorer.relation_rows.shape))


class Jacobian:
    """Derivatives of scores with respect to all parameters, for queries with the same candidates.

    The scores are those of the model, not scaled to ratings. Numbers have the precision of the
    rows. Each candidate is given once.
    """

    def __init__(
        self,
        scorer: Scorer,
        candidates: slice | NDArray[np.int64],
        given: NDArray[Any],
        relations: NDArray[Any],
    ) -> None:
        self.candidates, self.given, self.relations = candidates, given, relations
        self.queries = scorer.queries(given, relations)
        self._tables = Parameters(scorer.entity_rows, scorer.relation_rows)
        self._rows: Rows = scorer.entity_rows[candidates]  # (n_candidates, width)
        self._width, self._kind = self._rows.shape[1], MATCH_IDS[scorer.model.match]
        self._vjp = row_function(scorer.model.query_vjp, 5, self._rows.dtype.name)

    def scores(self) -> Rows:
        """(n, n_candidates) scores of the candidates by every query."""
        if self._kind == DOT:
            return self._dots(self.queries)
        ids = np.arange(len(self._rows))
        out = np.empty((len(self.queries), len(ids)), self._rows.dtype)
        for vector, row in zip(self.queries, out, strict=True):
            score_rows(self._kind, vector, self._rows, ids, self._width, row)
        return out

    def push(self, direction: Parameters) -> Rows:
        """(n, n_candidates) change of scores along a direction (Jacobian-vector product)."""
        q = self.queries
        d_rows = direction.entity_rows[self.candidates].astype(q.dtype, copy=False)
        dq, unit = np.empty_like(q), np.zeros(q.shape[1], q.dtype)
        asked, room = (self.given, self.relations, unit), self._gradients(1)
        kernels.push_queries(self._vjp, self._tables, direction, *asked, room, dq)
        if self._kind == DOT:
            return np.asarray(self._dots(dq) + q[:, : self._width] @ d_rows.T)
        out = np.empty((len(q), len(d_rows)), q.dtype)
        kernels.push_distances(self._kind, q, dq, self._rows, d_rows, unit, out)
        return out

    def pull(self, weights: Rows, out: Parameters) -> None:
        """Add the gradient of the scores' weighted sum; weights: (n, n_candidates)."""
        q = self.queries
        if self._kind == DOT:
            d_rows, pulled = weights.T @ q[:, : self._width], self.pull_to_given(weights)
        else:
            d_rows, dq = np.zeros(self._rows.shape), np.zeros_like(q)
            kernels.pull_distances(self._kind, q, self._rows, weights, dq, d_rows)
            pulled = self._pull_through(dq)
        kernels.add_rows(self.given, pulled.entity_rows, out.entity_rows)
        kernels.add_rows(self.relations, pulled.relation_rows, out.relation_rows)
        out.entity_rows[self.candidates] += d_rows

    def pull_to_given(self, weights: Rows) -> Parameters:
        """The part of that gradient that passes through each query, for dot products."""
        dq = np.empty_like(self.queries)
        dq[:, : self._width] = weights @ self._rows
        dq[:, self._width :] = weights.sum(axis=1, keepdims=True)
        return self._pull_through(dq)

    def _pull_through(self, dq: Rows) -> Parameters:
        """From the gradients of queries to those of the rows that they are made of."""
        pulled = self._gradients(len(dq))
        kernels.pull_queries(self._vjp, self._tables, self.given, self.relations, dq, pulled)
        return pulled

    def _dots(self, queries: Rows) -> Rows:
        """Dot products with all candidates, and the offset of a query that has one."""
        products = queries[:, : self._width] @ self._rows.T
        return np.asarray(products + queries[:, self._width :].sum(axis=1, keepdims=True))

    def _gradients(self, n: int) -> Parameters:
        """Zeros for the gradients of n queries, by the rows of the given entity and relation."""
        widths = (table.shape[1] for table in self._tables)
        return Parameters(*(np.zeros((n, width), self._rows.dtype) for width in widths))


class Losses:
    """Losses of all training facts of a run under its parameters.

    Gradients and directions are vectors of all parameters: entity rows, then relation rows.
    """

    def __init__(self, trained: Trained) -> None:
        self.trained, self.scorer, self.dataset = trained, trained.scorer, trained.dataset
        self.loss, ratings = trained.config.loss, trained.dataset.ratings
        self._targets = np.zeros(self.dataset.n_facts)  # of the squared loss
        if self.loss == "squared":
            if ratings is None:
                raise WhereofError(
                    "this is a rating model, but the run has no ratings, so its losses are "
                    f"unknown; choose another method, such as {able_method('groups').name}"
                )
            self._targets = ratings.standardised()

    def products(self, fact_ids: FactIds, direction: Numbers) -> Numbers:
        """(n,) dot product of each fact's loss gradient with a direction of the parameters."""
        # In single precision a direction may be too small to multiply.
        size = float(np.abs(direction).max(initial=0)) or 1.0
        unit, out = as_rows(direction / size, self.scorer), np.zeros(len(fact_ids))
        for part, blocks in self._blocks(fact_ids):
            for jacobian, _, slopes, weights in blocks:
                out[part] += weights[:, 0] * np.einsum("ij,ij->i", slopes, jacobian.push(unit))
        return size * out

    def norms(self, fact_ids: FactIds) -> Numbers:
        """(n,) norm of each fact's loss gradient."""
        if self.scorer.model.match == "dot":
            n, squares = len(self.scorer.entity_rows), np.empty(len(fact_ids))
            for part, blocks in self._blocks(fact_ids):
                squares[part] = _squares(blocks, n)
            return np.sqrt(squares)
        gradients = (self.gradient(fact_id) for fact_id in fact_ids[:, None])
        return np.array([np.linalg.norm(gradient) for gradient in gradients], np.float64)

    def gradient(self, fact_ids: FactIds) -> Numbers:
        """The gradient of the sum of these facts' losses."""
        out = np.zeros(sum(rows.size for rows in self.trained.parameters))
        for _, blocks in self._blocks(fact_ids):
            for jacobian, _, slopes, weights in blocks:
                jacobian.pull(weights * slopes, as_rows(out, self.scorer))
        return out

    def curve(self, fact_ids: FactIds, direction: Numbers) -> Numbers:
        """Product of the Gauss-Newton matrix of these facts' losses with a direction.

        The matrix is J^T C J, where J is the Jacobian of the scores and C the second derivative of
        the loss with respect to the scores. It is positive semidefinite. The Hessian also contains
        the curvature of the scores.
        """
        out, along = np.zeros(len(direction)), as_rows(direction, self.scorer)
        for _, blocks in self._blocks(fact_ids):
            for jacobian, answers, slopes, weights in blocks:
                bent = self._bend(answers, slopes, jacobian.push(along))
                jacobian.pull(weights * bent, as_rows(out, self.scorer))
        return out

    def _bend(self, answers: NDArray[np.int64], slopes: Rows, changes: Rows) -> Rows:
        """Product of the loss's second derivatives with changes of the scores."""
        each = np.arange(len(changes))
        if self.loss == "squared":
            bent = np.zeros_like(changes)
            bent[each, answers] = changes[each, answers]
            return bent
        n = 1 if self.loss == "softmax" else changes.shape[1]
        p = n * slopes
        p[each, answers] += 1
        if self.loss == "softmax":
            changes -= np.einsum("ij,ij->i", p, changes)[:, None]
            return np.asarray(p * changes)
        return np.asarray(p * (1 - p) * changes / n)

    def _blocks(self, fact_ids: FactIds) -> Iterator[tuple[slice, list[_Block]]]:
        """Blocks of facts with all their directions, small enough for memory."""
        size = max(_CELLS // len(self.scorer.entity_rows), 1)
        directions = range(1 + self.trained.config.inverse)
        for start in range(0, len(fact_ids), size):
            part = slice(start, min(start + size, len(fact_ids)))
            yield part, [self._block(fact_ids[part], d) for d in directions]

    def _block(self, fact_ids: FactIds, direction: int) -> _Block:
        data, facts = self.dataset, self.dataset.train[fact_ids]
        given, asked = (OBJECT, SUBJECT) if direction else (SUBJECT, OBJECT)
        places = data.subjects if direction else data.objects
        relations = facts[:, RELATION] + direction * data.inverse_offset
        queries = np.ascontiguousarray(facts[:, given]), relations
        jacobian = Jacobian(self.scorer, slice(places.start, places.stop), *queries)
        answers, slopes = facts[:, asked].astype(np.int64) - places.start, jacobian.scores()
        kernels.turn_into_slopes(LOSS_IDS[self.loss], slopes, answers, self._targets[fact_ids])
        weights = data.weights_of(fact_ids)[:, None].astype(slopes.dtype)
        return jacobian, answers, slopes, weights


def _squares(blocks: list[_Block], n_entities: int) -> Numbers:
    """(n,) squared norms of the gradients of facts, for dot products.

    In each direction, a fact moves every candidate's row by slope times query, and the row of the
    given entity by `own`. Both may meet in one row, and so may the two directions.
    """
    n = len(blocks[0][1])
    each, total, moves = np.arange(n), np.zeros(n), []
    for jacobian, _, slopes, factors in blocks:
        slopes = factors * slopes
        own, relations = jacobian.pull_to_given(slopes)
        total += _products(relations, relations)
        weights = np.zeros((len(slopes), n_entities), slopes.dtype)
        weights[:, jacobian.candidates] = slopes
        moves.append((weights, jacobian.queries[:, : own.shape[1]], jacobian.given, own))
    for weights, q, given, own in moves:
        for others, p, given_there, own_there in moves:
            total += _products(weights, others) * _products(q, p)
            total += 2 * weights[each, given_there] * _products(q, own_there)
            total += (given == given_there) * _products(own, own_there)
    return total


def _products(one: Rows, other: Rows) -> Numbers:
    """(n,) dot products of rows, in double precision."""
    return np.asarray(np.einsum("ij,ij->i", one, other, dtype=np.float64))
