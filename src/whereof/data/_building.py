"""From tables of names to an encoded dataset."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from whereof.data._columns import Column, FactTable
from whereof.data._dataset import Dataset, Ratings
from whereof.data._vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.types import OBJECT, RELATION, SUBJECT, Facts

Columns: TypeAlias = FactTable | Sequence[Sequence[str]]
"""A table, or names alone: one sequence for subjects, relations and objects, or two."""


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
        Name -> label, before those in the tables; labels of unknown names are left out. In two-way
        data the label of a name that a subject and an object share is the object's; where there are
        such names, so are labels of numbers.
    """
    tables = {"train": _table(train), "valid": _table(valid), "test": _table(test)}
    _check_columns(name, tables)
    ids = _Ids.of(tables["train"].columns)
    notes: list[str] = []
    splits = [_encode(table, ids, split, notes) for split, table in tables.items()]
    labels: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for table in reversed(tables.values()):
        labels[0].update(table.entity_labels)
        labels[1].update(table.relation_labels)
    return Dataset(
        name=name,
        entities=_label_entities(ids, labels[0] | dict(entity_labels or {}), notes),
        relations=_label_relations(ids, labels[1] | dict(relation_labels or {}), notes),
        train=splits[0].facts,
        valid=splits[1].facts,
        test=splits[2].facts,
        subjects=ids.subject_range,
        objects=ids.object_range,
        notes=tuple(notes),
        ratings=_ratings(name, splits),
        sources=splits[0].sources,
        read={"read_as": dict(read_as)} if (read_as := tables["train"].read_as) else {},
    )


def _table(columns: Columns) -> FactTable:
    if isinstance(columns, FactTable):
        return columns
    return FactTable(tuple(map(Column.of, columns)))


@dataclass(frozen=True)
class _Ids:
    """Name -> id in each position of a fact; in three-way data one dict serves both ends."""

    subjects: dict[str, int]
    relations: dict[str, int]
    objects: dict[str, int]

    @classmethod
    def of(cls, train: tuple[Column, ...]) -> "_Ids":
        """Ids by sorted name over the training facts."""
        if len(train) == 3:
            subjects, objects = train[SUBJECT].names, train[OBJECT].names
            entities = _count(subjects if objects is subjects else {*subjects, *objects})
            return cls(entities, _count(train[RELATION].names), entities)
        users = _count(train[0].names)
        return cls(users, {}, _count(train[1].names, start=len(users)))

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


def _check_columns(name: str, tables: Mapping[str, FactTable]) -> None:
    """Refuse splits that are ragged, or that do not go together."""
    expected = len(tables["train"].columns)
    if expected not in (2, 3):
        raise WhereofError(
            f"dataset {name!r}: train has {expected} columns; "
            "give 2 (subject, object) or 3 (subject, relation, object)"
        )
    for split, table in tables.items():
        if table.columns and len(table.columns) != expected:
            raise WhereofError(
                f"dataset {name!r}: {split} has {len(table.columns)} columns but train has "
                f"{expected}; give every split the same columns"
            )
        lengths = [len(column) for column in table.columns]
        if len(set(lengths)) > 1:
            raise WhereofError(
                f"dataset {name!r}: the columns of {split} have {lengths} rows; make them equal"
            )
    if not len(tables["train"]):
        raise WhereofError(f"dataset {name!r} has no training facts; give at least one")


@dataclass(frozen=True)
class _Split:
    """The facts of a split that stay, and what stands beside them."""

    facts: Facts
    ratings: NDArray[np.float32] | None
    sources: Column | None


