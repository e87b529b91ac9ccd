"""Facts held out: what stays in training, how many go, and that a seed decides."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whereof.data import Column, FactTable, build_dataset, read_dataset
from whereof.data._splitting import _draws, hold_out
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]
letter = st.sampled_from("abcde")
triples = st.lists(st.tuples(letter, letter, letter), max_size=60)
fraction = st.floats(0, 0.49)
GRID = [[f"{i % 5}" for i in range(100)], ["r"] * 100, [f"{i // 5}" for i in range(100)]]


@given(triples, fraction, fraction, st.integers(0, 5))
def test_laws_of_a_split(
    rows: list[tuple[str, str, str]], valid: float, test: float, seed: int
) -> None:
    whole = build_dataset("any", list(zip(("a", "r", "b"), *rows, strict=True)))
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
    whole = build_dataset("grid", GRID)
    first, second = (hold_out(whole, 0.1, 0.2, seed) for seed in (1, 2))
    assert (first.n_facts, len(first.valid), len(first.test)) == (70, 10, 20)
    assert first.hash != second.hash


def test_a_fraction_of_no_facts_is_noted() -> None:
    split = hold_out(build_dataset("grid", GRID), 0.004, 0.1, 0)
    assert (len(split.valid), len(split.test)) == (0, 10)
    assert split.notes == ("valid: 0.004 of 100 facts is less than one: none is held out",)


def test_a_split_is_the_same_everywhere() -> None:
    assert _draws(2, 1234567).tolist() == [6457827717110365317, 3203168211198807973]
    split = hold_out(build_dataset("grid", GRID), 0.03, 0, 7)
    assert ["".join(split.fact_names(fact)) for fact in split.valid] == ["3r1", "0r2", "1r4"]


def test_ratings_and_sources_go_with_their_facts() -> None:
    columns = tuple(map(Column.of, (GRID[0], GRID[2])))
    marks = np.arange(100, dtype=np.float32)
    table = FactTable(columns, marks, Column.of([f"{int(mark)}" for mark in marks]))
    whole = build_dataset("grid", table)
    split = hold_out(whole, 0.1, 0.2, 0)
    assert split.ratings is not None
    assert split.sources is not None
    place = {tuple(fact): row for row, fact in enumerate(whole.train.tolist())}
    for part in ("train", "valid", "test"):
        rows = [place[tuple(fact)] for fact in getattr(split, part).tolist()]
        assert getattr(split.ratings, part).tolist() == rows
    assert list(map(int, split.sources)) == split.ratings.train.tolist()


def test_a_file_is_split_when_asked(write: Write, tmp_path: Path) -> None:
    lines = "".join("\t".join(row) + "\n" for row in zip(*GRID, strict=True))
    alone, folder = write("grid.tsv", lines), write("grid/train.tsv", lines).parent
    split = read_dataset(alone, valid_fraction=0.1, split_seed=3)
    assert (split.n_facts, len(split.valid), len(split.test)) == (90, 10, 0)
    assert read_dataset(folder, valid_fraction=0.1, split_seed=3).hash == split.hash
    with pytest.raises(WhereofError, match="split_seed is 3, and nothing is held out; give valid"):
        read_dataset(alone, split_seed=3)
    write("grid/test.tsv", "1\tr\t2\n")
    with pytest.raises(WhereofError, match=r"test.tsv: held out already; leave out valid_fraction"):
        read_dataset(folder, valid_fraction=0.1)
