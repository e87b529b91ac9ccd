"""Removing facts from a dataset: names that only they have go too."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import whereof
from whereof.data.remove import remove_facts
from whereof.errors import WhereofError

FACTS = [("a", "r", "b"), ("b", "s", "c"), ("d", "r", "a"), ("b", "r", "c"), ("c", "r", "a")]


def read(facts: list[tuple[str, ...]] = FACTS, **options: Any) -> whereof.Dataset:
    columns = ["s", "r", "o", "from", "weight"][: len(facts[0])]
    return whereof.read(pd.DataFrame(facts, columns=columns), **options)


def names(data: whereof.Dataset) -> list[tuple[str, ...]]:
    return [data.fact_names(fact) for fact in data.train]


def test_entities_and_relations_without_facts_go() -> None:
    found = remove_facts(read(), np.array([1, 2]))
    assert names(found.dataset) == [FACTS[0], FACTS[3], FACTS[4]]
    assert found.dataset.entities.names == ("a", "b", "c")
    assert found.dataset.relations.names == ("r",)
    assert found.facts.tolist() == [0, 3, 4]
    assert (found.entities.tolist(), found.relations.tolist()) == ([0, 1, 2], [0])
    assert found.dataset.objects == found.dataset.subjects == range(3)


def test_held_out_facts_of_lost_names_go() -> None:
    data = read([*FACTS, *((f"e{i}", "r", f"e{i + 1}") for i in range(30))], test_fraction=0.2)
    lost = data.test[0, 0]
    ids = np.flatnonzero((data.train[:, [0, 2]] == lost).any(axis=1))
    found = remove_facts(data, ids).dataset
    assert data.entities.name(lost) not in found.entities.names
    kept = [data.fact_names(fact) for fact in data.test if lost not in fact[[0, 2]]]
    assert [found.fact_names(fact) for fact in found.test] == kept


def test_sources_weights_and_labels_stay_with_their_facts() -> None:
    facts = [(*fact, f"source {i}", 1.0 + i) for i, fact in enumerate(FACTS)]
    data = read(facts, source="from", weight="weight", entity_labels={"a": "A", "d": "D"})
    found = remove_facts(data, np.array([2])).dataset
    assert found.sources is not None
    assert [*found.sources] == ["source 0", "source 1", "source 3", "source 4"]
    assert found.weights is not None
    assert found.weights.tolist() == [1, 2, 4, 5]
    assert found.entities.labels == {"a": "A"}


def test_users_and_items_keep_their_ranges() -> None:
    pairs = [("u", "i"), ("v", "j"), ("u", "k"), ("w", "k")]
    data = whereof.read(pd.DataFrame(pairs, columns=["user", "item"]))
    found = remove_facts(data, np.array([1])).dataset
    assert (found.subjects, found.objects) == (range(2), range(2, 4))
    assert names(found) == [pairs[0], pairs[2], pairs[3]]


def test_something_must_be_left() -> None:
    with pytest.raises(WhereofError, match="without all 5 facts nothing is left"):
        remove_facts(read(), np.arange(5))
