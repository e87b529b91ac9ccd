"""The index of which fact touches what, against a search through all facts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whereof
from whereof.data import Adjacency

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
    shared_data: Callable[[str], Path],
) -> None:
    data = whereof.read("fb15k-237", data_dir=shared_data("fb15k-237"))
    index = Adjacency.of(data.train, data.n_entities, data.n_relations)
    chosen = np.random.default_rng(0).choice(len(data.test), 200, replace=False)
    sizes = [len(index.adjacent([s, o], r)) for s, r, o in data.test[chosen].tolist()]
    assert np.mean(sizes) == pytest.approx(5000, rel=0.2)
