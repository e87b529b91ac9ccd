"""Ratings as objects: users, items and ratings in the places of the paper."""

import numpy as np
import pytest

from whereof.data import Column, Dataset, FactTable, build_dataset, read_dataset
from whereof.data._ratings import ratings_as_objects
from whereof.errors import WhereofError


def table(*rows: tuple[str, str, float]) -> FactTable:
    users, items, ratings = zip(*rows, strict=True)
    return FactTable((Column.of(users), Column.of(items)), np.array(ratings, np.float32))


def rated() -> Dataset:
    return build_dataset(
        "films",
        table(("4", "x", 10), ("4", "y", 3.5), ("5", "x", 4), ("5", "y", 10)),
        test=table(("5", "y", 4), ("4", "x", 2)),
        entity_labels={"x": "Xanadu", "4": "Ann"},
    )


def test_ratings_become_objects_before_facts_are_held_out() -> None:
    users, items = np.divmod(np.arange(100), 10)
    table = {"user": users, "item": items, "rating": [*[1, 2] * 49, 3, 4]}
    noted = "ratings taken as objects: facts are (user, item, rating)"
    for option, notes in (("ratings_as_objects", ()), ("objects_if_rated", (noted,))):
        dataset = read_dataset(table, test_fraction=0.5, **{option: True})
        assert (dataset.n_facts, len(dataset.test), dataset.notes) == (50, 50, notes)
    kept = read_dataset(table, objects_if_rated=True, ratings_as_objects=False)
    assert kept.ratings is not None
    assert read_dataset("nations", objects_if_rated=True).n_facts == 1592


def test_users_items_and_ratings_take_their_places() -> None:
    dataset = ratings_as_objects(rated())
    assert dataset.entities.names == ("4", "5", "3.5", "4", "10")
    assert (dataset.subjects, dataset.objects) == (range(2), range(2, 5))
    assert [dataset.fact_names(fact) for fact in dataset.train] == [
        ("4", "x", "10"),
        ("4", "y", "3.5"),
        ("5", "x", "4"),
        ("5", "y", "10"),
    ]
    assert dataset.fact_names(dataset.test[0]) == ("5", "y", "4")
    assert dataset.notes == ("test: 1 of 2 facts dropped: they have ratings that are not in train",)
    assert dataset.ratings is None


def test_a_user_and_a_rating_may_share_a_name_and_labels_stay_where_they_were() -> None:
    dataset = ratings_as_objects(rated())
    assert dataset.relations.find("Xanadu") == 0
    assert dataset.entities.find("4", dataset.subjects) == dataset.entities.find("Ann") == 0
    assert dataset.entities.find("4", dataset.objects) == 3
    assert [dataset.entities.label(i) for i in (0, 3)] == ["Ann", "4"]


def test_text_of_a_rating_is_the_shortest() -> None:
    dataset = ratings_as_objects(build_dataset("r", table(("a", "x", 0.1), ("a", "y", -2))))
    assert dataset.entities.names[1:] == ("-2", "0.1")


def test_data_without_ratings() -> None:
    with pytest.raises(WhereofError, match=r"has no ratings .* leave out ratings_as_objects"):
        read_dataset("nations", ratings_as_objects=True)


def test_a_repeated_pair_keeps_its_first_rating() -> None:
    dataset = build_dataset("r", table(("a", "x", 1), ("a", "y", 2), ("a", "x", 3)))
    assert dataset.ratings is not None
    assert dataset.ratings.train.tolist() == [1, 2]
    assert dataset.notes == ("train: 1 duplicate fact dropped, the first rating stays",)


def test_all_splits_are_rated_or_none() -> None:
    with pytest.raises(WhereofError, match="some splits have ratings and some have none"):
        build_dataset("r", table(("a", "x", 1), ("a", "y", 2)), test=(["a"], ["x"]))
