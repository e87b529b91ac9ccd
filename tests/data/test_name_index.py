"""Names and labels are found by a part of them, best first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import build

from whereof.data.dataset import Dataset
from whereof.data.indexes import Adjacency
from whereof.data.name_index import FoundName, NameFinder, NameIndex
from whereof.data.vocabulary import Vocabulary, plain
from whereof.errors import WhereofError

LABELS = {
    "q0": "Banana",
    "q1": "Paris, France",
    "q2": "Étienne Ana",
    "q3": "Anatole France",
    "q4": "ANAÏS",
    "q5": "ana",
}


def find(text: str, weights: tuple[int, ...] = (9, 5, 4, 3, 2, 1), limit: int = 10) -> list[str]:
    """The labels that are found."""
    vocabulary = Vocabulary(tuple(LABELS), LABELS)
    index = NameIndex.of(vocabulary, range(len(vocabulary)), np.array(weights))
    return [vocabulary.label(i) for i in index.find(text, limit)]


def test_whole_texts_then_their_starts_then_words_then_parts() -> None:
    assert find("ANA") == ["ana", "Anatole France", "ANAÏS", "Étienne Ana", "Banana"]
    assert find("an")[-2:] == ["Banana", "Paris, France"]


def test_among_equals_those_with_more_facts_come_first() -> None:
    assert find("ana", (0, 0, 0, 1, 2, 0))[1:3] == ["ANAÏS", "Anatole France"]
    assert find("fra", (0, 1, 0, 2, 0, 0)) == ["Anatole France", "Paris, France"]


@pytest.mark.parametrize("text", ["etienne", "ÉTIENNE", " étienne  ana "])
def test_case_accents_and_blanks_do_not_matter(text: str) -> None:
    assert find(text) == ["Étienne Ana"]


def test_names_are_found_like_labels() -> None:
    assert find("q3") == ["Anatole France"]
    assert len(find("q")) == 6


def test_the_limit_keeps_the_best_and_an_empty_text_finds_the_heaviest() -> None:
    assert find("ana", limit=2) == ["ana", "Anatole France"]
    assert find("", (1, 2, 3, 4, 5, 6), limit=2) == ["ana", "ANAÏS"]
    assert find("nothing like it") == []


@given(
    st.lists(st.text("aAé _-1\n", max_size=6), unique=True, min_size=1, max_size=8),
    st.text("ae _1", min_size=1, max_size=3),
)
def test_it_finds_what_contains_the_text_and_nothing_else(names: list[str], text: str) -> None:
    index = NameIndex.of(Vocabulary(tuple(names)), range(len(names)), np.zeros(len(names), int))
    wanted = [i for i, name in enumerate(names) if plain(text) in plain(name)]
    assert sorted(index.find(text, None)) == wanted


def finder(dataset: Dataset) -> NameFinder:
    adjacency = Adjacency.of(dataset.train, dataset.n_entities, dataset.n_relations)
    return NameFinder(dataset, adjacency)


def test_entities_and_relations_of_a_dataset_with_their_numbers_of_facts() -> None:
    names = finder(build("small", (["b", "a", "b"], ["knows", "likes", "likes"], ["a", "a", "b"])))
    assert names.find("", "entity", None, 5) == [FoundName("a", "a", 2), FoundName("b", "b", 2)]
    assert names.find("l", "relation", None, 5) == [FoundName("likes", "likes", 2)]


def test_a_place_tells_users_from_items_of_the_same_name() -> None:
    names = finder(build("two", (["1", "1", "2"], ["1", "7", "1"]), entity_labels={"1": "Heat"}))
    assert names.find("1", "entity", "subject", 5) == [FoundName("1", "1", 2)]
    assert names.find("1", "entity", "object", 5) == [FoundName("1", "Heat", 2)]
    assert len(names.find("1", "entity", None, 5)) == 2
    assert names.find("1", "relation", None, 5) == []


@pytest.mark.parametrize(
    ("kind", "place", "limit"),
    [("things", None, 1), ("relation", "subject", 1), ("entity", "middle", 1), ("entity", None, 0)],
)
def test_what_is_not_allowed_is_refused(kind: str, place: str | None, limit: int) -> None:
    names = finder(build("small", (["b", "a"], ["knows", "likes"], ["a", "a"])))
    with pytest.raises(WhereofError, match=r"choose kind|from 1 on"):
        names.find("a", kind, place, limit)
