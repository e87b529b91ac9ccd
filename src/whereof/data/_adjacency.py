"""Which facts an entity or a relation stands in, without a search."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Facts


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The facts of every entity, in either place, and of every relation, as two flat lists."""

    entity_bounds: NDArray[np.int64]
    """(n_entities + 1,) entity i owns entity_facts[entity_bounds[i]:entity_bounds[i + 1]]."""
    entity_facts: NDArray[np.int32]
    """Fact ids, ascending within an entity; a self-loop stands once."""
    relation_bounds: NDArray[np.int64]
    """(n_relations + 1,)"""
    relation_facts: NDArray[np.int32]
    """Fact ids, ascending within a relation; none in two-way data."""

    @classmethod
    def of(cls, facts: Facts, n_entities: int, n_relations: int) -> "Adjacency":
        """Index facts, (n_facts, 3); two-way data has 0 relations."""
        from whereof.data._grouping import group  # compiled: not needed to read an index

        entities = group(facts[:, [SUBJECT, OBJECT]], n_entities)
        relations = group(facts[: len(facts) * bool(n_relations), [RELATION]], n_relations)
        return cls(*entities, *relations)

    def facts_of_entity(self, entity: int) -> NDArray[np.int32]:
        return self.entity_facts[self.entity_bounds[entity] : self.entity_bounds[entity + 1]]

    def facts_of_relation(self, relation: int) -> NDArray[np.int32]:
        """Empty in two-way data, where facts share no relation."""
        if len(self.relation_bounds) < 2:
            return self.relation_facts
        bounds = self.relation_bounds
        return self.relation_facts[bounds[relation] : bounds[relation + 1]]

    def adjacent(self, entities: Iterable[int], relation: int) -> FactIds:
        """The ids of all facts with any of the entities or the relation, ascending."""
        lists = [*map(self.facts_of_entity, set(entities)), self.facts_of_relation(relation)]
        ids = np.sort(np.concatenate(lists))
        fresh = np.ones(len(ids), bool)
        fresh[1:] = ids[1:] != ids[:-1]
        return ids[fresh].astype(np.int64)
