"""Datasets by name."""

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from whereof.data.catalogue import CATALOGUE, Entry, Place, cache_folder, find_entry, locate
from whereof.data.dataset import Dataset
from whereof.data.download import convert_labels
from whereof.data.read import read_dataset
from whereof.data.text import open_bytes
from whereof.errors import WhereofError

HELD = [name for name, entry in CATALOGUE.items() if any(file.sha256 for file in entry.files)]


@pytest.mark.parametrize("name", CATALOGUE)
def test_sizes_are_those_declared(name: str, shared: Callable[[str], Dataset]) -> None:
    entry = CATALOGUE[name]
    dataset = read_dataset(name) if entry.bundled else shared(name)
    assert dataset.name == entry.name == name
    assert dataset.n_facts == entry.n_facts
    assert (dataset.n_entities, dataset.n_relations) == (entry.n_entities, entry.n_relations)
    n_dropped = {note.split(":")[0]: int(note.split()[1]) for note in dataset.notes}
    assert len(dataset.valid) + n_dropped.get("valid", 0) == entry.n_valid
    assert len(dataset.test) + n_dropped.get("test", 0) == entry.n_test


@pytest.mark.parametrize("name", HELD)
def test_checksums_are_those_of_the_files(name: str, shared_data: Callable[[str], Path]) -> None:
    folder = shared_data(name) / name
    for file in CATALOGUE[name].files:
        if file.sha256 is not None:
            plain = folder / file.name
            with open_bytes(plain if plain.exists() else folder / f"{file.name}.gz") as content:
                assert hashlib.sha256(content.read()).hexdigest() == file.sha256, file.name


def test_nations() -> None:
    dataset = read_dataset("Nations")
    assert dataset.fact_names(dataset.train[0]) == ("netherlands", "militaryalliance", "uk")
    assert (dataset.entities.names[0], dataset.entities.names[-1]) == ("brazil", "ussr")
    assert (dataset.n_facts, len(dataset.valid), len(dataset.test)) == (1592, 199, 201)


def test_fb15k_237_has_labels_and_drops_unseen_entities(
    shared: Callable[[str], Dataset],
) -> None:
    dataset = shared("fb15k-237")
    assert (dataset.n_facts, dataset.n_entities, dataset.n_relations) == (272115, 14505, 237)
    assert (len(dataset.valid), len(dataset.test)) == (17526, 20438)
    assert dataset.entities.label(dataset.entities.find("/m/016ywr")) == "Jeremy Irons"
    assert dataset.entities.name(dataset.entities.find("jeremy irons")) == "/m/016ywr"


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=CATALOGUE)
def test_every_entry_is_whole(entry: Entry) -> None:
    words = (entry.title, entry.licence, entry.terms, entry.citation)
    assert all(word.strip() for word in words)
    urls = [entry.homepage, *(file.url for file in entry.files)]
    assert all(url.startswith("https://") for url in urls)
    assert len({file.name for file in entry.files}) == len(entry.files)


def test_labels_are_made_from_what_the_sources_have() -> None:
    wordnet = b"00590383\tchieftainship, the position, of chieftain\n1\tsaxony\n2\t\n"
    assert convert_labels(wordnet, "before comma") == b"00590383\tchieftainship\n1\tsaxony\n"
    codex = '{"Q1": {"label": "two\\n lines"}, "Q2": {"label": ""}, "Q3": {"label": "é"}}'
    assert convert_labels(codex.encode(), "json") == "Q1\ttwo lines\nQ3\té\n".encode()


def test_a_data_folder_named_by_hand_must_have_it(tmp_path: Path) -> None:
    with pytest.raises(WhereofError, match=re.escape(f"no folder {tmp_path / 'kinship'}")):
        read_dataset("kinship", data_dir=tmp_path)
    assert locate(CATALOGUE["kinship"], tmp_path) == Place("absent")


def test_where_a_dataset_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, mine, cache = CATALOGUE["kinship"], tmp_path / "mine", tmp_path / "cache"
    monkeypatch.setenv("WHEREOF_DATA", str(mine))
    monkeypatch.setenv("WHEREOF_CACHE", str(cache))
    assert locate(CATALOGUE["nations"], mine).kind == "bundled"
    assert locate(entry) == Place("absent")
    (cache / "kinship").mkdir(parents=True)
    assert locate(entry) == Place("cached", cache / "kinship")
    (mine / "kinship").mkdir(parents=True)
    assert locate(entry) == locate(entry, mine) == Place("copy", mine / "kinship")
    assert locate(entry, tmp_path) == Place("absent")


def test_a_copy_from_the_environment_is_read_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kinship").mkdir()
    (tmp_path / "kinship" / "train.txt").write_text("a\tr\tb\n")
    monkeypatch.setenv("WHEREOF_DATA", str(tmp_path))
    assert read_dataset("kinship").n_facts == 1


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("WHEREOF_CACHE", "")
    assert cache_folder() == tmp_path / "whereof"
    monkeypatch.setenv("WHEREOF_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"


def test_a_name_is_found_in_any_case_and_near_ones_offered() -> None:
    assert find_entry("UMLS").name == "umls"
    with pytest.raises(WhereofError, match="did you mean 'kinship'"):
        find_entry("kinships")


def test_catalogue_folder_without_a_train_file(tmp_path: Path) -> None:
    (tmp_path / "wn18rr").mkdir()
    with pytest.raises(WhereofError, match="no train file in this folder"):
        read_dataset("wn18rr", data_dir=tmp_path)
