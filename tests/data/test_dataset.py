"""The frozen dataset: its checks and its hash."""

import dataclasses
import hashlib
import struct

import numpy as np
import pytest

from whereof.data import Dataset, Vocabulary, build_dataset
from whereof.errors import WhereofError

TRAIN = (["b", "a"], ["knows", "likes"], ["a", "a"])
SMALL = build_dataset("small", TRAIN, test=(["a"], ["knows"], ["b"]))


def test_sizes_and_names() -> None:
    assert (SMALL.n_facts, SMALL.n_entities, SMALL.n_relations) == (2, 2, 2)
    assert not SMALL.two_way
    assert SMALL.fact_names(SMALL.train[0]) == ("b", "knows", "a")
    assert SMALL.fact_names((1, 1, 0)) == ("b", "likes", "a")


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
    other = build_dataset(
        "other", TRAIN, test=(["a"], ["knows"], ["b"]), entity_labels={"a": "Ada"}
    )
    assert other.entities.label(0) == "Ada"
    assert other.hash == SMALL.hash


@pytest.mark.parametrize(
    "changed",
    [
        build_dataset("small", TRAIN),
        build_dataset("small", TRAIN, valid=(["a"], ["knows"], ["b"])),
        build_dataset("small", (["c", "a"], TRAIN[1], TRAIN[2]), test=(["a"], ["knows"], ["c"])),
        build_dataset("small", [column[::-1] for column in TRAIN], test=(["a"], ["knows"], ["b"])),
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
