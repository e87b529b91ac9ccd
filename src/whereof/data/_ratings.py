"""Ratings as the objects of facts: (user, item, rating), the form of the paper."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whereof.data._dataset import Dataset
from whereof.data._vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.types import OBJECT, Facts


def ratings_as_objects(dataset: Dataset) -> Dataset:
    """Three-way facts whose subject is the user, relation the item and object the rating.

    Entities are the users, then the ratings of the training facts in their order as numbers.
    Validation and test facts with another rating are dropped, and counted in the notes.
    """
    if dataset.ratings is None:
        raise WhereofError(
            f"dataset {dataset.name!r} has no ratings to make objects of; "
            "name their column with rating, or leave out ratings_as_objects"
        )
    n_users = len(dataset.subjects)
    scale = np.unique(dataset.ratings.train)
    notes = list(dataset.notes)
    splits = {}
    for split in ("train", "valid", "test"):
        facts, ratings = getattr(dataset, split), getattr(dataset.ratings, split)
        known = np.isin(ratings, scale)
        splits[split] = _facts(facts[known], n_users, np.searchsorted(scale, ratings[known]))
        if not known.all():
            notes.append(
                f"{split}: {np.count_nonzero(~known)} of {len(facts)} facts dropped: "
                "they have ratings that are not in train"
            )
    return replace(
        dataset,
        train=splits["train"],
        valid=splits["valid"],
        test=splits["test"],
        entities=_users_and_ratings(dataset, scale),
        relations=_part(dataset.entities, dataset.objects, "relation"),
        objects=range(n_users, n_users + len(scale)),
        notes=tuple(notes),
        ratings=None,
    )


def _facts(facts: Facts, n_users: int, ranks: NDArray[np.int64]) -> Facts:
    users, items = facts[:, 0], facts[:, OBJECT] - n_users
    return np.column_stack((users, items, n_users + ranks)).astype(np.int32)


def _users_and_ratings(dataset: Dataset, scale: NDArray[np.float32]) -> Vocabulary:
    users = _part(dataset.entities, dataset.subjects, "entity")
    labelled = dataset.subjects if users.labels else None
    return Vocabulary((*users.names, *map(_text, scale)), users.labels, "entity", labelled)


def _part(entities: Vocabulary, ids: range, kind: str) -> Vocabulary:
    """The vocabulary of some of the entities alone."""
    names = entities.names[ids.start : ids.stop]
    labels = {entities.name(i): entities.label(i) for i in ids} if entities.labels else {}
    return Vocabulary(names, {n: label for n, label in labels.items() if n != label}, kind)


def _text(rating: np.float32) -> str:
    """The shortest text that reads back as this number; whole numbers without a point."""
    return np.format_float_positional(rating, trim="-")
