"""Datasets from files and folders, in every format."""

import csv
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whereof.data.catalogue import CATALOGUE
from whereof.data.dataset import Dataset
from whereof.data.read import read_dataset
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]
FACTS = "a\tr\tb\nb\tr\tc\n"


@pytest.mark.parametrize("name", ["mine.txt", "mine.tsv", "mine.tsv.gz", "mine"])
def test_one_file_is_all_training_data(write: Write, name: str) -> None:
    path = write(name, gzip.compress(FACTS.encode()) if name.endswith("gz") else FACTS)
    dataset = read_dataset(str(path))
    assert dataset.name == "mine"
    assert (dataset.n_facts, len(dataset.valid), len(dataset.test)) == (2, 0, 0)


def test_unknown_extensions_stay_in_the_name(write: Write) -> None:
    assert read_dataset(write("facts.v2.txt", FACTS)).name == "facts.v2"


@pytest.mark.parametrize("second", ["valid.txt", "validation.tsv", "dev", "dev.txt.gz"])
def test_folder(write: Write, tmp_path: Path, second: str) -> None:
    write("Mine/train.tsv", FACTS)
    valid = b"a\tr\tc\n"
    write(f"Mine/{second}", gzip.compress(valid) if second.endswith("gz") else valid)
    write("Mine/test.txt", "c\tr\ta\nc\tr\tnew\n")
    dataset = read_dataset(tmp_path / "Mine")
    assert dataset.name == "Mine"
    assert dataset.valid.tolist() == [[0, 0, 2]]
    assert dataset.test.tolist() == [[2, 0, 0]]
    assert dataset.notes == ("test: 1 of 2 facts dropped: they have names that are not in train",)


@pytest.mark.parametrize("name", ["", " ", "../../evil", "a\\b", "a\0"])
def test_a_name_is_no_path(write: Write, name: str) -> None:
    with pytest.raises(WhereofError, match=re.escape(f"name is {name!r}; give a non-empty name")):
        read_dataset(write("mine.tsv", FACTS), name=name)


