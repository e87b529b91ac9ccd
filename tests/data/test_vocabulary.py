"""Names, labels, and error messages for unknown names."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError

NATIONS = Vocabulary(("brazil", "egypt", "uk", "usa"), {"uk": "United Kingdom", "usa": "America"})


def failure(vocabulary: Vocabulary, text: str, among: range | None = None) -> str:
    """The error message of a search for the text."""
    with pytest.raises(WhereofError) as caught:
        vocabulary.find(text, among)
    message = str(caught.value)
    assert "\n" not in message
    return message


@given(st.lists(st.text(), unique=True, min_size=1))
def test_every_name_is_found_at_its_id(names: list[str]) -> None:
    vocabulary = Vocabulary(tuple(names))
    assert [vocabulary.find(name) for name in names] == list(range(len(vocabulary)))
    assert [vocabulary.name(i) for i in range(len(names))] == names


def test_label_falls_back_to_name() -> None:
    assert [NATIONS.label(i) for i in range(4)] == ["brazil", "egypt", "United Kingdom", "America"]
    assert NATIONS.label(np.int32(2)) == "United Kingdom"


@pytest.mark.parametrize("text", ["uk", "United Kingdom", "UK", "united KINGDOM"])
def test_found_by_name_label_and_either_in_any_case(text: str) -> None:
    assert NATIONS.find(text) == 2


def test_a_name_in_the_other_place_is_told_from_an_unknown_one() -> None:
    vocabulary = Vocabulary(("u1", "u2", "scifi1"))
    message = failure(vocabulary, "SciFi1", range(2))
    assert message == (
        "'SciFi1' is an object (such as an item); give a subject (such as a user), for example 'u1'"
    )
    message = failure(vocabulary, "u2", range(2, 3))
    assert message.startswith("'u2' is a subject (such as a user); give an object")
    assert message.endswith("for example 'scifi1'")


def test_a_name_goes_before_the_same_label() -> None:
    assert Vocabulary(("a", "b"), {"a": "b"}).find("b") == 1


def test_accents_may_be_encoded_in_another_way() -> None:
    composed, decomposed = (unicodedata.normalize(how, "Lefèvre") for how in ("NFC", "NFD"))
    for stored, asked in ((composed, decomposed), (decomposed, composed)):
        assert Vocabulary(("other", stored)).find(asked) == 1


def test_exact_case_goes_before_any_case() -> None:
    vocabulary = Vocabulary(("us", "US"))
    assert [vocabulary.find("us"), vocabulary.find("US")] == [0, 1]
    assert "'us', 'US'" in failure(vocabulary, "Us")


def test_ambiguous_label_lists_up_to_five_names() -> None:
    names = tuple(f"n{i}" for i in range(7))
    message = failure(Vocabulary(names, dict.fromkeys(names, "Paris")), "Paris")
    assert "'Paris' matches 7 entities: 'n0', 'n1', 'n2', 'n3', 'n4', ...;" in message
    assert "n5" not in message


def test_same_name_in_two_ranges() -> None:
    vocabulary = Vocabulary(("1", "2", "1", "3"), {"1": "Heat"}, labelled=range(2, 4))
    assert vocabulary.find("1", range(2)) == 0
    assert vocabulary.find("1", range(2, 4)) == 2
    assert vocabulary.find("Heat") == 2
    assert (vocabulary.label(0), vocabulary.label(2)) == ("1", "Heat")
    assert "write subject:1 or object:1" in failure(vocabulary, "1")
    assert failure(vocabulary, "3", range(2)).startswith("'3' is an object")


def test_unknown_offers_the_nearest() -> None:
    assert failure(NATIONS, "egyp") == "unknown entity 'egyp'; did you mean 'egypt'?"
    assert "'United Kingdom'" in failure(NATIONS, "united kingdm")
    assert "'egypt'" not in failure(NATIONS, "egyp", range(2, 4))


def test_a_part_of_a_name_or_label_is_offered_in_any_case() -> None:
    assert "did you mean 'United Kingdom'?" in failure(NATIONS, "KINGDOM")
    many = Vocabulary(tuple(f"{i} city" for i in range(10)))
    message = failure(many, "city")
    assert message.count(" city'") == 8
    assert message.endswith(", or one of 2 more that contain it?")


def test_a_whole_number_is_found_with_and_without_decimals() -> None:
    assert Vocabulary(("5", "6.0")).find("5.0") == 0
    assert Vocabulary(("5", "6.0")).find("6") == 1
    both = Vocabulary(("5", "5.0"))
    assert [both.find("5"), both.find("5.0")] == [0, 1]


def test_its_repr_is_short() -> None:
    assert repr(NATIONS) == "<Vocabulary: 4 entities, 2 labels>"


def test_nearest_among_very_many() -> None:
    vocabulary = Vocabulary(tuple(f"thing {i:05}" for i in range(20_000)))
    assert failure(vocabulary, "thing 11234x").split("did you mean ")[1].startswith("'thing 11234'")


def test_unknown_with_nothing_near_says_how_many_there_are() -> None:
    relations = Vocabulary(("likes", "knows"), kind="relation")
    assert failure(relations, "zzz").startswith("unknown relation 'zzz'; none of the 2")
    users = Vocabulary(("u1", "u2", "m1", "m2"))
    with pytest.raises(WhereofError, match="unknown user 'zzz'; none of the 2 users has a similar"):
        users.find("zzz", range(2))
    with pytest.raises(WhereofError, match="unknown item 'zzz'; none of the 2 items has a similar"):
        users.find("zzz", range(2, 4))
    assert "0 relations" in failure(Vocabulary((), kind="relation"), "likes")


@pytest.mark.parametrize("index", [-1, 4])
def test_id_out_of_range(index: int) -> None:
    with pytest.raises(WhereofError, match=f"no entity has id {index}; ids go from 0 to 3"):
        NATIONS.name(index)


def test_the_last_part_of_an_iri_is_enough_to_be_offered() -> None:
    relations = Vocabulary(("http://ex.org/born_in", "http://ex.org/ns#knows"), kind="relation")
    with pytest.raises(WhereofError, match=r"did you mean 'http://ex\.org/ns#knows'\?"):
        relations.find("know")
