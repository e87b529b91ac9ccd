"""Facts that say nearly the same: without one of them, the others remain.

So the estimates are too high for one of them alone, and too low for all together.
Estimates of single facts cannot show this, and a rollback of all of them shows it only in part. So
copies are found by structure: they are between the same two entities, and their relations hold for
nearly the same pairs of entities, in the same or in the opposite direction. They must be at least a
third of the facts between the two entities. If they are fewer, as in dense data, the other facts
replace them too.
"""

from collections.abc import Iterator
from functools import cache
from weakref import WeakKeyDictionary

import numpy as np

from whereof.data.indexes import Adjacency
from whereof.predict.scored import Trained
from whereof.types import OBJECT, SUBJECT, FactIds

_ALIKE = 0.7
"""Relations are copies if the correlation of what they hold for is at least this. A relation and 60
percent of its facts, or of their inverses, have 0.77; relations that are independent have 0."""
_AMONG = 3
"""At least one in this many facts between the two entities must be a copy."""
_CORRELATIONS: WeakKeyDictionary[Adjacency, dict[tuple[int, int, bool], float]]
_CORRELATIONS = WeakKeyDictionary()
"""Of two relations of a graph, for all explanations: they take as long as ranking its facts."""


def find_copies(trained: Trained, fact_ids: FactIds) -> Iterator[FactIds]:
    """Groups of facts that say nearly the same, each with one of these facts first."""
    facts, adjacency = trained.dataset.train, trained.adjacency
    n_pairs, seen = float(trained.dataset.n_entities) ** 2, set[int]()
    correlations = _CORRELATIONS.setdefault(adjacency, {})

    @cache
    def pairs(relation: int, subject: int, object_: int) -> FactIds:
        """What a relation holds for: pairs of entities, as numbers."""
        ends = facts[adjacency.facts_of_relation(relation)][:, [subject, object_]].astype(np.int64)
        return np.unique(ends[:, 0] * trained.dataset.n_entities + ends[:, 1])

    def correlation(one: int, other: int, flipped: bool) -> float:
        """Of what two relations hold for; flipped: of one relation and the inverse of the other."""
        first = pairs(one, SUBJECT, OBJECT)
        second = pairs(other, OBJECT, SUBJECT) if flipped else pairs(other, SUBJECT, OBJECT)
        both, sizes = len(np.intersect1d(first, second)), np.array([len(first), len(second)])
        spread = np.sqrt(np.prod(sizes * (1 - sizes / n_pairs)))
        return float((both - np.prod(sizes / n_pairs) * n_pairs) / spread) if spread else 0.0

    for fact in fact_ids.tolist():
        subject, relation, object_ = facts[fact].tolist()
        if fact in seen or subject == object_:
            continue
        near = min(map(adjacency.facts_of_entity, (subject, object_)), key=len)
        ends = facts[near][:, [SUBJECT, OBJECT]]
        between = np.isin(ends, [subject, object_]).all(axis=1) & (ends[:, 0] != ends[:, 1])
        group = [fact]
        for other in near[between].tolist():
            start, its_relation, _ = facts[other].tolist()
            if other == fact:
                continue
            key = relation, its_relation, start == object_
            if key not in correlations:
                correlations[key] = correlation(*key)
            if correlations[key] >= _ALIKE:
                group.append(other)
        if len(group) > 1 and _AMONG * len(group) >= between.sum():
            seen.update(group)
            yield np.array(group, np.int64)
