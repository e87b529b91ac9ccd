"""The training losses of facts over all candidates, and their gradients by all parameters.

Negatives are not sampled: the loss of a fact compares its answer with every candidate. With inverse
relations a fact has two losses, one for its object and one for its subject, which add up.
Regularisation is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof._jit import row_function
from whereof.data.dataset import Dataset
from whereof.errors import WhereofError
from whereof.explain._gradient_kernels import (
    FactGradients,
    Pulled,
    Tables,
    add_rows,
    pull_queries,
    pull_to_queries,
    pull_to_rows,
    push_distances,
    push_queries,
    sum_squares,
    turn_into_slopes,
)
from whereof.models.match import DOT, MATCH_IDS, score_rows
from whereof.models.scoring import Scorer
from whereof.predict.scored import Trained
from whereof.training.losses import LOSS_IDS
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Numbers, Rows

_CELLS = 1 << 22
"""Number of scores to keep in memory at a time."""


def zeros(scorer: Scorer) -> Tables:
    """Zeros for all parameters, in double precision."""
    return Tables(np.zeros(scorer.entity_rows.shape), np.zeros(scorer.relation_rows.shape))


class Queries(NamedTuple):
    """Queries with the same candidates."""

    given: NDArray[Any]
    """(n,) the given entities."""
    relations: NDArray[Any]
    """(n,) relation rows."""
    vectors: Rows
    """(n, query width)"""


class Jacobian:
    """Derivatives of candidates' scores with respect to all parameters, for any query.

    The scores are those of the model, not scaled to ratings. Numbers have the precision of the
    rows. Each candidate is given once.
    """

    def __init__(self, scorer: Scorer, candidates: slice | NDArray[np.int64]) -> None:
        self.scorer, self.candidates = scorer, candidates
        self._tables = Tables(scorer.entity_rows, scorer.relation_rows)
        self._rows: Rows = scorer.entity_rows[candidates]  # (n_candidates, width)
        self._width, self._kind = self._rows.shape[1], MATCH_IDS[scorer.model.match]
        self._vjp = row_function(scorer.model.query_vjp, 5, self._rows.dtype.name)

    def queries(self, given: NDArray[Any], relations: NDArray[Any]) -> Queries:
        return Queries(given, relations, self.scorer.queries(given, relations))

    def scores(self, queries: Queries) -> Rows:
        """(n, n_candidates) scores of the model, not scaled to ratings."""
        q = queries.vectors
        if self._kind == DOT:
            scores: Rows = q[:, : self._width] @ self._rows.T
            return self._offset(scores, q)
        out = np.empty((len(q), len(self._rows)), self._rows.dtype)
        ids = np.arange(len(self._rows))
        for vector, row in zip(q, out, strict=True):
            score_rows(self._kind, vector, self._rows, ids, self._width, row)
        return out

    def push(self, queries: Queries, direction: Tables) -> Rows:
        """(n, n_candidates) change of scores along a direction (Jacobian-vector product)."""
        given, relations, q = queries
        d_rows = direction.entities[self.candidates].astype(q.dtype, copy=False)
        dq, unit = np.empty_like(q), np.zeros(q.shape[1], q.dtype)
        push_queries(self._vjp, self._tables, direction, given, relations, unit, self._room(1), dq)
        if self._kind == DOT:
            change: Rows = dq[:, : self._width] @ self._rows.T
            change += q[:, : self._width] @ d_rows.T
            return self._offset(change, dq)
        out = np.empty((len(q), len(self._rows)), q.dtype)
        push_distances(self._kind, q, dq, self._rows, d_rows, out)
        return out

    def pull(self, queries: Queries, weights: Rows, out: Tables) -> None:
        """Add the gradient of the scores' weighted sum; weights: (n, n_candidates)."""
        q = queries.vectors
        pulled = self.pull_to_given(queries, weights)
        add_rows(queries.given, pulled.given, out.entities)
        add_rows(queries.relations, pulled.relations, out.relations)
        if self._kind == DOT:
            d_rows = weights.T @ q[:, : self._width]
        else:
            d_rows = np.zeros(self._rows.shape)
            pull_to_rows(self._kind, q, self._rows, weights, d_rows)
        out.entities[self.candidates] += d_rows

    def pull_to_given(self, queries: Queries, weights: Rows) -> Pulled:
        """The part of that gradient that passes through the queries, for each query."""
        given, relations, q = queries
        dq, pulled = np.zeros_like(q), self._room(len(q))
        if self._kind == DOT:
            dq[:, : self._width] = weights @ self._rows
            dq[:, self._width :] = weights.sum(axis=1, keepdims=True)
        else:
            pull_to_queries(self._kind, q, self._rows, weights, dq)
        pull_queries(self._vjp, self._tables, given, relations, dq, pulled)
        return pulled

    def _room(self, n: int) -> Pulled:
        """Allocate memory for the gradients of n queries' rows."""
        widths = (table.shape[1] for table in self._tables)
        return Pulled(*(np.zeros((n, width), self._rows.dtype) for width in widths))

    def _offset(self, scores: Rows, queries: Rows) -> Rows:
        """Add the offset of a query to the scores."""
        if queries.shape[1] > self._width:
            scores += queries[:, self._width :]
        return scores


