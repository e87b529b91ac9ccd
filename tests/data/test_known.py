"""Known answers against a dict of sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from whereof.data import KnownAnswers
from whereof.errors import WhereofError
from whereof.types import Facts

N_RELATIONS = 3
facts = hnp.arrays(
    np.int32,
    st.tuples(st.integers(0, 30), st.just(3)),
    elements=st.integers(0, N_RELATIONS - 1),
)
QUERIES = np.array([(s, r) for s in range(-1, 5) for r in range(-1, 5)], np.int32)


@given(facts, facts)
def test_agrees_with_a_dict_of_sets(train: Facts, valid: Facts) -> None:
    oracle: dict[tuple[int, int], set[int]] = {}
    for s, r, o in np.concatenate([train, valid]).tolist():
        oracle.setdefault((s, r), set()).add(o)
    known = KnownAnswers.of(train, valid, n_relations=N_RELATIONS)
    spans = known.lookup(QUERIES)
    for query, start, stop in zip(QUERIES.tolist(), *spans, strict=True):
        expected = sorted(oracle.get(tuple(query), ()))
        assert known.flat[start:stop].tolist() == expected
        assert known.objects(*query).tolist() == expected


def test_array_types_are_those_a_kernel_expects() -> None:
    known = KnownAnswers.of(np.array([[0, 1, 2]], np.int32), n_relations=2)
    spans = known.lookup(np.array([[0, 1], [0, 0]], np.int32))
    assert spans.starts.dtype == spans.stops.dtype == np.int64
    assert known.flat.dtype == np.int32
    assert (spans.stops - spans.starts).tolist() == [1, 0]


def test_two_way_data_and_no_facts() -> None:
    pairs = np.array([[0, 0, 5], [0, 0, 4], [1, 0, 4]], np.int32)
    assert KnownAnswers.of(pairs, n_relations=0).objects(0, 0).tolist() == [4, 5]
    assert KnownAnswers.of(n_relations=0).objects(0, 0).tolist() == []


def test_ids_whose_product_leaves_int32() -> None:
    # 2**29 * 1000 is a multiple of 2**32: in 32 bits both queries would have one key.
    large = np.array([[1, 999, 5], [1 + 2**29, 999, 2_000_000_000]], np.int32)
    known = KnownAnswers.of(large, n_relations=1000)
    assert known.objects(1, 999).tolist() == [5]
    assert known.objects(1 + 2**29, 999).tolist() == [2_000_000_000]
    assert known.lookup(large[:, :2]).stops.tolist() == [1, 2]


@pytest.mark.parametrize("relation", [-1, 2])
def test_relation_out_of_range(relation: int) -> None:
    with pytest.raises(WhereofError, match=f"relation id {relation} is not one of 0 to 1"):
        KnownAnswers.of(np.array([[0, relation, 0]], np.int32), n_relations=2)
