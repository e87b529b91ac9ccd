"""The indexes of facts and of known answers, compared with a search and a dict of sets."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from whereof.data.dataset import Dataset
from whereof.data.indexes import Adjacency, KnownAnswers
from whereof.types import Facts

facts_lists = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 5)), max_size=40
)


def _index(facts: list[tuple[int, int, int]], n_relations: int = 3) -> Adjacency:
    return Adjacency.of(np.array(facts, np.int32).reshape(-1, 3), 6, n_relations)


@given(facts=facts_lists)
def test_every_fact_of_an_entity_or_relation_stands_once_and_in_order(
    facts: list[tuple[int, int, int]],
) -> None:
    index = _index(facts)
    for entity in range(6):
        wanted = [i for i, (s, _, o) in enumerate(facts) if entity in (s, o)]
        assert index.facts_of_entity(entity).tolist() == wanted
    for relation in range(3):
        wanted = [i for i, fact in enumerate(facts) if fact[1] == relation]
        assert index.facts_of_relation(relation).tolist() == wanted


@given(
    facts=facts_lists,
    entities=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    relation=st.integers(0, 2),
)
def test_adjacent_facts_share_an_entity_or_the_relation(
    facts: list[tuple[int, int, int]], entities: list[int], relation: int
) -> None:
    found = _index(facts).adjacent(entities, relation)
    assert found.dtype == np.int64
    assert found.tolist() == [
        i for i, (s, r, o) in enumerate(facts) if s in entities or o in entities or r == relation
    ]


def test_two_way_facts_share_no_relation() -> None:
    index = _index([(0, 0, 3), (1, 0, 4), (2, 0, 3)], n_relations=0)
    assert index.facts_of_relation(0).tolist() == []
    assert index.adjacent([0, 3], 0).tolist() == [0, 2]


def test_nothing_is_adjacent_where_there_are_no_facts() -> None:
    assert _index([]).adjacent([1, 2], 0).tolist() == []


def test_fb15k_237_has_about_five_thousand_facts_around_a_prediction(
    shared: Callable[[str], Dataset],
) -> None:
    data = shared("fb15k-237")
    index = Adjacency.of(data.train, data.n_entities, data.n_relations)
    chosen = np.random.default_rng(0).choice(len(data.test), 200, replace=False)
    sizes = [len(index.adjacent([s, o], r)) for s, r, o in data.test[chosen].tolist()]
    assert np.mean(sizes) == pytest.approx(5000, rel=0.2)


N_RELATIONS = 3
facts = hnp.arrays(
    np.int32,
    st.tuples(st.integers(0, 30), st.just(3)),
    elements=st.integers(0, N_RELATIONS - 1),
)
QUERIES = np.array([(s, r) for s in range(-1, 5) for r in range(-1, 5)], np.int32)


def _objects(known: KnownAnswers, subject: int, relation: int) -> list[int]:
    ((start, stop),) = known.lookup(np.array([[subject, relation]]))
    return known.flat[start:stop].tolist()


@given(facts, facts)
def test_agrees_with_a_dict_of_sets(train: Facts, valid: Facts) -> None:
    oracle: dict[tuple[int, int], set[int]] = {}
    for s, r, o in np.concatenate([train, valid]).tolist():
        oracle.setdefault((s, r), set()).add(o)
    known = KnownAnswers.of(train, valid, n_relations=N_RELATIONS)
    for query in QUERIES.tolist():
        assert _objects(known, *query) == sorted(oracle.get(tuple(query), ()))


def test_array_types_are_those_a_kernel_expects() -> None:
    known = KnownAnswers.of(np.array([[0, 1, 2]], np.int32), n_relations=2)
    spans = known.lookup(np.array([[0, 1], [0, 0]], np.int32))
    assert spans.dtype == np.int64
    assert known.flat.dtype == np.int32
    assert (spans[:, 1] - spans[:, 0]).tolist() == [1, 0]


def test_two_way_data_and_no_facts() -> None:
    pairs = np.array([[0, 0, 5], [0, 0, 4], [1, 0, 4]], np.int32)
    assert _objects(KnownAnswers.of(pairs, n_relations=0), 0, 0) == [4, 5]
    assert _objects(KnownAnswers.of(n_relations=0), 0, 0) == []


def test_ids_whose_product_leaves_int32() -> None:
    # 2**29 * 1000 is a multiple of 2**32: in 32 bits both queries would have one key.
    large = np.array([[1, 999, 5], [1 + 2**29, 999, 2_000_000_000]], np.int32)
    known = KnownAnswers.of(large, n_relations=1000)
    assert _objects(known, 1, 999) == [5]
    assert _objects(known, 1 + 2**29, 999) == [2_000_000_000]
    assert known.lookup(large[:, :2])[:, 1].tolist() == [1, 2]
