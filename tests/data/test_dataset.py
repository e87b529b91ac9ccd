"""The frozen dataset: its checks, its hash, and ratings as objects."""

import dataclasses
import hashlib
import struct

import numpy as np
import pytest
from tables import build, fact_table

from whereof.data.columns import FactTable
from whereof.data.dataset import Dataset, Ratings, part_of, ratings_as_objects
from whereof.data.read import read_dataset
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError

TRAIN = (["b", "a"], ["knows", "likes"], ["a", "a"])
SMALL = build("small", TRAIN, test=(["a"], ["knows"], ["b"]))


def test_sizes_and_names() -> None:
    assert (SMALL.n_facts, SMALL.n_entities, SMALL.n_relations) == (2, 2, 2)
    assert not SMALL.two_way
    assert SMALL.fact_names(SMALL.train[0]) == ("b", "knows", "a")
    assert SMALL.fact_names((1, 1, 0)) == ("b", "likes", "a")


def test_the_rating_of_a_fact_is_found_in_any_split() -> None:
    numbers = ([1.0, 2.0], [], [3.0])
    ratings = Ratings(*(np.array(each, np.float32) for each in numbers))
    assert ratings.of_fact(SMALL, SMALL.train[1].tolist()) == 2
    assert ratings.of_fact(SMALL, SMALL.test[0].tolist()) == 3
    assert ratings.of_fact(SMALL, (0, 1, 1)) is None
    assert ratings.of_fact(SMALL, (0, 0, None)) is None


def test_its_repr_is_short() -> None:
    sizes = "2 facts, 0 valid, 1 test, 2 entities, 2 relations"
    assert repr(SMALL) == f"<Dataset 'small': {sizes}>"


def test_hash_is_that_of_the_documented_bytes() -> None:
    def number(value: int) -> bytes:
        return struct.pack("<q", value)

    expected = b"".join(number(2) + b"".join(number(len(n)) + n for n in names) for names in (
        (b"a", b"b"),
        (b"knows", b"likes"),
    ))  # fmt: skip
    expected += number(2)
    expected += number(2) + struct.pack("<6i", 1, 0, 0, 0, 1, 0)
    expected += number(0)
    expected += number(1) + struct.pack("<3i", 0, 0, 1)
    assert SMALL.hash == hashlib.sha256(expected).hexdigest()


def test_hash_ignores_name_and_labels() -> None:
    other = build("other", TRAIN, test=(["a"], ["knows"], ["b"]), entity_labels={"a": "Ada"})
    assert other.entities.label(0) == "Ada"
    assert other.hash == SMALL.hash


@pytest.mark.parametrize(
    "changed",
    [
        build("small", TRAIN),
        build("small", TRAIN, valid=(["a"], ["knows"], ["b"])),
        build("small", (["c", "a"], TRAIN[1], TRAIN[2]), test=(["a"], ["knows"], ["c"])),
        build("small", [column[::-1] for column in TRAIN], test=(["a"], ["knows"], ["b"])),
    ],
    ids=["no test", "valid for test", "a name", "order"],
)
def test_hash_sees_every_change_of_names_and_facts(changed: Dataset) -> None:
    assert changed.hash != SMALL.hash


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (np.zeros((1, 3), np.int64), "int64"),
        (np.zeros((1, 2), np.int32), r"shape \(1, 2\)"),
        (np.zeros((3, 2), np.int32).T, "contiguous"),
        (np.array([[2, 0, 0]], np.int32), "subject id 2 is not one of 0 to 1"),
        (np.array([[0, -1, 0]], np.int32), "relation id -1 is not one of 0 to 1"),
        (np.array([[0, 0, 9]], np.int32), "object id 9 is not one of 0 to 1"),
    ],
)
def test_facts_that_do_not_fit_are_refused(facts: np.ndarray, message: str) -> None:
    with pytest.raises(WhereofError, match=message):
        dataclasses.replace(SMALL, test=facts)


