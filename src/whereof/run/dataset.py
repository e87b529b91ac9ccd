"""The dataset of a run: vocabularies as JSON, facts as arrays."""

from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import SPLITS, Dataset, Ratings, Sources
from whereof.data.indexes import Adjacency
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.run.files import read_array, read_json, write_array, write_json

_VOCABULARIES = ("entities", "relations")
WEIGHTS = "weights.npy"


class _VocabularyDocument(msgspec.Struct):
    kind: str
    names: tuple[str, ...]
    labels: dict[str, str]
    labelled: tuple[int, int] | None


def write_dataset(folder: Path, dataset: Dataset) -> dict[str, Any]:
    """Write the files; return the manifest's description of the dataset."""
    for name in _VOCABULARIES:
        vocabulary: Vocabulary = getattr(dataset, name)
        document = {"kind": vocabulary.kind, "names": list(vocabulary.names)}
        write_json(folder / f"{name}.json", document | _labels(vocabulary))
    for split in SPLITS:
        write_array(folder / f"{split}.npy", getattr(dataset, split))
        if dataset.ratings is not None:
            write_array(folder / f"ratings-{split}.npy", getattr(dataset.ratings, split))
    if dataset.sources is not None:
        write_json(folder / "sources.json", list(dataset.sources.names))
        write_array(folder / "sources.npy", dataset.sources.codes)
    if dataset.weights is not None:
        write_array(folder / WEIGHTS, dataset.weights)
    index = Adjacency.of(dataset.train, dataset.n_entities, dataset.n_relations)
    for file, array in zip(_adjacency_files(folder), vars(index).values(), strict=True):
        write_array(file, array)
    own = ("name", "hash", "n_facts", "n_entities", "n_relations")
    return {name: getattr(dataset, name) for name in own} | {
        "n_valid": len(dataset.valid),
        "n_test": len(dataset.test),
        "subjects": [dataset.subjects.start, dataset.subjects.stop],
        "objects": [dataset.objects.start, dataset.objects.stop],
        "notes": list(dataset.notes),
        "read": dict(dataset.read),
    }


def write_labels(path: Path, dataset: Dataset) -> None:
    """Write the labels of a finished run."""
    write_json(
        path, {name: _labels(getattr(dataset, name)) for name in _VOCABULARIES}, durable=True
    )


def _labels(vocabulary: Vocabulary) -> dict[str, Any]:
    ids = vocabulary.labelled
    return {"labels": dict(vocabulary.labels), "labelled": [ids.start, ids.stop] if ids else None}


def _adjacency_files(folder: Path) -> list[Path]:
    """The file of each array of the index."""
    names = (field.name.replace("_", "-") for field in fields(Adjacency))
    return [folder / f"adjacency-{name}.npy" for name in names]


def read_adjacency(listed: Collection[Path], dataset: Dataset) -> Adjacency:
    """The index of a run from the files that its manifest lists, memory-mapped.

    Runs without one are indexed again.
    """
    files = _adjacency_files(next(iter(listed)).parent) if listed else []
    if not files or not {*files} <= {*listed}:
        return Adjacency.of(dataset.train, dataset.n_entities, dataset.n_relations)
    index = Adjacency(*(np.asarray(read_array(file, mapped=True)) for file in files))
    if not index.fits(dataset.n_facts, dataset.n_entities, dataset.n_relations):
        raise WhereofError(f"{files[0].parent}: the files adjacency-* do not fit the facts")
    return index


def read_dataset(folder: Path, about: dict[str, Any], listed: Collection[str]) -> Dataset:
    """The dataset of a run whose files were checked; listed: those that belong to it."""

    def read(name: str) -> NDArray[Any]:
        if name not in listed:
            raise WhereofError(f"the manifest of {folder} does not list {name}; train it again")
        return read_array(folder / name)

    def splits(prefix: str = "") -> list[NDArray[Any]]:
        return [read(f"{prefix}{split}.npy") for split in SPLITS]

    labels = read_json(folder / about["labels"]) if about.get("labels") in listed else {}
    ratings = sources = None
    if "ratings-train.npy" in listed:
        ratings = Ratings(*splits("ratings-"))
    if "sources.json" in listed:
        names = msgspec.convert(read_json(folder / "sources.json"), list[str])
        sources = Sources(read("sources.npy"), names)
    weights = read(WEIGHTS) if WEIGHTS in listed else None
    train, valid, test = splits()
    entities, relations = (_read_vocabulary(folder, name, labels) for name in _VOCABULARIES)
    subjects, objects = (range(*about[name]) for name in ("subjects", "objects"))
    needed = about["name"], entities, relations, train, valid, test, subjects, objects
    more = tuple(about["notes"]), ratings, sources, about.get("read", {}), weights
    return Dataset(*needed, *more)


def _read_vocabulary(folder: Path, name: str, labels: dict[str, Any]) -> Vocabulary:
    """Labels that were added to a finished run replace those it was trained with."""
    document = read_json(folder / f"{name}.json") | labels.get(name, {})
    found = msgspec.convert(document, _VocabularyDocument)
    ids = range(*found.labelled) if found.labelled else None
    return Vocabulary(found.names, found.labels, found.kind, ids)
