"""The compiled encoder against its plain twin."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whereof.data import _streams, _tsv, read_dataset
from whereof.data._columns import Cells, Encoder
from whereof.data._encoding import ByteEncoder
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]
texts = st.lists(st.text(max_size=3) | st.sampled_from(["a", "b", "ab", "abcdefghijkl"]))


@given(st.lists(texts))
def test_both_give_the_same_codes_and_names(stretches: list[list[str]]) -> None:
    plain, compiled = Encoder(), ByteEncoder()
    for names in stretches:
        n_before = len(plain)
        assert list(Cells.of(names)) == names
        assert compiled.encode(Cells.of(names)).tolist() == plain.encode(names).tolist()
        n_new = len(compiled) - n_before
        assert sorted(compiled.newest(n_new)) == sorted(plain.newest(n_new))
    assert compiled.names() == plain.names()


def test_many_names_in_many_stretches() -> None:
    plain, compiled = Encoder(), ByteEncoder()
    numbers = np.random.Generator(np.random.PCG64(0)).integers(0, 5000, (40, 500))
    for stretch in numbers:
        names = [f"name {number}" for number in stretch]
        assert np.array_equal(compiled.encode(Cells.of(names)), plain.encode(names))
    assert compiled.names() == plain.names()


def test_texts_and_bytes_go_together() -> None:
    encoder = ByteEncoder()
    assert encoder.encode(["a", "é"]).tolist() == [0, 1]
    assert encoder.encode(Cells.of(["é", "b"])).tolist() == [1, 2]


def test_a_large_csv_file_with_some_quotes(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"é{i % 97},r{i % 3},é{i * i % 89}" for i in range(500)]
    tall = "tall\n" * 200
    quoted = [f'"a, b",r,"{tall}{i}"' for i in range(50)]
    path = write("facts.csv", "\n".join([*lines, *quoted, *lines, "", 'c,"r",d']))
    small = read_dataset(path)
    monkeypatch.setattr(_tsv, "_LARGE", 100)
    monkeypatch.setattr(_streams, "_BLOCK", 1000)
    large = read_dataset(path)
    assert (large.hash, large.notes) == (small.hash, small.notes)
    write("facts.csv", "\n".join([*lines, *quoted, "c,d"]))
    with pytest.raises(WhereofError, match=r"facts.csv:10551: 2 columns, expected 3 as on line 1"):
        read_dataset(path)


def test_a_large_file_is_read_like_a_small_one(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"é{i % 97}\tr{i % 3}\té{i * i % 89}" for i in range(2000)]
    path = write("facts.tsv", "\n".join([*lines[:1000], "", *lines[1000:]]))
    small = read_dataset(path)
    monkeypatch.setattr(_tsv, "_LARGE", 100)
    monkeypatch.setattr(_streams, "_BLOCK", 1000)
    large = read_dataset(path)
    assert (large.hash, large.notes) == (small.hash, small.notes)
    rated = read_dataset(path, columns="1,2", source="3")
    assert rated.sources is not None
    assert list(rated.sources)[:2] == ["é0", "é1"]
    with pytest.raises(WhereofError, match=r"facts.tsv:1: rating 'é0' is not a finite number"):
        read_dataset(path, rating="3")
    write("facts.tsv", "\n".join([*lines, "a\t \tb"]))
    with pytest.raises(WhereofError, match=r"facts.tsv:2001: column 2 is empty"):
        read_dataset(path)
    write("facts.tsv", "\n".join([*lines, "a\tb"]))
    with pytest.raises(WhereofError, match=r"facts.tsv:2001: 2 columns, expected 3 as on line 1"):
        read_dataset(path)
