"""Scores of candidates with trained rows, shared by evaluation, prediction and explanation."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof._jit import kernel, row_function
from whereof.models.match import MATCH_IDS, match, score_rows
from whereof.models.model import Model
from whereof.types import OBJECT, RELATION, SUBJECT, Facts, Numbers, Rows


@dataclass(frozen=True)
class Scorer:
    """A model with its rows: entity_rows (n_entities, width), relation_rows (n, width)."""

    model: Model
    entity_rows: Rows
    relation_rows: Rows
    scale: float = 1.0
    offset: float = 0.0
    """Scale and shift of scores: converts standardised scores back to ratings."""

    def queries(
        self, given: NDArray[Any], relations: NDArray[Any], precision: str | None = None
    ) -> Rows:
        """(n, query width) the query vectors, in the precision of the rows unless given."""
        dtype = precision or self.entity_rows.dtype.name
        entities = np.ascontiguousarray(self.entity_rows[given], dtype)
        rows = np.ascontiguousarray(self.relation_rows[relations], dtype)
        out = np.empty((len(entities), entities.shape[1] + self._n_offsets), dtype)
        _fill_queries(row_function(self.model.query, 3, dtype), entities, rows, out)
        return out

    def fact_scores(self, facts: Facts) -> Rows:
        """(n,) scores of (n, 3) facts."""
        if self.model.score is not None:
            ends = (self.entity_rows[facts[:, at]] for at in (SUBJECT, OBJECT))
            given, objects = (np.asarray(rows, np.float64) for rows in ends)
            relations = np.asarray(self.relation_rows[facts[:, RELATION]], np.float64)
            return self._placed(self.model.score(given, relations, objects[:, None])[:, 0])
        queries = self.queries(facts[:, SUBJECT], facts[:, RELATION])
        out = np.empty(len(facts), self.entity_rows.dtype)
        kind, rows = MATCH_IDS[self.model.match], self.entity_rows
        _score_facts(kind, queries, rows, np.ascontiguousarray(facts[:, OBJECT]), out)
        return self._placed(out)

    @cached_property
    def _n_offsets(self) -> int:
        widths = self.model.widths(2)
        return widths.query - widths.entity

    def _placed(self, scores: Rows) -> Rows:
        real = scores.dtype.type
        return np.asarray(scores * real(self.scale) + real(self.offset))


class Softmax(NamedTuple):
    """The softmax of scores, row by row; a probability is an exponential over its total."""

    exponentials: Numbers
    """(n, n_candidates) e^(score - the largest score of the row)."""
    totals: Numbers
    """(n,)"""


def score_all(model: Model, queries: Rows, rows: Rows, spans: NDArray[np.int64]) -> Numbers:
    """(n, most candidates) scores of the rows from spans[i, 0] to spans[i, 1], by each query."""
    n_candidates = int(np.diff(spans).max(initial=0))
    out = np.empty((len(queries), n_candidates))
    if model.score is not None:
        width = rows.shape[1]
        for first, last in np.unique(spans, axis=0).tolist():
            mine = np.flatnonzero((spans == (first, last)).all(axis=1))
            asked, others = (np.asarray(it, np.float64) for it in (queries[mine], rows[first:last]))
            out[mine, : last - first] = model.score(asked[:, :width], asked[:, width:], others)
        return out
    view = np.asarray(rows).view()
    view.flags.writeable = False  # one compiled kernel for rows in memory and memory-mapped rows
    _score(MATCH_IDS[model.match], queries, view, np.arange(len(rows)), spans, out)
    return out


def softmax(scores: Numbers, sizes: NDArray[np.int64]) -> Softmax:
    """The softmax of the first sizes[i] scores of each row."""
    found = Softmax(np.empty_like(scores), np.empty(len(scores)))
    _exponentials(scores, sizes, found.exponentials, found.totals)
    return found


@kernel
def _fill_queries(query, given, relations, out):
    for i in range(out.shape[0]):
        query(given[i], relations[i], out[i])


@kernel
def _score_facts(kind, queries, rows, objects, out):
    for i in range(out.shape[0]):
        out[i] = match(kind, queries[i], rows[objects[i]], rows.shape[1])


@kernel
def _score(kind, queries, rows, ids, spans, out):
    for i in range(queries.shape[0]):
        first, last = spans[i, 0], spans[i, 1]
        scores = out[i, : last - first]
        score_rows(kind, queries[i], rows, ids[first:last], rows.shape[1], scores)


@kernel
def _exponentials(scores, sizes, out, totals):
    for i in range(scores.shape[0]):
        top = scores[i, 0]
        for j in range(sizes[i]):
            top = max(top, scores[i, j])
        total = 0.0
        for j in range(sizes[i]):
            out[i, j] = np.exp(scores[i, j] - top)
            total += out[i, j]
        totals[i] = total
