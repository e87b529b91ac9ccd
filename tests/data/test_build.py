"""Encoding columns of names, and facts held out of training."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import build, fact_table

from whereof.data.build import _draws, hold_out
from whereof.data.columns import as_array
from whereof.data.dataset import Dataset
from whereof.data.read import read_dataset
from whereof.errors import WhereofError
from whereof.types import Facts

Write = Callable[[str, str | bytes], Path]
names = st.text(min_size=1, max_size=3)
triples = st.lists(st.tuples(names, names, names), max_size=20)
pairs = st.lists(st.tuples(st.sampled_from("123"), st.sampled_from("123456")), max_size=20)


def columns(rows: list[tuple[str, ...]]) -> list[list[str]]:
    return [list(column) for column in zip(*rows, strict=True)]


def decode(dataset: Dataset, facts: Facts) -> list[tuple[str, ...]]:
    return [dataset.fact_names(fact) for fact in facts]


@settings(max_examples=40)
@given(triples, triples)
def test_three_way_round_trip(train: list[tuple[str, ...]], test: list[tuple[str, ...]]) -> None:
    train = [("a", "r", "b"), *train]
    dataset = build("any", columns(train), test=columns(test))
    entities = {name for s, _, o in train for name in (s, o)}
    relations = {r for _, r, _ in train}
    known = [f for f in test if {f[0], f[2]} <= entities and f[1] in relations]
    assert dataset.entities.names == tuple(sorted(entities))
    assert dataset.relations.names == tuple(sorted(relations))
    assert decode(dataset, dataset.train) == list(dict.fromkeys(train))
    assert decode(dataset, dataset.test) == list(dict.fromkeys(known))
    assert dataset.subjects == dataset.objects == range(len(entities))


@given(pairs, pairs)
def test_two_way_round_trip(train: list[tuple[str, ...]], valid: list[tuple[str, ...]]) -> None:
    train = [("1", "1"), ("1", "2"), *train]
    dataset = build("any", columns(train), columns(valid))
    users, items = ({row[i] for row in train} for i in range(2))
    assert dataset.two_way
    assert dataset.entities.names == (*sorted(users), *sorted(items))
    assert (dataset.subjects.stop, dataset.objects.start) == (len(users), len(users))
    assert decode(dataset, dataset.train) == list(dict.fromkeys(train))
    known = [(user, item) for user, item in valid if user in users and item in items]
    assert decode(dataset, dataset.valid) == list(dict.fromkeys(known))
    assert not dataset.train[:, 1].any()


def test_splits_are_contiguous_int32() -> None:
    dataset = build("any", (["a", "a"], ["r", "r"], ["b", "b"]))
    for facts in (dataset.train, dataset.valid, dataset.test):
        assert facts.dtype == np.int32
        assert facts.flags.c_contiguous
        assert facts.shape[1] == 3


def test_notes_count_what_was_dropped() -> None:
    train = (["a", "b", "a", "a"], ["r", "r", "r", "r"], ["b", "a", "b", "b"])
    valid = (["a", "a", "b"], ["r", "new", "r"], ["new", "b", "a"])
    dataset = build("any", train, valid, (["a", "a"], ["r", "r"], ["a", "a"]))
    assert dataset.notes == (
        "train: 2 duplicate facts dropped",
        "valid: 2 of 3 facts dropped: they have names that are not in train",
        "test: 1 duplicate fact dropped",
    )
    assert (dataset.n_facts, len(dataset.valid), len(dataset.test)) == (2, 1, 1)


def test_labels_of_unknown_names_are_left_out() -> None:
    dataset = build(
        "any",
        (["a"], ["r"], ["b"]),
        entity_labels={"a": "Ada", "x": "Xenia"},
        relation_labels={"r": "respects"},
    )
    assert dict(dataset.entities.labels) == {"a": "Ada"}
    assert dataset.relations.find("respects") == 0
    assert dataset.notes == ()


@pytest.mark.parametrize("labels", [{"a": 1}, {("a",): "Ada"}])
def test_labels_are_text(labels: dict[Any, Any]) -> None:
    with pytest.raises(WhereofError, match=r"relation label .* for .*; give both as text"):
        read_dataset({"user": ["a"], "item": ["b"]}, relation_labels=labels)


def test_labels_that_fit_nothing_are_noted() -> None:
    dataset = build("any", (["a"], ["r"], ["b"]), entity_labels={"x": "Xenia"})
    assert dataset.notes == ("none of the 1 entity labels is for a name in train",)


def test_two_way_labels_are_for_objects_where_names_are_shared() -> None:
    shared = build("any", (["1", "1"], ["1", "2"]), entity_labels={"1": "Heat"})
    assert [shared.entities.label(i) for i in range(3)] == ["1", "Heat", "2"]
    some = build(
        "any",
        (["una", "7", "heat"], ["heat", "8", "8"]),
        entity_labels={"heat": "Heat", "una": "Una", "7": "Seven", "8": "Eight"},
    )
    labels = [some.entities.label(i) for i in range(some.n_entities)]
    assert labels == ["7", "heat", "Una", "Eight", "Heat"]
    assert some.entities.find("Una") == 2
    apart = build("any", (["u", "u"], ["1", "2"]), entity_labels={"1": "Heat", "u": "Una"})
    assert [apart.entities.label(i) for i in range(3)] == ["Una", "Heat", "2"]


@pytest.mark.parametrize(
    ("train", "valid", "message"),
    [
        ((["a"], ["r"], ["b"]), (["a"], ["b"]), "valid has 2 columns but train has 3"),
        (([], [], []), (), "no training facts"),
        ((["a"], ["r"], ["a"]), (), r"too few entities that can be an object \(1\)"),
        ((["u", "v"], ["i", "i"]), (), r"too few entities that can be an object \(1\)"),
    ],
)
def test_columns_that_make_no_dataset(
    train: tuple[list[str], ...], valid: tuple[list[str], ...], message: str
) -> None:
    with pytest.raises(WhereofError, match=message):
        build("any", train, valid)


def test_relation_labels_make_no_sense_without_relations() -> None:
    with pytest.raises(WhereofError, match="two-way data has no relations"):
        build("any", (["u", "u"], ["i", "j"]), relation_labels={"r": "rates"})


letter = st.sampled_from("abcde")
letters = st.lists(st.tuples(letter, letter, letter), max_size=60)
fraction = st.floats(0, 0.49)
GRID = [[f"{i % 5}" for i in range(100)], ["r"] * 100, [f"{i // 5}" for i in range(100)]]


@given(letters, fraction, fraction, st.integers(0, 5))
def test_laws_of_a_split(
    rows: list[tuple[str, str, str]], valid: float, test: float, seed: int
) -> None:
    whole = build("any", list(zip(("a", "r", "b"), *rows, strict=True)))
    split = hold_out(whole, valid, test, seed)
    parts = [list(map(tuple, part.tolist())) for part in (split.train, split.valid, split.test)]
    place = {fact: row for row, fact in enumerate(map(tuple, whole.train.tolist()))}
    assert sorted(chain(*parts)) == sorted(place)
    assert all(part == sorted(part, key=place.__getitem__) for part in parts)
    assert {*split.train[:, 0], *split.train[:, 2]} == set(range(whole.n_entities))
    assert set(split.train[:, 1]) == set(range(whole.n_relations))
    assert hold_out(whole, valid, test, seed).hash == split.hash
    wanted = round(valid * whole.n_facts) + round(test * whole.n_facts)
    n_held = len(parts[1]) + len(parts[2])
    note = f"{n_held} fact{'s' * (n_held != 1)} held out, not {wanted}"
    assert n_held == wanted or split.notes[-1].startswith(note)


def test_sizes_and_seeds() -> None:
    whole = build("grid", GRID)
    first, second = (hold_out(whole, 0.1, 0.2, seed) for seed in (1, 2))
    assert (first.n_facts, len(first.valid), len(first.test)) == (70, 10, 20)
    assert first.hash != second.hash


def test_a_fraction_of_no_facts_is_noted() -> None:
    split = hold_out(build("grid", GRID), 0.004, 0.1, 0)
    assert (len(split.valid), len(split.test)) == (0, 10)
    (note,) = split.notes
    assert note.startswith("valid: 0.004 of 100 facts is less than one fact: none is held out;")


def test_a_split_is_the_same_everywhere() -> None:
    assert _draws(2, 1234567).tolist() == [6457827717110365317, 3203168211198807973]
    split = hold_out(build("grid", GRID), 0.03, 0, 7)
    assert ["".join(split.fact_names(fact)) for fact in split.valid] == ["3r1", "0r2", "1r4"]


def test_ratings_sources_and_weights_go_with_their_facts() -> None:
    marks = np.arange(100, dtype=np.float32)
    sources = as_array("source", [f"{int(mark)}" for mark in marks]).dictionary_encode()
    weights = marks.astype(np.float64)
    table = fact_table(GRID[0], GRID[2], rating=marks, source=sources, weight=weights)
    whole = build("grid", table)
    split = hold_out(whole, 0.1, 0.2, 0)
    assert split.ratings is not None
    assert split.sources is not None
    place = {tuple(fact): row for row, fact in enumerate(whole.train.tolist())}
    for part in ("train", "valid", "test"):
        rows = [place[tuple(fact)] for fact in getattr(split, part).tolist()]
        assert getattr(split.ratings, part).tolist() == rows
    assert list(map(int, split.sources)) == split.ratings.train.tolist()
    assert split.weights is not None
    assert split.weights.tolist() == split.ratings.train.tolist()


def test_a_repeated_fact_keeps_its_first_weight() -> None:
    dataset = read_dataset({"s": ["a", "b", "a"], "o": ["x", "y", "x"], "weight": [1, 2, 3]})
    assert dataset.weights is not None
    assert dataset.weights.tolist() == [1, 2]
    assert dataset.notes[-1] == "train: 1 duplicate fact dropped, the first weight stays"


def test_a_file_is_split_when_asked(write: Write, tmp_path: Path) -> None:
    lines = "".join("\t".join(row) + "\n" for row in zip(*GRID, strict=True))
    alone, folder = write("grid.tsv", lines), write("grid/train.tsv", lines).parent
    split = read_dataset(alone, valid_fraction=0.1, split_seed=3)
    assert (split.n_facts, len(split.valid), len(split.test)) == (90, 10, 0)
    assert read_dataset(folder, valid_fraction=0.1, split_seed=3).hash == split.hash
    with pytest.raises(WhereofError, match="split_seed is 3, and nothing is held out; give valid"):
        read_dataset(alone, split_seed=3)
    write("grid/test.tsv", "1\tr\t2\n")
    with pytest.raises(WhereofError, match=r"test.tsv contains held-out facts already; leave out"):
        read_dataset(folder, valid_fraction=0.1)
