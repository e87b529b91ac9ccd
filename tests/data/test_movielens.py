"""MovieLens 100k in its own files."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from whereof.data import CATALOGUE, read_dataset
from whereof.data._movielens import read_movielens
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]

ITEMS = "1|Misérables, Les (1995)|01-Jan-1995\n2|Toy Story (1995)|01-Jan-1995\n".encode("latin-1")


@pytest.fixture
def folder(write: Write) -> Path:
    write("ua.base", "1\t2\t5\t874965758\n2\t1\t3\t876893171\n")
    write("u.item", ITEMS)
    return write("ua.test", "1\t1\t4\t878542960\n").parent


def test_users_items_ratings_and_titles(folder: Path) -> None:
    data = read_movielens(folder)
    users, items = data.train.columns
    assert [users.names[code] for code in users.codes] == ["1", "2"]
    assert [items.names[code] for code in items.codes] == ["2", "1"]
    assert data.train.ratings is not None
    assert data.train.ratings.dtype == np.float32
    assert data.train.ratings.tolist() == [5, 3]
    assert (len(data.valid), len(data.test)) == (1, 0)
    assert data.titles == {"1": "Misérables, Les (1995)", "2": "Toy Story (1995)"}


def test_files_may_be_gzipped_and_have_windows_line_ends(folder: Path, write: Write) -> None:
    (folder / "ua.base").unlink()
    write("ua.base.gz", gzip.compress(b"1\t2\t5\t874965758\r\n"))
    write("u.item", ITEMS.replace(b"\n", b"\r\n"))
    data = read_movielens(folder)
    assert len(data.train) == 1
    assert data.titles["2"] == "Toy Story (1995)"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("ua.base", "1\t2\t5\t8\n1\t2\t5\n", r"ua.base:2: 3 columns, expected 4 as on line 1"),
        ("ua.base", "1\t\t5\t8\n", r"ua.base:1: column 2 is empty"),
        ("ua.test", "1\t2\tfive\t8\n", r"ua.test:1: rating 'five' is not a finite number"),
        ("ua.test", "\n1\t2\tnan\t8\n", r"ua.test:2: rating 'nan' is not a finite number"),
        ("u.item", "1\n", r"u.item:1: expected item, title"),
        ("ua.base.gz", gzip.compress(b"1\t2\t5\t8\n")[:-9], "truncated or damaged gzip data"),
    ],
)
def test_bad_lines_are_named(
    name: str, content: str | bytes, words: str, folder: Path, write: Write
) -> None:
    (folder / name.removesuffix(".gz")).unlink()
    write(name, content)
    with pytest.raises(WhereofError, match=words):
        read_movielens(folder)


@pytest.mark.parametrize("option", ["format", "columns", "header", "rating", "source"])
def test_there_is_nothing_to_choose(option: str, folder: Path) -> None:
    named = folder / "movielens-100k"
    named.mkdir()
    for name in ("ua.base", "ua.test", "u.item"):
        (folder / name).rename(named / name)
    value = {"format": "csv", "header": True}.get(option, "1,2")
    with pytest.raises(WhereofError, match=f"read as it is published; leave out {option}"):
        read_dataset(named.name, data_dir=folder, **{option: value})
    assert read_dataset(named.name, data_dir=folder).n_facts == 2


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "u.item").unlink()
    with pytest.raises(
        WhereofError, match=r"no u\.item in this folder; put u\.item or u\.item\.gz"
    ):
        read_movielens(folder)


def test_the_split_of_the_paper(shared_data: Callable[[str], Path]) -> None:
    entry = CATALOGUE["movielens-100k"]
    data = read_movielens(shared_data(entry.name) / entry.name)
    sizes = [len(split) for split in (data.train, data.valid, data.test)]
    assert sizes == [entry.n_facts, entry.n_valid, entry.n_test]
    assert [len(column.names) for column in data.train.columns] == [943, 1680]
    assert sum(len(column.names) for column in data.train.columns) == entry.n_entities
    assert data.titles["1"] == "Toy Story (1995)"
    assert data.titles["543"] == "Misérables, Les (1995)"
