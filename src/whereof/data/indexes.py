"""Indexes: the facts of an entity or relation, and the known answers to a query."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Facts


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Facts of every entity (as subject or object) and of every relation, as two flat arrays."""

    entity_bounds: NDArray[np.int64]
    """(n_entities + 1,) entity i owns entity_facts[entity_bounds[i]:entity_bounds[i + 1]]."""
    entity_facts: NDArray[np.int32]
    """Fact ids, ascending within an entity; a self-loop appears once."""
    relation_bounds: NDArray[np.int64]
    """(n_relations + 1,)"""
    relation_facts: NDArray[np.int32]
    """Fact ids, ascending within a relation; none in two-way data."""

    @classmethod
    def of(cls, facts: Facts, n_entities: int, n_relations: int) -> "Adjacency":
        """Build the index of facts, (n_facts, 3); two-way data has 0 relations."""
        subjects, relations, objects = facts.T
        fact_ids, no_loop = np.arange(len(facts)), subjects != objects
        owners = np.concatenate([subjects, objects[no_loop]])
        entities = _group(owners, np.concatenate([fact_ids, fact_ids[no_loop]]), n_entities)
        n_related = len(facts) if n_relations else 0
        return cls(*entities, *_group(relations[:n_related], fact_ids[:n_related], n_relations))

    def fits(self, n_facts: int, n_entities: int, n_relations: int) -> bool:
        """Whether all ids and bounds of an index that was read are within these arrays."""
        parts = (self.entity_bounds, self.entity_facts), (self.relation_bounds, self.relation_facts)
        return all(
            bounds.dtype == np.int64
            and facts.dtype == np.int32
            and bounds.shape == (n_owners + 1,)
            and facts.ndim == 1
            and bounds[0] == 0
            and bounds[-1] == len(facts)
            and (np.diff(bounds) >= 0).all()
            and (not len(facts) or (facts.min() >= 0 and facts.max() < n_facts))
            for (bounds, facts), n_owners in zip(parts, (n_entities, n_relations), strict=True)
        )

    def facts_of_entity(self, entity: int) -> NDArray[np.int32]:
        return self.entity_facts[self.entity_bounds[entity] : self.entity_bounds[entity + 1]]

    def facts_of_relation(self, relation: int) -> NDArray[np.int32]:
        bounds = self.relation_bounds[relation : relation + 2]
        return self.relation_facts[slice(*bounds)] if len(bounds) == 2 else self.relation_facts

    def adjacent(self, entities: Iterable[int], relation: int) -> FactIds:
        """Ids of all facts with one of the entities or the relation, ascending."""
        lists = [*map(self.facts_of_entity, set(entities)), self.facts_of_relation(relation)]
        ids = np.sort(np.concatenate(lists))
        return ids[_is_first(ids)].astype(np.int64)  # np.unique is 60 times slower


def _is_first(values: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether a value differs from the one before it."""
    return np.concatenate([np.ones(min(len(values), 1), bool), values[1:] != values[:-1]])


def _group(
    owners: NDArray[np.int32], fact_ids: FactIds, n_owners: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Bounds and members of every owner's group; members ascend."""
    width = int(fact_ids.max(initial=0)) + 1
    # Sorting one number for each pair is much faster than a stable sort of the owners.
    pairs = np.sort(owners * np.int64(width) + fact_ids)
    counts = np.bincount(owners, minlength=n_owners)
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
    return bounds, (pairs % width).astype(np.int32)


@dataclass(frozen=True, eq=False)
class KnownAnswers:
    """The known objects of every query (subject, relation), in one flat array.

    For known subjects of (relation, object), build it from facts with swapped columns.
    """

    n_relations: int
    """Number of relations; 1 in two-way data."""
    keys: NDArray[np.int64]
    """(n_distinct_facts,) subject * n_relations + relation, ascending."""
    flat: NDArray[np.int32]
    """(n_distinct_facts,) object ids, ascending within a query."""

    @classmethod
    def of(cls, *splits: Facts, n_relations: int) -> "KnownAnswers":
        """The known answers of all given splits, each (n, 3)."""
        width = max(n_relations, 1)
        facts = np.concatenate([np.empty((0, 3), np.int32), *splits])
        keys = facts[:, SUBJECT].astype(np.int64) * width + facts[:, RELATION]
        order = np.lexsort((facts[:, OBJECT], keys))
        keys, objects = keys[order], facts[order, OBJECT]
        is_first = _is_first(keys) | _is_first(objects)
        return cls(width, keys[is_first], objects[is_first])

    def lookup(self, queries: NDArray[np.integer]) -> NDArray[np.int64]:
        """(n, 2) start and stop in `flat` of the known objects of (n, 2) queries."""
        subjects, relations = queries[:, 0], queries[:, 1]
        wanted = subjects.astype(np.int64) * self.n_relations + relations
        starts, stops = (np.searchsorted(self.keys, wanted, side) for side in ("left", "right"))
        # A relation id out of range would have the same key as another subject's query.
        inside = (relations >= 0) & (relations < self.n_relations)
        return np.column_stack([starts, np.where(inside, stops, starts)])