def _encode(table: FactTable, ids: _Ids, split: str, notes: list[str]) -> _Split:
    """The facts by id, each once, without those that have a name unknown in training."""
    notes += [f"{split}: {note}" for note in table.notes]
    facts = np.zeros((len(table), 3), np.int32)
    if table.columns:
        subject, target = table.columns[0], table.columns[-1]
        subjects = _look_up(subject.names, ids.subjects)
        shared = target.names is subject.names and not ids.two_way
        objects = subjects if shared else _look_up(target.names, ids.objects)
        facts[:, SUBJECT], facts[:, OBJECT] = subjects[subject.codes], objects[target.codes]
    if table.columns and not ids.two_way:
        relation = table.columns[RELATION]
        facts[:, RELATION] = _look_up(relation.names, ids.relations)[relation.codes]
    rows = np.flatnonzero((facts >= 0).all(axis=1))
    if n_unknown := len(facts) - len(rows):
        notes.append(
            f"{split}: {n_unknown} of {len(facts)} facts dropped: "
            "they have names that are not in train"
        )
        facts = facts[rows]
    first = _first_of_equals(facts)
    if n_repeats := len(facts) - len(first):
        stays = ", the first rating stays" if table.ratings is not None else ""
        notes.append(f"{split}: {n_repeats} duplicate fact{'s' * (n_repeats > 1)} dropped{stays}")
        facts, rows = facts[first], rows[first]
    return _Split(
        facts=facts,
        ratings=table.ratings[rows] if table.ratings is not None else None,
        sources=table.sources.take(rows) if table.sources is not None else None,
    )


def _look_up(names: Sequence[str], ids: dict[str, int]) -> NDArray[np.int32]:
    """(n_names,) int32, -1 for an unknown one."""
    return np.fromiter(map(ids.get, names, repeat(-1)), np.int32, len(names))


def _first_of_equals(facts: Facts) -> NDArray[np.int64]:
    """The rows of distinct facts, where each first stands."""
    sizes = [int(ids.max(initial=0)) + 1 for ids in facts.T]
    # A stable sort: the first of equal rows in sorted order is the first in the file.
    if sizes[0] * sizes[1] * sizes[2] < 2**63:
        keys = np.ravel_multi_index(tuple(facts.T), tuple(sizes))
        order = np.argsort(keys, kind="stable")
        fresh = np.diff(keys[order], prepend=-1) != 0
    else:
        order = np.lexsort(facts.T)
        ranked = facts[order]
        fresh = np.ones(len(facts), bool)
        fresh[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    return np.sort(order[fresh])


def _ratings(name: str, splits: Sequence[_Split]) -> Ratings | None:
    """The ratings of all splits; all of them have some, or none has."""
    rated = [split.ratings for split in splits if len(split.facts)]
    if all(ratings is None for ratings in rated):
        return None
    if any(ratings is None for ratings in rated):
        raise WhereofError(f"dataset {name!r}: some splits have ratings and some have none")
    empty = np.zeros(0, np.float32)
    return Ratings(*(empty if split.ratings is None else split.ratings for split in splits))


def _label_entities(ids: _Ids, labels: Mapping[str, str], notes: list[str]) -> Vocabulary:
    names = tuple(ids.subjects) + (tuple(ids.objects) if ids.two_way else ())
    known = _known_labels(names, labels, "entity", notes)
    shared = ids.two_way and not ids.subjects.keys().isdisjoint(ids.objects)
    if shared:
        # Numbers count users and items apart: the label of one that only a user has is an item's.
        known = {n: text for n, text in known.items() if n in ids.objects or not n.isdecimal()}
    return Vocabulary(names, known, "entity", ids.object_range if shared else None)


def _label_relations(ids: _Ids, labels: Mapping[str, str], notes: list[str]) -> Vocabulary:
    if labels and ids.two_way:
        raise WhereofError(
            "relation labels given, but two-way data has no relations; leave them out"
        )
    names = tuple(ids.relations)
    return Vocabulary(names, _known_labels(names, labels, "relation", notes), "relation")


def _known_labels(
    names: Sequence[str], labels: Mapping[str, str], kind: str, notes: list[str]
) -> dict[str, str]:
    """The labels of these names; a note where there is not one, most likely a wrong file."""
    given: Iterable[tuple[Any, Any]] = labels.items()
    for name, label in given:
        if not (isinstance(name, str) and isinstance(label, str)):
            raise WhereofError(f"{kind} label {label!r} for {name!r}; give both as text")
    known = {name: labels[name] for name in names if name in labels}
    if labels and not known:
        notes.append(f"none of the {len(labels)} {kind} labels is for a name in train")
    return known
