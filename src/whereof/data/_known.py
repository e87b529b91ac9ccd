"""Which objects are already known to answer a query (subject, relation)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.types import OBJECT, RELATION, SUBJECT, Facts


class Spans(NamedTuple):
    """Where the known objects of each query stand in `KnownAnswers.flat`."""

    starts: NDArray[np.int64]
    """(n_queries,)"""
    stops: NDArray[np.int64]
    """(n_queries,); equal to the start where nothing is known."""


@dataclass(frozen=True, eq=False)
class KnownAnswers:
    """The distinct objects of every query (subject, relation), in one flat array.

    For the subjects known to a query (relation, object), build it of facts whose subject and
    object columns are swapped.
    """

    n_relations: int
    keys: NDArray[np.int64]
    """(n_queries,) subject * n_relations + relation, ascending."""
    bounds: NDArray[np.int64]
    """(n_queries + 1,) query i owns flat[bounds[i]:bounds[i + 1]]."""
    flat: NDArray[np.int32]
    """(n_distinct_facts,) object ids, ascending within a query."""

    @classmethod
    def of(cls, *splits: Facts, n_relations: int) -> "KnownAnswers":
        """The answers that any of the splits holds.

        Parameters
        ----------
        splits
            Each (n, 3) int32.
        n_relations
            Every relation id is below it; two-way data may say 0.
        """
        width = max(n_relations, 1)
        facts = np.concatenate([np.empty((0, 3), np.int32), *splits])
        _check_relations(facts[:, RELATION], width)
        keys = _key(facts[:, SUBJECT], facts[:, RELATION], width)
        order = np.lexsort((facts[:, OBJECT], keys))
        keys, objects = keys[order], facts[order, OBJECT]
        fresh = np.ones(len(keys), bool)
        fresh[1:] = (keys[1:] != keys[:-1]) | (objects[1:] != objects[:-1])
        keys, objects = keys[fresh], objects[fresh]
        distinct, starts = np.unique(keys, return_index=True)
        return cls(width, distinct, np.append(starts, len(keys)).astype(np.int64), objects)

    def lookup(self, queries: NDArray[np.integer]) -> Spans:
        """The known objects of (n, 2) queries (subject, relation), as spans of `flat`."""
        subjects, relations = queries[:, 0], queries[:, 1]
        wanted = _key(subjects, relations, self.n_relations)
        at = np.searchsorted(self.keys, wanted)
        found = np.zeros(len(wanted), bool)
        inside = at < len(self.keys)
        found[inside] = self.keys[at[inside]] == wanted[inside]
        # A relation id out of range would share its key with another subject's query.
        found &= (relations >= 0) & (relations < self.n_relations)
        starts = self.bounds[at]
        return Spans(starts, np.where(found, self.bounds[at + found], starts))

    def objects(self, subject: int, relation: int) -> NDArray[np.int32]:
        """The known objects of one query, ascending; empty where there are none."""
        span = self.lookup(np.array([[subject, relation]]))
        return self.flat[span.starts[0] : span.stops[0]]


def _key(
    subjects: NDArray[np.integer], relations: NDArray[np.integer], n_relations: int
) -> NDArray[np.int64]:
    return subjects.astype(np.int64) * n_relations + relations


def _check_relations(relations: NDArray[np.int32], n_relations: int) -> None:
    if len(relations) and not 0 <= relations.min() <= relations.max() < n_relations:
        bad = relations.min() if relations.min() < 0 else relations.max()
        raise WhereofError(f"relation id {bad} is not one of 0 to {n_relations - 1}")
