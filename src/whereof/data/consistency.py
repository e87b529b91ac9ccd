"""Facts that say the same twice, and facts that may contradict each other.

Exact duplicates are dropped when data is read. What is left are relations that repeat each other,
entities with the same facts, and facts that break a rule which nearly all facts of their relation
follow: that a subject has one object, that an object has one subject, or that a pair occurs in only
one direction.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import Dataset
from whereof.types import OBJECT, RELATION, SUBJECT, Facts

_LEAST_PAIRS = 20
"""If a relation has fewer pairs of entities, a rule could be chance."""
_LEAST_FACTS = 3
"""Entities with fewer facts may have the same facts by chance."""
_COPY, _RULE = 0.9, 0.95
"""The share of pairs that makes a relation a copy, and of cases that makes a rule."""


@dataclass(frozen=True)
class CopiedRelation:
    """Two relations that are between the same entities, or the same with places swapped."""

    relation: str
    copy: str
    swapped: bool
    """Whether subject and object are swapped: the copy is the inverse relation."""
    n_shared: int
    share: float
    """The share of the pairs of the smaller relation that both have."""


@dataclass(frozen=True)
class SameEntities:
    """Entities with exactly the same facts: perhaps one thing under several names."""

    entities: tuple[str, ...]
    """Their names."""
    labels: tuple[str, ...]
    n_facts: int
    """Number of facts of each."""


@dataclass(frozen=True)
class Contradiction:
    """Facts that break a rule which nearly all others of their relation follow."""

    relation: str
    rule: str
    """one object, one subject, or one direction."""
    share: float
    """The share of cases that follow the rule."""
    fact_ids: tuple[int, ...]
    """The facts that cannot all be true if the rule holds."""


@dataclass(frozen=True)
class Consistency:
    """What repeats and what contradicts in the training facts."""

    copies: tuple[CopiedRelation, ...]
    same_entities: tuple[SameEntities, ...]
    contradictions: tuple[Contradiction, ...]


def check_consistency(data: Dataset) -> Consistency:
    """Copied relations, entities with the same facts, and contradictions of a graph.

    Facts of two columns have no relations to compare: nothing is found in them.
    """
    if data.two_way:
        return Consistency((), (), ())
    copies = sorted(_copies(data), key=lambda it: (-it.share, -it.n_shared))
    broken = sorted(_contradictions(data), key=lambda it: (-it.share, it.fact_ids))
    return Consistency(tuple(copies), tuple(_same_entities(data)), tuple(broken))


def _pairs(facts: Facts, n: int, *, swapped: bool = False) -> NDArray[np.int64]:
    """(n_facts,) one number for the pair of entities of each fact."""
    first, second = (OBJECT, SUBJECT) if swapped else (SUBJECT, OBJECT)
    return facts[:, first].astype(np.int64) * n + facts[:, second]


def _copies(data: Dataset) -> Iterator[CopiedRelation]:
    """Pairs of relations with mostly the same pairs of entities."""
    n, sizes = data.n_entities, np.bincount(data.train[:, RELATION], minlength=data.n_relations)
    own = _pairs(data.train, n)
    order = np.argsort(own, kind="stable")
    keys, relations = own[order], data.train[order, RELATION]
    for swapped in (False, True):
        asked = _pairs(data.train, n, swapped=swapped)
        first, last = (np.searchsorted(keys, asked, side) for side in ("left", "right"))
        counts = last - first
        mine = np.repeat(data.train[:, RELATION], counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        others = relations[np.repeat(first, counts) + within]
        codes, shared = np.unique(
            mine.astype(np.int64) * data.n_relations + others, return_counts=True
        )
        for code, n_shared in zip(codes.tolist(), shared.tolist(), strict=True):
            one, two = divmod(code, data.n_relations)
            smaller = int(min(sizes[one], sizes[two]))
            # A relation that is its own inverse is symmetric: that repeats nothing.
            if one < two and smaller >= _LEAST_PAIRS and n_shared >= _COPY * smaller:
                names = data.relations.name(one), data.relations.name(two)
                yield CopiedRelation(*names, swapped, n_shared, n_shared / smaller)


def _same_entities(data: Dataset) -> Iterator[SameEntities]:
    """Groups of entities with the same facts, those with the most facts first."""
    facts, n_relations = data.train.astype(np.uint64), np.uint64(data.n_relations)
    marks = np.zeros(data.n_entities, np.uint64)  # a sum of mixed numbers for each set of facts
    for place, other, side in ((SUBJECT, OBJECT, 0), (OBJECT, SUBJECT, 1)):
        related = facts[:, RELATION] + np.uint64(side) * n_relations
        np.add.at(marks, data.train[:, place], _mix(facts[:, other] * 2 * n_relations + related))
    degrees = np.bincount(data.train[:, [SUBJECT, OBJECT]].ravel(), minlength=data.n_entities)
    order = np.lexsort((np.arange(data.n_entities), marks, -degrees))
    order = order[degrees[order] >= _LEAST_FACTS]
    cuts = np.flatnonzero(marks[order][1:] != marks[order][:-1]) + 1
    for group in np.split(order, cuts):
        if len(group) > 1:
            names, labels = (
                tuple(word(i) for i in group) for word in (data.entities.name, data.entities.label)
            )
            yield SameEntities(names, labels, int(degrees[group[0]]))


def _mix(codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """(n,) numbers that look random, by the finaliser of SplitMix64."""
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return codes ^ (codes >> np.uint64(31))


def _contradictions(data: Dataset) -> Iterator[Contradiction]:
    by_relation = np.argsort(data.train[:, RELATION], kind="stable")
    bounds = np.searchsorted(data.train[by_relation, RELATION], np.arange(data.n_relations + 1))
    for relation in range(data.n_relations):
        ids = by_relation[bounds[relation] : bounds[relation + 1]]
        name, facts = data.relations.name(relation), data.train[ids]
        for place, rule in ((SUBJECT, "one object"), (OBJECT, "one subject")):
            for share, some in _repeated(facts[:, place]):
                yield Contradiction(name, rule, share, tuple(ids[some].tolist()))
        for share, some in _both_ways(facts, data.n_entities):
            yield Contradiction(name, "one direction", share, tuple(ids[some].tolist()))


def _repeated(column: NDArray[np.int32]) -> Iterator[tuple[float, NDArray[np.int64]]]:
    """The positions of each value that occurs several times, if nearly all others occur once."""
    values, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
    share = float((counts == 1).mean()) if len(values) else 0.0
    if len(values) >= _LEAST_PAIRS and _RULE <= share < 1:
        for value in np.flatnonzero(counts > 1):
            yield share, np.flatnonzero(inverse == value)


def _both_ways(facts: Facts, n: int) -> Iterator[tuple[float, NDArray[np.int64]]]:
    """Pairs in both directions, if nearly all others are in one."""
    own, turned = _pairs(facts, n), _pairs(facts, n, swapped=True)
    mutual = np.isin(own, turned) & (facts[:, SUBJECT] != facts[:, OBJECT])
    share = 1 - float(mutual.mean()) if len(facts) else 0.0
    if len(facts) >= _LEAST_PAIRS and _RULE <= share < 1:
        for at in np.flatnonzero(mutual & (facts[:, SUBJECT] < facts[:, OBJECT])):
            yield share, np.array([at, np.flatnonzero(own == turned[at])[0]])