def test_folder_given_as_a_dot_has_its_own_name(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("mine/train.txt", FACTS)
    monkeypatch.chdir(tmp_path / "mine")
    assert read_dataset(".").name == "mine"
    (tmp_path / "mine" / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "mine" / "inner")
    assert read_dataset("..").name == "mine"


def test_labels_from_the_folder_and_by_hand(write: Write, tmp_path: Path) -> None:
    write("mine/train.txt", FACTS)
    write("mine/entity2label.txt.gz", gzip.compress(b"a\tAda\nz\tZoe\n"))
    write("mine/relation2text.tsv", "r\trespects\n")
    dataset = read_dataset(tmp_path / "mine")
    assert (dataset.entities.label(0), dataset.relations.label(0)) == ("Ada", "respects")
    by_hand = write("names.tsv", "a\tAnna\n")
    assert read_dataset(tmp_path / "mine", entity_labels=by_hand).entities.label(0) == "Anna"


def test_how_it_was_read_is_told(write: Write) -> None:
    path = write("likes.csv", "1,1,web\n1,2,app\n2,1,web\n2,2,app\n")
    labels = write("labels.tsv", "1\tOne\n")
    options = {"columns": [1, 2], "source": "3", "valid_fraction": 0.25}
    dataset = read_dataset(path, **options, entity_labels=labels)
    assert dataset.read == {
        "data": str(path),
        "columns": "1,2",
        "source": "3",
        "valid_fraction": 0.25,
        "entity_labels": str(labels),
    }
    rated = {"user": [1, 2], "item": [1, 2], "rating": [4, 5]}
    dataset = read_dataset(rated, objects_if_rated=True, entity_labels={"1": "One"})
    assert dataset.read == {
        "data": "table",
        "entity_labels": "given",
        "ratings_as_objects": True,
        "read_as": {"subject": "user", "object": "item", "rating": "rating"},
    }
    assert read_dataset("nations").read == {"data": "nations"}


def test_two_way_file(write: Write) -> None:
    dataset = read_dataset(write("likes.tsv", "1\t1\n1\t2\n2\t1\n"))
    assert dataset.two_way
    assert dataset.train.tolist() == [[0, 0, 2], [0, 0, 3], [1, 0, 2]]
    assert dataset.fact_names(dataset.train[1]) == ("1", "2")


def test_splits_of_different_width(write: Write, tmp_path: Path) -> None:
    write("mine/train.txt", FACTS)
    write("mine/test.txt", "a\tb\n")
    with pytest.raises(WhereofError, match="test has 2 columns but train has 3"):
        read_dataset(tmp_path / "mine")


def test_folder_without_train_file(write: Write, tmp_path: Path) -> None:
    write("mine/test.txt", FACTS)
    with pytest.raises(WhereofError, match="no train file in this folder; expected train"):
        read_dataset(tmp_path / "mine")


def test_two_files_for_one_split(write: Write, tmp_path: Path) -> None:
    write("mine/train.txt", FACTS)
    write("mine/valid.txt", FACTS)
    write("mine/dev.tsv", FACTS)
    with pytest.raises(WhereofError, match=r"2 files for valid: valid.txt, dev.tsv; keep one"):
        read_dataset(tmp_path / "mine")


def test_path_with_data_goes_before_the_catalogue(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nations").mkdir()
    assert read_dataset("nations").n_facts == 1592
    write("nations/train.txt", FACTS)
    assert read_dataset("nations").n_facts == 2


@pytest.mark.parametrize("source", ["nation", "NATOINS"])
def test_unknown_source_offers_the_nearest(source: str) -> None:
    expected = (
        f"{source!r} is neither a file, a folder nor a catalogue name; did you mean 'nations'?"
    )
    with pytest.raises(WhereofError, match=re.escape(expected)):
        read_dataset(source)


@pytest.mark.parametrize("source", ["", "no/such/path", "\0", "x" * 5000])
def test_impossible_source(source: str) -> None:
    with pytest.raises(WhereofError, match="the catalogue has nations, kinship"):
        read_dataset(source)


def test_columns_may_be_numbers(write: Write) -> None:
    path = write("likes.csv", "x,1,1,5,web\nx,1,2,4,app\nx,2,1,3,web\n")
    options = {"columns": np.array([2, 3]), "rating": np.int64(4), "source": 5}
    dataset = read_dataset(path, **options)
    assert dataset.ratings is not None
    assert dataset.ratings.train.tolist() == [5, 4, 3]
    assert dataset.sources is not None
    assert [*dataset.sources] == ["web", "app", "web"]


ITEMS = "1|Misérables, Les (1995)|01-Jan-1995\n2|Toy Story (1995)|01-Jan-1995\n".encode("latin-1")


@pytest.fixture
def movielens(write: Write) -> Path:
    write("movielens-100k/ua.base", "1\t2\t5\t874965758\n2\t1\t3\t876893171\n")
    write("movielens-100k/u.item", ITEMS)
    return write("movielens-100k/ua.test", "1\t1\t4\t878542960\n").parent


def read_movielens(folder: Path, **options: Any) -> Dataset:
    return read_dataset("movielens-100k", data_dir=folder.parent, **options)


def test_users_items_ratings_and_titles(movielens: Path) -> None:
    data = read_movielens(movielens)
    assert [data.fact_names(fact) for fact in data.train] == [("1", "2"), ("2", "1")]
    assert data.ratings is not None
    assert data.ratings.train.dtype == np.float32
    assert data.ratings.train.tolist() == [5, 3]
    assert (len(data.valid), len(data.test)) == (1, 0)
    assert data.entities.labels == {"1": "Misérables, Les (1995)", "2": "Toy Story (1995)"}


def test_movielens_may_be_gzipped_and_have_windows_line_ends(movielens: Path, write: Write) -> None:
    (movielens / "ua.base").unlink()
    write("movielens-100k/ua.base.gz", gzip.compress(b"1\t2\t5\t87\r\n1\t1\t5\t87\r\n"))
    write("movielens-100k/u.item", ITEMS.replace(b"\n", b"\r\n"))
    data = read_movielens(movielens)
    assert data.n_facts == 2
    assert data.entities.labels["2"] == "Toy Story (1995)"


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
def test_bad_lines_of_movielens_are_named(
    name: str, content: str | bytes, words: str, movielens: Path, write: Write
) -> None:
    (movielens / name.removesuffix(".gz")).unlink()
    write(f"movielens-100k/{name}", content)
    with pytest.raises(WhereofError, match=words):
        read_movielens(movielens)


@pytest.mark.parametrize("option", ["format", "columns", "header", "rating", "source"])
def test_there_is_nothing_to_choose_in_movielens(option: str, movielens: Path) -> None:
    value = {"format": "csv", "header": True}.get(option, "1,2")
    with pytest.raises(WhereofError, match=f"have a fixed format; leave out {option}"):
        read_movielens(movielens, **{option: value})


def test_a_missing_file_of_movielens_is_named(movielens: Path) -> None:
    (movielens / "u.item").unlink()
    with pytest.raises(WhereofError, match=r"no titles file in this folder; expected u\.item"):
        read_movielens(movielens)


def test_the_split_of_the_paper(shared_data: Callable[[str], Path]) -> None:
    entry = CATALOGUE["movielens-100k"]
    data = read_dataset(entry.name, data_dir=shared_data(entry.name))
    sizes = [len(split) for split in (data.train, data.valid, data.test)]
    assert sizes[0] == entry.n_facts
    assert (len(data.subjects), len(data.objects)) == (943, 1680)
    assert data.entities.labels["1"] == "Toy Story (1995)"
    assert data.entities.labels["543"] == "Misérables, Les (1995)"


Rows = list[tuple[str, str, str]]
HEADER = ("subject", "relation", "object")


def _csv(path: Path, rows: Rows) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([HEADER, *rows])


def _parquet(path: Path, rows: Rows) -> None:
    columns = zip(HEADER, zip(*rows, strict=True), strict=True)
    pq.write_table(pa.table({name: list(cells) for name, cells in columns}), path)


def _ntriples(path: Path, rows: Rows) -> None:
    path.write_text("".join(f"<{s}> <{r}> <{o}> .\n" for s, r, o in rows))


def _tsv(path: Path, rows: Rows) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in rows))


