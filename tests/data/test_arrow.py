"""Parquet files."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whereof.data import read_dataset
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]
COLUMNS = {"tail": ["b", "c"], "head": ["a", "b"], "rel": ["r", "r"], "note": [None, "x"]}


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    pq.write_table(pa.table(COLUMNS), tmp_path / "any.parquet")
    return (tmp_path / "any.parquet").read_bytes()


@pytest.mark.parametrize("name", ["facts.parquet", "facts.parquet.gz"])
def test_plain_and_packed(write: Write, content: bytes, name: str) -> None:
    path = write(name, gzip.compress(content) if name.endswith("gz") else content)
    dataset = read_dataset(path)
    assert dataset.name == "facts"
    assert [dataset.fact_names(fact) for fact in dataset.train] == [
        ("a", "r", "b"),
        ("b", "r", "c"),
    ]


def test_columns_by_name(write: Write, content: bytes) -> None:
    dataset = read_dataset(write("facts.parquet", content), columns="tail,head")
    assert dataset.fact_names(dataset.train[0]) == ("b", "a")


def test_the_index_that_pandas_adds_is_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"user": [1, 2], "item": [3, 4]}, index=[5, 6])
    frame.to_parquet(tmp_path / "facts.parquet")
    assert read_dataset(tmp_path / "facts.parquet").entities.names == ("1", "2", "3", "4")


@pytest.mark.parametrize("names", [["x", "x", "y"], ["x", "x.y", "x.z"]])
def test_names_that_stand_for_more_than_one_column(tmp_path: Path, names: list[str]) -> None:
    columns = [pa.array([1, 2]), pa.array([3, 4]), pa.array([5, 6])]
    pq.write_table(pa.table(columns, names=names), tmp_path / "facts.parquet")
    dataset = read_dataset(tmp_path / "facts.parquet", columns="1,2")
    assert dataset.entities.names == ("1", "2", "3", "4")


def test_bad_files(write: Write, content: bytes) -> None:
    for damaged in (b"", b"PAR1", content[:-50], b"\xff" * 100):
        with pytest.raises(WhereofError, match=r"bad.parquet: cannot be read as Parquet: .*"):
            read_dataset(write("bad.parquet", damaged))
    path = write("facts.parquet", content)
    with pytest.raises(
        WhereofError, match=r"no column 'hed'; did you mean 'head'\? there are tail"
    ):
        read_dataset(path, columns="hed,rel,tail")
    with pytest.raises(WhereofError, match=r"facts.parquet: row 1: column 'note' is empty"):
        read_dataset(path, source="note")
