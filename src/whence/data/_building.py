"""From columns of names to an encoded dataset."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from whence.data._dataset import Dataset
from whence.data._vocabulary import Vocabulary
from whence.errors import WhenceError
from whence.types import OBJECT, RELATION, SUBJECT, Facts

Columns: TypeAlias = Sequence[Sequence[str]]
"""Subject, relation and object names, or subject and object names: one sequence a column."""


def build_dataset(
    name: str,
    train: Columns,
    valid: Columns = (),
    test: Columns = (),
    *,
    entity_labels: Mapping[str, str] | None = None,
    relation_labels: Mapping[str, str] | None = None,
) -> Dataset:
    """A dataset whose ids count the sorted names of the training facts.

    Facts that repeat within a split are dropped, the first one stays; so are validation and test
    facts with a name that no training fact has. `Dataset.notes` counts both.

    Parameters
    ----------
    train, valid, test
        Two columns (subject, object) or three (subject, relation, object), the same number in all;
        `()` for a split that is not there.
    entity_labels, relation_labels
        Name -> label; labels of unknown names are left out. Where in two-way data a subject and an
        object share a name, entity labels are for the objects.
    """
    _check_columns(name, {"train": train, "valid": valid, "test": test})
    ids = _Ids.of(train)
    notes: list[str] = []
    encoded = [
        _drop_repeats(_encode(columns, ids, split, notes), split, notes)
        for split, columns in (("train", train), ("valid", valid), ("test", test))
    ]
    return Dataset(
        name=name,
        entities=_label_entities(ids, entity_labels or {}, notes),
        relations=_label_relations(ids, relation_labels or {}, notes),
        train=encoded[0],
        valid=encoded[1],
        test=encoded[2],
        subjects=ids.subject_range,
        objects=ids.object_range,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Ids:
    """Name -> id in each position of a fact; in three-way data one dict serves both ends."""

    subjects: dict[str, int]
    relations: dict[str, int]
    objects: dict[str, int]

    @classmethod
    def of(cls, train: Columns) -> "_Ids":
        """Ids by sorted name over the training facts."""
        if len(train) == 3:
            entities = _count({*train[SUBJECT], *train[OBJECT]})
            return cls(entities, _count(set(train[RELATION])), entities)
        users = _count(set(train[0]))
        return cls(users, {}, _count(set(train[1]), start=len(users)))

    @property
    def two_way(self) -> bool:
        return not self.relations

    @property
    def subject_range(self) -> range:
        return range(len(self.subjects))

    @property
    def object_range(self) -> range:
        start = len(self.subjects) if self.two_way else 0
        return range(start, start + len(self.objects))


def _count(names: Iterable[str], start: int = 0) -> dict[str, int]:
    # Copies side by side: each name left among a file's cells would keep their memory from going.
    copies = [
        name.encode(errors="surrogatepass").decode(errors="surrogatepass") for name in sorted(names)
    ]
    return {name: i for i, name in enumerate(copies, start)}


def _check_columns(name: str, splits: Mapping[str, Columns]) -> None:
    """Refuse splits that are ragged, or that do not go together."""
    expected = len(splits["train"])
    if expected not in (2, 3):
        raise WhenceError(
            f"dataset {name!r}: train has {expected} columns; "
            "give 2 (subject, object) or 3 (subject, relation, object)"
        )
    for split, columns in splits.items():
        if columns and len(columns) != expected:
            raise WhenceError(
                f"dataset {name!r}: {split} has {len(columns)} columns but train has {expected}; "
                "give every split the same columns"
            )
        lengths = [len(column) for column in columns]
        if len(set(lengths)) > 1:
            raise WhenceError(
                f"dataset {name!r}: the columns of {split} have {lengths} rows; make them equal"
            )
    if not splits["train"][0]:
        raise WhenceError(f"dataset {name!r} has no training facts; give at least one")


def _encode(columns: Columns, ids: _Ids, split: str, notes: list[str]) -> Facts:
    """(n, 3) int32, without the facts that have a name unknown in training."""
    n_rows = len(columns[0]) if columns else 0
    facts = np.zeros((n_rows, 3), np.int32)
    if n_rows:
        facts[:, SUBJECT] = _look_up(columns[0], ids.subjects)
        facts[:, OBJECT] = _look_up(columns[-1], ids.objects)
        if not ids.two_way:
            facts[:, RELATION] = _look_up(columns[RELATION], ids.relations)
    known = (facts >= 0).all(axis=1)
    n_unknown = n_rows - int(known.sum())
    if n_unknown:
        notes.append(
            f"{split}: {n_unknown} of {n_rows} facts dropped: they have names that are not in train"
        )
    return facts[known]


def _look_up(names: Sequence[str], ids: dict[str, int]) -> NDArray[np.int32]:
    """(n,) int32, -1 for an unknown name."""
    return np.fromiter(map(ids.get, names, repeat(-1)), np.int32, len(names))


def _drop_repeats(facts: Facts, split: str, notes: list[str]) -> Facts:
    """Each fact once, where it first stands."""
    # lexsort is stable, so the first of equal rows in sorted order is the first in the file.
    order = np.lexsort(facts.T)
    ranked = facts[order]
    keep = np.ones(len(facts), bool)
    keep[order[1:]] = (ranked[1:] != ranked[:-1]).any(axis=1)
    n_repeats = len(facts) - int(keep.sum())
    if n_repeats:
        notes.append(f"{split}: {n_repeats} duplicate fact{'s' * (n_repeats > 1)} dropped")
    return facts[keep]


def _label_entities(ids: _Ids, labels: Mapping[str, str], notes: list[str]) -> Vocabulary:
    names = tuple(ids.subjects) + (tuple(ids.objects) if ids.two_way else ())
    known = _known_labels(names, labels, "entity", notes)
    shared = ids.two_way and not ids.subjects.keys().isdisjoint(ids.objects)
    return Vocabulary(names, known, "entity", ids.object_range if shared else None)


def _label_relations(ids: _Ids, labels: Mapping[str, str], notes: list[str]) -> Vocabulary:
    if labels and ids.two_way:
        raise WhenceError(
            "relation labels given, but two-way data has no relations; leave them out"
        )
    names = tuple(ids.relations)
    return Vocabulary(names, _known_labels(names, labels, "relation", notes), "relation")


def _known_labels(
    names: Sequence[str], labels: Mapping[str, str], kind: str, notes: list[str]
) -> dict[str, str]:
    """The labels of these names; a note where there is not one, most likely a wrong file."""
    known = {name: labels[name] for name in names if name in labels}
    if labels and not known:
        notes.append(f"none of the {len(labels)} {kind} labels is for a name in train")
    return known