class _Block(NamedTuple):
    """Some facts in one direction, with all candidates of that direction."""

    jacobian: Jacobian
    queries: Queries
    answers: NDArray[np.int64]
    """(n,) position of the true answer among the candidates."""
    slopes: Rows
    """(n, n_candidates) derivative of the loss with respect to every score."""


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses of all training facts under given parameters."""

    scorer: Scorer
    dataset: Dataset
    loss: str
    inverse: bool

    @classmethod
    def of(cls, trained: Trained) -> "Losses":
        """The losses of a run under its own parameters."""
        config = trained.config
        if config.loss == "squared" and trained.dataset.ratings is None:
            raise WhereofError(
                "this run learned ratings but does not contain them, so its losses are unknown; "
                "choose another method, such as rollback"
            )
        return cls(trained.scorer, trained.dataset, config.loss, config.inverse)

    def products(self, fact_ids: FactIds, direction: Tables) -> Numbers:
        """(n,) dot product of each fact's loss gradient with a direction of the parameters."""
        size = max((float(np.abs(part).max(initial=0)) for part in direction), default=0.0)
        if size == 0:
            return np.zeros(len(fact_ids))
        # In single precision a direction may be too small to multiply.
        unit = Tables(*(part / size for part in direction))
        out = np.zeros(len(fact_ids))
        for part, blocks in self._blocks(fact_ids):
            for block in blocks:
                changes = block.jacobian.push(block.queries, unit)
                out[part] += np.einsum("ij,ij->i", block.slopes, changes)
        return size * out

    def norms(self, fact_ids: FactIds) -> Numbers:
        """(n,) norm of each fact's loss gradient."""
        squares, entity_rows = np.zeros(len(fact_ids)), self.scorer.entity_rows
        kind = MATCH_IDS[self.scorer.model.match]
        room = np.empty(entity_rows.shape[1], entity_rows.dtype)
        for part, blocks in self._blocks(fact_ids):
            gradients, relation_squares = self._gradients(blocks)
            sum_squares(kind, entity_rows, gradients, room, squares[part])
            squares[part] += relation_squares
        return np.sqrt(squares)

    def gradient(self, fact_ids: FactIds) -> Tables:
        """The gradient of the sum of these facts' losses."""
        out = zeros(self.scorer)
        for block in chain.from_iterable(blocks for _, blocks in self._blocks(fact_ids)):
            block.jacobian.pull(block.queries, block.slopes, out)
        return out

    def curve(self, fact_ids: FactIds, direction: Tables) -> Tables:
        """Product of the Gauss-Newton matrix of these facts' losses with a direction.

        The matrix is J^T C J, where J is the Jacobian of the scores and C the second derivative of
        the loss with respect to the scores. It is positive semidefinite. The Hessian also contains
        the curvature of the scores.
        """
        out = zeros(self.scorer)
        for block in chain.from_iterable(blocks for _, blocks in self._blocks(fact_ids)):
            changes = block.jacobian.push(block.queries, direction)
            block.jacobian.pull(block.queries, self._bend(block, changes), out)
        return out

    def _bend(self, block: _Block, changes: Rows) -> Rows:
        """Product of the loss's second derivatives with changes of the scores."""
        each = np.arange(len(changes))
        if self.loss == "squared":
            bent = np.zeros_like(changes)
            bent[each, block.answers] = changes[each, block.answers]
            return bent
        n = 1 if self.loss == "softmax" else changes.shape[1]
        p = n * block.slopes
        p[each, block.answers] += 1
        if self.loss == "softmax":
            changes -= np.einsum("ij,ij->i", p, changes)[:, None]
            return np.asarray(p * changes)
        return np.asarray(p * (1 - p) * changes / n)

    def _gradients(self, blocks: list[_Block]) -> tuple[FactGradients, Numbers]:
        """Gradients of a block's facts, and squared norms of the relation gradients."""
        n = len(blocks[0].answers)
        entity_rows = self.scorer.entity_rows
        weights = np.zeros((len(blocks), n, len(entity_rows)), entity_rows.dtype)
        pulled = [block.jacobian.pull_to_given(block.queries, block.slopes) for block in blocks]
        for block, row in zip(blocks, weights, strict=True):
            row[:, block.jacobian.candidates] = block.slopes
        queries = np.stack([block.queries.vectors for block in blocks])
        vectors = queries[:, :, : entity_rows.shape[1]]
        gradients = FactGradients(
            given=np.stack([block.queries.given for block in blocks]),
            queries=queries,
            products=np.einsum("dik,eik->ide", vectors, vectors),
            weights=weights,
            d_given=np.stack([part.given for part in pulled]),
        )
        relations = np.stack([part.relations for part in pulled]).astype(np.float64)
        return gradients, np.einsum("dij,dij->i", relations, relations)

    def _blocks(self, fact_ids: FactIds) -> Iterator[tuple[slice, list[_Block]]]:
        """Blocks of facts with all their directions, small enough for memory."""
        size = max(_CELLS // len(self.scorer.entity_rows), 1)
        for start in range(0, len(fact_ids), size):
            part = slice(start, min(start + size, len(fact_ids)))
            yield part, [self._block(fact_ids[part], d) for d in range(1 + self.inverse)]

    def _block(self, fact_ids: FactIds, direction: int) -> _Block:
        data, jacobian = self.dataset, self._jacobians[direction]
        facts = data.train[fact_ids]
        given, asked = (OBJECT, SUBJECT) if direction else (SUBJECT, OBJECT)
        relations = facts[:, RELATION] + direction * data.inverse_offset
        queries = jacobian.queries(np.ascontiguousarray(facts[:, given]), relations)
        places = data.subjects if direction else data.objects
        answers = facts[:, asked].astype(np.int64) - places.start
        slopes = jacobian.scores(queries)
        turn_into_slopes(LOSS_IDS[self.loss], slopes, answers, self._targets[fact_ids])
        return _Block(jacobian, queries, answers, slopes)

    @cached_property
    def _jacobians(self) -> tuple[Jacobian, Jacobian]:
        places = (self.dataset.objects, self.dataset.subjects)
        forward, back = (Jacobian(self.scorer, slice(p.start, p.stop)) for p in places)
        return forward, back

    @cached_property
    def _targets(self) -> Numbers:
        """(n_facts,) targets of the squared loss."""
        ratings = self.dataset.ratings
        if self.loss == "squared" and ratings is not None:
            return ratings.standardised()
        return np.zeros(self.dataset.n_facts)
