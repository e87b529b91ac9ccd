"""Adding facts to a dataset: earlier ids stay."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import whereof
from whereof.data.extend import Extended, extend_dataset
from whereof.data.read import read_new_facts
from whereof.errors import WhereofError

OLD = [("b", "r", "c"), ("c", "r", "d"), ("d", "s", "b")]


def extend(
    old: pd.DataFrame, new: pd.DataFrame, **options: str
) -> tuple[whereof.Dataset, Extended]:
    before = whereof.read(old, **options)
    return before, extend_dataset(before, read_new_facts(new, options))


def frame(facts: list[tuple[str, ...]], *more: str) -> pd.DataFrame:
    return pd.DataFrame(facts, columns=["s", "r", "o", *more])


def test_new_names_get_the_next_ids() -> None:
    new = [("a", "r", "c"), ("c", "t", "z"), ("b", "s", "a")]
    before, found = extend(frame(OLD), frame(new))
    after = found.dataset
    assert np.array_equal(after.train[:3], before.train)
    assert after.entities.names == (*before.entities.names, "a", "z")
    assert after.relations.names == (*before.relations.names, "t")
    assert [after.fact_names(fact) for fact in after.train[3:]] == new
    assert (after.subjects, after.objects) == (range(5), range(5))
    assert (found.n_known, found.n_held_out) == (0, 0)


def test_notes_are_about_the_new_file() -> None:
    before, found = extend(frame([(*fact, "1") for fact in OLD], "year"), frame(OLD[:1]))
    assert "year" in " ".join(before.notes)
    assert found.dataset.notes == ()


def test_known_and_repeated_facts_are_left_out() -> None:
    _, found = extend(frame(OLD), frame([OLD[1], ("b", "s", "d"), ("b", "s", "d")]))
    assert found.dataset.n_facts == 4
    assert found.n_known == 2


def test_sources_and_weights_go_on() -> None:
    old = frame([(*fact, "web", 2.0) for fact in OLD], "from", "weight")
    new = frame([("b", "s", "d", "hand", 0.5)], "from", "weight")
    _, found = extend(old, new, source="from", weight="weight")
    assert found.dataset.sources is not None
    assert [*found.dataset.sources] == ["web", "web", "web", "hand"]
    assert found.dataset.weights is not None
    assert found.dataset.weights.tolist() == [2, 2, 2, 0.5]
    before = whereof.read(frame(OLD))
    named = extend_dataset(before, read_new_facts(new, {"source": "from", "weight": "weight"}))
    assert named.dataset.sources is not None
    assert [*named.dataset.sources] == ["", "", "", "hand"]


def test_new_users_come_before_all_items() -> None:
    old = pd.DataFrame([("u", "i"), ("u", "j"), ("v", "i")], columns=["user", "item"])
    new = pd.DataFrame([("v", "j"), ("u", "v"), ("v", "k"), ("u", "k")], columns=["user", "item"])
    before, found = extend(old, new)
    after = found.dataset
    assert after.train[3:, [0, 2]].tolist() == [[1, 3], [0, 4], [1, 5], [0, 5]]
    assert (after.subjects, after.objects) == (range(2), range(2, 6))
    assert after.entities.names == (*before.entities.names, "v", "k")  # a user and an item v
    more = pd.DataFrame([("w", "j"), ("i", "k"), ("w", "i"), ("v", "i")], columns=["user", "item"])
    _, found = extend(old, more)
    after = found.dataset
    assert after.entities.names == ("u", "v", "w", "i", "i", "j", "k")  # a user and an item i
    assert (after.subjects, after.objects) == (range(4), range(4, 7))
    assert after.train[:, [0, 2]].tolist() == [[0, 4], [0, 5], [1, 4], [2, 5], [3, 6], [2, 4]]
    assert found.n_known == 1


def test_labels_and_held_out_facts_follow_their_items() -> None:
    old = pd.DataFrame([("u", "1"), ("1", "2"), ("u", "2"), ("1", "1")], columns=["user", "item"])
    before = whereof.read(old, columns="user,item")
    labels = replace(before.entities, labels={"1": "Heat"}, labelled=before.objects)
    before = replace(before, entities=labels, test=before.train[3:], train=before.train[:3])
    new = read_new_facts(pd.DataFrame([("w", "2"), ("1", "1")]), {"columns": "1,2"})
    found = extend_dataset(before, new)
    after = found.dataset
    assert [after.entities.label(each) for each in range(5)] == ["1", "u", "w", "Heat", "2"]
    assert after.fact_names(after.test[0]) == ("1", "1")
    assert found.n_held_out == 1


def test_ratings_go_on() -> None:
    columns = ["user", "item", "stars"]
    old = pd.DataFrame([("u", "i", 3.0), ("v", "j", 5.0)], columns=columns)
    new = pd.DataFrame([("u", "j", 1.0), ("u", "i", 2.0), ("w", "k", 4.0)], columns=columns)
    _, found = extend(old, new, columns="user,item", rating="stars")
    after = found.dataset
    assert after.ratings is not None
    assert after.ratings.train.tolist() == [3, 5, 1, 4]  # u i is known, user w and item k are new
    assert [after.fact_names(fact) for fact in after.train[2:]] == [("u", "j"), ("w", "k")]
    before = whereof.read(old, columns="user,item", rating="stars")
    with pytest.raises(WhereofError, match="name their column with --rating"):
        extend_dataset(before, read_new_facts(new, {"columns": "user,item"}))


def test_other_columns_are_refused() -> None:
    with pytest.raises(WhereofError, match="the new facts have 2 columns; give 3, as in the run"):
        extend(frame(OLD), pd.DataFrame([("b", "c")], columns=["s", "o"]))
