"""Scores as functions of all parameters: their slopes, pushed forward and pulled back."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof._jit import row_function
from whereof.explain._gradient_kernels import (
    Pulled,
    Tables,
    add_rows,
    pull_queries,
    pull_to_queries,
    pull_to_rows,
    push_distances,
    push_queries,
)
from whereof.models.match import MATCH_IDS, score_rows
from whereof.models.scoring import Scorer
from whereof.types import Rows


def zeros(scorer: Scorer) -> Tables:
    """A zero for every parameter, in double precision."""
    return Tables(np.zeros(scorer.entity_rows.shape), np.zeros(scorer.relation_rows.shape))


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries that ask for an answer among the same candidates."""

    given: NDArray[Any]
    """(n,) the entities that are not asked for."""
    relations: NDArray[Any]
    """(n,) rows of relations."""
    vectors: Rows
    """(n, query width)"""


@dataclass(frozen=True, eq=False)
class Jacobian:
    """The slopes of some candidates' scores by all parameters, for any query.

    The scores are the model's own, not placed on a scale of ratings. Numbers are of the precision
    of the rows.
    """

    scorer: Scorer
    candidates: slice | NDArray[np.int64]
    """Rows of the candidates, each once."""

    def queries(self, given: NDArray[Any], relations: NDArray[Any]) -> Queries:
        return Queries(given, relations, self.scorer.queries(given, relations))

    def scores(self, queries: Queries) -> Rows:
        """(n, n_candidates) as the model has them."""
        q = queries.vectors
        if self._is_dot:
            scores: Rows = q[:, : self._width] @ self._rows.T
            return self._offset(scores, q)
        out = np.empty((len(q), len(self._rows)), self._rows.dtype)
        ids = np.arange(len(self._rows))
        for vector, row in zip(q, out, strict=True):
            score_rows(self._kind, vector, self._rows, ids, self._width, row)
        return out

    def push(self, queries: Queries, direction: Tables) -> Rows:
        """(n, n_candidates) what scores change by as the parameters go along a direction."""
        q, d_rows = queries.vectors, direction.entities[self.candidates]
        d_rows = d_rows.astype(q.dtype, copy=False)
        dq = self._push_queries(queries, direction)
        if self._is_dot:
            width = self._width
            change: Rows = dq[:, :width] @ self._rows.T
            change += q[:, :width] @ d_rows.T
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
        if self._is_dot:
            d_rows = weights.T @ q[:, : self._width]
        else:
            d_rows = np.zeros(self._rows.shape)
            pull_to_rows(self._kind, q, self._rows, weights, d_rows)
        out.entities[self.candidates] += d_rows

    def pull_to_given(self, queries: Queries, weights: Rows) -> Pulled:
        """The part of that gradient that goes through the queries, one by one."""
        q, rows = queries.vectors, self._tables
        dq = np.zeros_like(q)
        if self._is_dot:
            dq[:, : self._width] = weights @ self._rows
            dq[:, self._width :] = weights.sum(axis=1, keepdims=True)
        else:
            pull_to_queries(self._kind, q, self._rows, weights, dq)
        pulled = self._room(len(q))
        vjp = row_function(self.scorer.model.query_vjp, 5, q.dtype.name)
        pull_queries(vjp, rows, queries.given, queries.relations, dq, pulled)
        return pulled

    def _push_queries(self, queries: Queries, direction: Tables) -> Rows:
        out = np.empty_like(queries.vectors)
        vjp = row_function(self.scorer.model.query_vjp, 5, out.dtype.name)
        d_query, pulled = np.zeros(out.shape[1], out.dtype), self._room(1)
        given, relations = queries.given, queries.relations
        push_queries(vjp, self._tables, direction, given, relations, d_query, pulled, out)
        return out

    def _room(self, n: int) -> Pulled:
        """Room for the gradients of n queries' rows."""
        shapes = ((n, table.shape[1]) for table in self._tables)
        return Pulled(*(np.zeros(shape, self._rows.dtype) for shape in shapes))

    def _offset(self, scores: Rows, queries: Rows) -> Rows:
        """Add what a query carries beyond the width of a row."""
        if queries.shape[1] > self._width:
            scores += queries[:, self._width :]
        return scores

    @cached_property
    def _rows(self) -> Rows:
        """(n_candidates, width)."""
        return self.scorer.entity_rows[self.candidates]

    @property
    def _tables(self) -> Tables:
        return Tables(self.scorer.entity_rows, self.scorer.relation_rows)

    @property
    def _width(self) -> int:
        return int(self._rows.shape[1])

    @property
    def _kind(self) -> int:
        return MATCH_IDS[self.scorer.model.match]

    @property
    def _is_dot(self) -> bool:
        return self.scorer.model.match == "dot"
