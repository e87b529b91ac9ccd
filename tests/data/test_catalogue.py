"""Datasets by name."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from whence.data import CATALOGUE, read_dataset
from whence.errors import WhenceError


@pytest.mark.parametrize("name", CATALOGUE)
def test_sizes_are_those_declared(name: str, shared_data: Callable[[str], Path]) -> None:
    entry = CATALOGUE[name]
    dataset = read_dataset(name, data_dir=None if entry.bundled else shared_data(name))
    assert dataset.name == entry.name == name
    assert dataset.n_facts == entry.n_facts
    assert (dataset.n_entities, dataset.n_relations) == (entry.n_entities, entry.n_relations)
    n_dropped = {note.split(":")[0]: int(note.split()[1]) for note in dataset.notes}
    assert len(dataset.valid) + n_dropped.get("valid", 0) == entry.n_valid
    assert len(dataset.test) + n_dropped.get("test", 0) == entry.n_test


def test_nations() -> None:
    dataset = read_dataset("Nations")
    assert dataset.fact_names(dataset.train[0]) == ("netherlands", "militaryalliance", "uk")
    assert (dataset.entities.names[0], dataset.entities.names[-1]) == ("brazil", "ussr")
    assert (dataset.n_facts, len(dataset.valid), len(dataset.test)) == (1592, 199, 201)


def test_fb15k_237_has_labels_and_drops_unseen_entities(
    shared_data: Callable[[str], Path],
) -> None:
    dataset = read_dataset("fb15k-237", data_dir=shared_data("fb15k-237"))
    assert (dataset.n_facts, dataset.n_entities, dataset.n_relations) == (272115, 14505, 237)
    assert (len(dataset.valid), len(dataset.test)) == (17526, 20438)
    assert dataset.entities.label(dataset.entities.find("/m/016ywr")) == "Jeremy Irons"
    assert dataset.entities.name(dataset.entities.find("jeremy irons")) == "/m/016ywr"


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE)
def test_every_entry_is_titled_cited_and_licensed(entry: object) -> None:
    assert all(getattr(entry, word).strip() for word in ("title", "citation", "licence"))


def test_data_folder_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kinship").mkdir()
    (tmp_path / "kinship" / "train.txt").write_text("a\tr\tb\n")
    monkeypatch.setenv("WHENCE_DATA", str(tmp_path))
    assert read_dataset("kinship").n_facts == 1
    empty = tmp_path / "elsewhere"
    with pytest.raises(WhenceError, match=re.escape(f"no folder {empty / 'kinship'}")):
        read_dataset("kinship", data_dir=empty)


@pytest.mark.parametrize("value", [None, ""])
def test_data_that_is_not_here(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHENCE_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("WHENCE_DATA", value)
    remedy = "--data-dir DIR or WHENCE_DATA: DIR/fb15k-237/train.txt"
    with pytest.raises(WhenceError, match=remedy):
        read_dataset("fb15k-237")


def test_catalogue_folder_without_a_train_file(tmp_path: Path) -> None:
    (tmp_path / "wn18rr").mkdir()
    with pytest.raises(WhenceError, match="no train file in this folder"):
        read_dataset("wn18rr", data_dir=tmp_path)
