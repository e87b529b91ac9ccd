"""Datasets from files and folders."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from whereof.data import read_dataset
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
    with pytest.raises(WhereofError, match=re.escape(f"name is {name!r}; give one that is not")):
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
