"""Tables of columns: frames in Python, and Parquet files."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whereof
from whereof.data.read import read_dataset
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]
COLUMNS = {"head": ["a", "b", "c"], "rel": ["r", "r", "q"], "tail": ["b", "c", "a"]}
PAIRS = {"user": [1, 2, 2**62], "item": [7, 7, 8], "rating": [1.0, 2.5, 3.0]}
MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "dict": dict,
    "dict of arrays": lambda columns: {name: np.array(cells) for name, cells in columns.items()},
    "pandas": pd.DataFrame,
    "pandas object": lambda columns: pd.DataFrame(columns, dtype=object),
    "pandas, its own index": lambda columns: pd.DataFrame(columns, index=[7, 7, 9]),
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "arrow batch": lambda columns: pa.table(columns).to_batches()[0],
}
EXOTIC = {
    "pandas category": pd.DataFrame(COLUMNS).astype("category"),
    "pandas on arrow": pd.DataFrame(COLUMNS).astype("string[pyarrow]"),
    "polars categorical": pl.DataFrame(COLUMNS, schema=dict.fromkeys(COLUMNS, pl.Categorical)),
    "arrow dictionary": pa.table({n: pa.array(c).dictionary_encode() for n, c in COLUMNS.items()}),
    "arrow large": pa.table({n: pa.array(c, pa.large_string()) for n, c in COLUMNS.items()}),
    "arrow chunks": pa.concat_tables([pa.table(COLUMNS).slice(0, 1), pa.table(COLUMNS).slice(1)]),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_every_kind_of_table_gives_the_same_facts(make: Callable[..., Any]) -> None:
    dataset = whereof.read(make(COLUMNS))
    assert [dataset.fact_names(fact) for fact in dataset.train] == list(
        zip(*COLUMNS.values(), strict=True)
    )
    assert dataset.name == "table"
    rated = whereof.read(make(PAIRS), name="films")
    assert rated.entities.names == ("1", "2", str(2**62), "7", "8")
    assert rated.ratings is not None
    assert rated.ratings.train.tolist() == [1, 2.5, 3]
    assert rated.name == "films"


@pytest.mark.parametrize("table", EXOTIC.values(), ids=EXOTIC.keys())
def test_text_in_any_encoding(table: Any) -> None:
    assert whereof.read(table).hash == whereof.read(COLUMNS).hash


def test_numbers_of_any_size() -> None:
    frame = pd.DataFrame({"user": [2**70, 1], "item": np.array([2**64 - 1, 2], np.uint64)})
    assert whereof.read(frame).entities.names == ("1", str(2**70), str(2**64 - 1), "2")


def test_columns_and_sources() -> None:
    frame = pd.DataFrame({"a": range(20), "b": [0, 1] * 10, "doc": ["x", "y"] * 10, "n": 0})
    dataset = whereof.read(frame, columns=["a", "b"], source="doc")
    assert dataset.sources is not None
    assert list(dataset.sources) == ["x", "y"] * 10
    with pytest.raises(WhereofError, match="nor a header line; leave out header"):
        whereof.read(frame, header=True)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_weights_in_every_kind_of_table(make: Callable[..., Any], tmp_path: Path) -> None:
    columns = COLUMNS | {"weight": [0.1, 2, 0], "mass": [3.0, 1.0, 0.5]}
    dataset = whereof.read(make(columns))
    assert dataset.weights is not None
    assert dataset.weights.tolist() == [0.1, 2, 0]
    other = whereof.read(make(columns), weight="mass")
    assert other.weights is not None
    assert other.weights.tolist() == [3, 1, 0.5]
    assert len({dataset.hash, other.hash, whereof.read(make(COLUMNS)).hash}) == 3
    pq.write_table(pa.table(columns), tmp_path / "facts.parquet")
    assert whereof.read(tmp_path / "facts.parquet").hash == dataset.hash


def test_bad_weights_in_a_table() -> None:
    with pytest.raises(WhereofError, match=r"^table: row 2: weight -1 is not a finite number that"):
        whereof.read(COLUMNS | {"weight": [1, -1, 1]})
    with pytest.raises(WhereofError, match="every training fact has weight 0, so nothing is left"):
        whereof.read(COLUMNS | {"weight": [0, 0, 0]})


def test_two_pandas_columns_of_one_name() -> None:
    frame = pd.DataFrame([["a", "r", "b"], ["b", "r", "c"]], columns=["x", "y", "x"])
    assert whereof.read(frame).fact_names((0, 0, 1)) == ("a", "r", "b")
    with pytest.raises(WhereofError, match="2 columns named 'x'; give its number"):
        whereof.read(frame, columns="x,y")


BAD = {
    "none": ({"user": ["a", None], "item": ["x", "y"]}, "table: row 2: column 'user' is empty"),
    "nan": ({"user": [1.0, np.nan], "item": [1, 2]}, "table: row 2: column 'user' is empty"),
    "NA": (
        {"user": pd.array([1, None], "Int64"), "item": [1, 2]},
        "table: row 2: column 'user' is empty",
    ),
    "blank": ({"user": ["a", " "], "item": ["x", "y"]}, "table: row 2: column 'user' is empty"),
    "fraction": ({"user": [1.5], "item": [1]}, "row 1: column 'user' has 1.5, which is neither"),
    "truth": ({"user": [True], "item": [1]}, "row 1: column 'user' has True, which is neither"),
    "surrogate": (
        {"user": ["\ud800"], "item": [1]},
        r"row 1: column 'user' has '\ud800', which is neither text",
    ),
    "arrow null": (pa.table({"user": [1, None], "item": [1, 2]}), "row 2: column 'user' is empty"),
    "arrow null value": (
        pa.table({"user": pa.DictionaryArray.from_arrays([0, 1], ["a", None]), "item": [1, 2]}),
        "row 2: column 'user' is empty",
    ),
    "array": ({"user": [np.arange(99)], "item": [1]}, "row 1: column 'user' has array([ 0,  1,"),
    "table": ({"user": np.zeros((1, 1)), "item": [1]}, "column 'user' is array([[0.]]); give a l"),
    "generator": ({"user": (i for i in "ab"), "item": [1, 2]}, "column 'user' is <generator obj"),
    "text": ({"user": "ab", "item": [1, 2]}, "column 'user' is 'ab'; give a list or an array"),
    "listed rating": (
        {"user": [1, 2], "item": [1, 2], "rating": [[1], [2]]},
        "row 1: rating [1] is not a finite",
    ),
    "ragged rating": (
        {"user": [1, 2], "item": [1, 2], "rating": [1, [2, [3]]]},
        "row 2: rating [2, [3]] is not a finite",
    ),
    "dict rating": ({"user": [1], "item": [1], "rating": [{1: 2}]}, "row 1: rating {1: 2} is not"),
    "arrow listed rating": (
        pa.table({"user": [1], "item": [1], "rating": [[1.0, 2.0]]}),
        "row 1: rating [1.0, 2.0] is not a finite",
    ),
    "arrow float": (
        pa.table({"user": [1.5], "item": [1]}),
        "column 'user' has 1.5, which is neither",
    ),
    "rating": ({"user": [1], "item": [1], "rating": [np.nan]}, "row 1: rating nan is not a finite"),
    "text rating": ({"user": [1], "item": [1], "rating": ["?"]}, "row 1: rating '?' is not a"),
    "lengths": ({"user": [1], "item": [1, 2]}, "table: the columns have [1, 2] rows"),
    "width": ({"a": [1]}, "table: 1 column, expected 2 (subject, object)"),
    "no rows": ({"user": [], "item": []}, "dataset 'table' has no training facts"),
    "lazy": (pl.LazyFrame(COLUMNS), "cannot read facts from LazyFrame; give a path"),
    "list": ([("a", "r", "b")], "cannot read facts from list; give a path"),
}


@pytest.mark.parametrize(("table", "message"), BAD.values(), ids=BAD.keys())
def test_bad_table(table: Any, message: str) -> None:
    with pytest.raises(WhereofError) as caught:
        whereof.read(table)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


IN_FILE = {"tail": ["b", "c"], "head": ["a", "b"], "rel": ["r", "r"], "note": [None, "x"]}


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    pq.write_table(pa.table(IN_FILE), tmp_path / "any.parquet")
    return (tmp_path / "any.parquet").read_bytes()


def test_names_that_are_not_utf_8_are_one_line(tmp_path: Path) -> None:
    bounds, data = np.array([0, 1, 2], np.int32), b"a\xff"
    names = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(bounds), pa.py_buffer(data)])
    table = pa.table({"subject": names, "object": ["b", "c"]})
    pq.write_table(table, tmp_path / "facts.parquet")
    with pytest.raises(WhereofError, match=r"facts\.parquet: a subject is not UTF-8"):
        read_dataset(tmp_path / "facts.parquet")
    with pytest.raises(WhereofError, match="table: a subject is not UTF-8"):
        read_dataset(table)


@pytest.mark.parametrize("name", ["facts.parquet", "facts.parquet.gz"])
def test_plain_and_packed(write: Write, content: bytes, name: str) -> None:
    path = write(name, gzip.compress(content) if name.endswith("gz") else content)
    dataset = read_dataset(path)
    assert dataset.name == "facts"
    assert [dataset.fact_names(fact) for fact in dataset.train] == [
        ("a", "r", "b"),
        ("b", "r", "c"),
    ]


def test_parquet_columns_by_name(write: Write, content: bytes) -> None:
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


def test_bad_parquet_files(write: Write, content: bytes) -> None:
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