WRITERS: dict[str, Callable[[Path, Rows], None]] = {
    ".tsv": _tsv,
    ".csv": _csv,
    ".parquet": _parquet,
    ".nt": _ntriples,
    ".ttl": _ntriples,
}


@pytest.fixture(scope="module")
def rows() -> Rows:
    nations = read_dataset("nations")
    facts = (nations.fact_names(fact) for fact in nations.train)
    return [tuple(f"http://nations/{name}" for name in fact) for fact in facts]  # type: ignore[misc]


@pytest.fixture(scope="module")
def expected(rows: Rows) -> Dataset:
    return read_dataset(pd.DataFrame(rows, columns=HEADER), valid_fraction=0.1, split_seed=5)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("end", WRITERS)
def test_every_format_gives_the_same_dataset(
    tmp_path: Path, rows: Rows, expected: Dataset, end: str, packed: bool
) -> None:
    path = tmp_path / f"facts{end}"
    WRITERS[end](path, rows)
    if packed:
        content = path.read_bytes()
        path.unlink()
        path = path.with_name(path.name + ".gz")
        path.write_bytes(gzip.compress(content))
    dataset = read_dataset(path, valid_fraction=0.1, split_seed=5)
    assert dataset.hash == expected.hash
    assert dataset.entities.names == expected.entities.names
    assert np.array_equal(dataset.valid, expected.valid)