def test_object_ids_of_two_way_data_start_after_the_users() -> None:
    no_facts = np.empty((0, 3), np.int32)
    entities = Vocabulary(("u", "i", "j"))
    user_as_item = np.array([[0, 0, 0]], np.int32)
    with pytest.raises(WhereofError, match="object id 0 is not one of 1 to 2"):
        Dataset(
            name="pairs",
            entities=entities,
            relations=Vocabulary(()),
            train=user_as_item,
            valid=no_facts,
            test=no_facts,
            subjects=range(1),
            objects=range(1, 3),
        )


def table(*rows: tuple[str, str, float]) -> FactTable:
    users, items, ratings = zip(*rows, strict=True)
    return fact_table(users, items, rating=np.array(ratings, np.float32))


def rated() -> Dataset:
    return build(
        "films",
        table(("4", "x", 10), ("4", "y", 3.5), ("5", "x", 4), ("5", "y", 10)),
        test=table(("5", "y", 4), ("4", "x", 2)),
        entity_labels={"x": "Xanadu", "4": "Ann"},
    )


def test_ratings_become_objects_before_facts_are_held_out() -> None:
    users, items = np.divmod(np.arange(100), 10)
    table = {"user": users, "item": items, "rating": [*[1, 2] * 49, 3, 4]}
    column = "columns read by their names: 'user' as subject, 'item' as object, 'rating' as rating"
    noted = "ratings taken as objects: facts are (user, item, rating)"
    for option, notes in (("ratings_as_objects", (column,)), ("objects_if_rated", (column, noted))):
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
    dataset = ratings_as_objects(build("r", table(("a", "x", 0.1), ("a", "y", -2))))
    assert dataset.entities.names[1:] == ("-2", "0.1")


def test_data_without_ratings() -> None:
    with pytest.raises(WhereofError, match=r"has no ratings .* leave out ratings_as_objects"):
        read_dataset("nations", ratings_as_objects=True)


def test_a_repeated_pair_keeps_its_first_rating() -> None:
    dataset = build("r", table(("a", "x", 1), ("a", "y", 2), ("a", "x", 3)))
    assert dataset.ratings is not None
    assert dataset.ratings.train.tolist() == [1, 2]
    assert dataset.notes == ("train: 1 duplicate fact dropped, the first rating stays",)


def test_all_splits_are_rated_or_none() -> None:
    with pytest.raises(WhereofError, match="some splits have ratings and some have none"):
        build("r", table(("a", "x", 1), ("a", "y", 2)), test=(["a"], ["x"]))


def test_a_part_has_facts_of_the_whole_among_fewer_entities() -> None:
    whole = read_dataset("nations")
    part = part_of(whole, 300, seed=3)
    assert 300 <= part.n_facts < 800
    assert 2 <= part.n_entities < whole.n_entities
    for split in ("train", "valid", "test"):
        there = set(map(whole.fact_names, getattr(whole, split)))
        inside = {names for names in there if {names[0], names[2]} <= set(part.entities.names)}
        assert set(map(part.fact_names, getattr(part, split))) == inside
    assert part_of(whole, 300, seed=3).hash == part.hash != part_of(whole, 300, seed=4).hash
    assert part_of(whole, whole.n_facts, seed=3) is whole


def test_a_part_of_ratings_keeps_them_and_the_two_kinds_of_entities() -> None:
    users, items = zip(*((f"u{u}", f"i{i}") for u in range(10) for i in range(6)), strict=True)
    table = fact_table(users, items, rating=np.arange(60, dtype=np.float32) % 5)
    whole = build("rated", table)
    part = part_of(whole, 20, seed=0)
    assert part.ratings is not None
    rating = dict(zip(map(whole.fact_names, whole.train), whole.ratings.train, strict=True))
    found = zip(map(part.fact_names, part.train), part.ratings.train, strict=True)
    assert all(rating[names] == value for names, value in found)
    assert {part.entities.name(i)[0] for i in part.subjects} == {"u"}
    assert {part.entities.name(i)[0] for i in part.objects} == {"i"}
    assert len(part.subjects) + len(part.objects) == part.n_entities
