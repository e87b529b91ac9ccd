"""Build a dataset from tables of names; add labels; hold out facts from training."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from whereof.data.columns import FactTable, as_numpy, encode, to_sources
from whereof.data.dataset import Dataset, Ratings, Sources
from whereof.data.labels import Labels, as_labels
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.types import OBJECT, RELATION, SUBJECT, Facts

Columns: TypeAlias = FactTable | Sequence[Sequence[str]]
"""A table, or its columns of names: subjects, relations and objects, or subjects and objects."""

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_BUCKETS: Final = 1 << 20


def build_dataset(
    name: str,
    train: Columns,
    valid: Columns = (),
    test: Columns = (),
    *,
    entity_labels: Labels | None = None,
    relation_labels: Labels | None = None,
) -> Dataset:
    """Build a dataset; ids number the sorted names of the training facts.

    Within a split, repeated facts are dropped and the first one stays. Validation and test facts
    with a name that no training fact has are dropped too. `Dataset.notes` counts both.

    Parameters
    ----------
    train, valid, test
        Two columns (subject, object) or three (subject, relation, object), the same number in all;
        `()` for a split that does not exist.
    entity_labels, relation_labels
        Name -> label; they replace labels in the tables. Labels of unknown names are ignored. In
        two-way data, if a subject and an object share a name, the label belongs to the object; if
        there are such names, so do the labels of numbers.
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
    vocabularies = _label(
        *ids.vocabularies(),
        ids.subject_range,
        ids.object_range,
        labels[0] | as_labels(entity_labels, "entity"),
        labels[1] | as_labels(relation_labels, "relation"),
        notes,
    )
    return Dataset(
        name=name,
        entities=vocabularies[0],
        relations=vocabularies[1],
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


def add_labels(
    dataset: Dataset, entities: Labels | None = None, relations: Labels | None = None
) -> Dataset:
    """The dataset with more labels, which replace earlier ones; facts, ids and hash stay the same.

    If ratings are objects, items are relations: `entities` then labels users and items.
    """
    notes: list[str] = []
    vocabularies = _label(
        dataset.entities,
        dataset.relations,
        dataset.subjects,
        dataset.objects,
        as_labels(entities, "entity"),
        as_labels(relations, "relation"),
        notes,
    )
    if notes:
        raise WhereofError(f"{notes[0]}; check the column of names")
    return replace(dataset, entities=vocabularies[0], relations=vocabularies[1])


def hold_out(dataset: Dataset, valid: float, test: float, seed: int) -> Dataset:
    """Move fractions of the training facts to the validation and test splits.

    Facts are taken in an order drawn by the seed. The first fact of every entity and of every
    relation stays; the next ones are held out. Within a split facts keep the order of the file.
    """
    n_facts = dataset.n_facts
    n_valid, n_test = round(valid * n_facts), round(test * n_facts)
    # Every name keeps one fact, so the facts to hold out are among this many.
    n_first = min(n_facts, n_valid + n_test + dataset.n_entities + dataset.inverse_offset)
    first = _first_draws(n_facts, n_first, seed)
    free = first[~_first_of_their_names(dataset.train[first], dataset.n_entities)]
    notes = dataset.notes + tuple(
        f"{split}: {fraction:g} of {n_facts} facts is less than one: none is held out"
        for split, fraction, n in (("valid", valid, n_valid), ("test", test, n_test))
        if fraction and not n
    )
    if len(free) < n_valid + n_test:
        notes += (
            f"{len(free)} fact{'s' * (len(free) != 1)} held out, not {n_valid + n_test}: "
            "the others are needed to keep every entity and relation in train",
        )
        n_valid = round(len(free) * n_valid / (n_valid + n_test))
        n_test = len(free) - n_valid
    held = free[: n_valid + n_test]
    kept = np.ones(n_facts, bool)
    kept[held] = False
    rows = (np.flatnonzero(kept), np.sort(held[:n_valid]), np.sort(held[n_valid:]))
    train, valid_facts, test_facts = (dataset.train[these] for these in rows)
    ratings, sources = dataset.ratings, dataset.sources
    return replace(
        dataset,
        train=train,
        valid=valid_facts,
        test=test_facts,
        notes=notes,
        ratings=Ratings(*(ratings.train[these] for these in rows)) if ratings is not None else None,
        sources=sources.take(rows[0]) if sources is not None else None,
    )


def _draws(n_draws: int, seed: int) -> NDArray[np.uint64]:
    """(n_draws,) distinct numbers of SplitMix64 with this seed, the same on every machine."""
    state = np.uint64(seed % 2**64) + np.arange(1, n_draws + 1, dtype=np.uint64) * _STEP
    state = (state ^ state >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ state >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return state ^ state >> np.uint64(31)


def _first_draws(n_facts: int, n_first: int, seed: int) -> NDArray[np.int64]:
    """(n_first,) the facts that are drawn first, in their order."""
    draws = _draws(n_facts, seed)
    rows = np.arange(n_facts)
    if n_first < n_facts:
        rows = np.flatnonzero(draws < np.partition(draws, n_first)[n_first])
    return rows[np.argsort(draws[rows])]


def _first_of_their_names(facts: Facts, n_entities: int) -> NDArray[np.bool_]:
    """(n_facts,) whether the fact is the first one with its subject, relation or object."""
    first_subject = _first_rows(facts[:, SUBJECT], n_entities)
    first_object = _first_rows(facts[:, OBJECT], n_entities)
    first = np.zeros(len(facts) + 1, bool)
    first[np.minimum(first_subject, first_object)] = True
    first[_first_rows(facts[:, RELATION], int(facts[:, RELATION].max()) + 1)] = True
    return first[:-1]


def _first_rows(ids: NDArray[np.int32], n_ids: int) -> NDArray[np.int64]:
    """(n_ids,) the first row of each id; the number of rows for an id that has none."""
    rows = np.full(n_ids, len(ids))
    # If several values are assigned to one position, the last one stays.
    rows[ids[::-1]] = np.arange(len(ids))[::-1]
    return rows


def _table(columns: Columns) -> FactTable:
    if isinstance(columns, FactTable):
        return columns
    return FactTable(tuple(encode(list(column)) for column in columns))


@dataclass(frozen=True)
class _Ids:
    """The sorted names of each position of a fact; in three-way data both ends share theirs."""

    subjects: Any
    relations: Any
    objects: Any

    @classmethod
    def of(cls, train: tuple[Any, ...]) -> "_Ids":
        """The names in the columns of the training facts."""
        subject, *relation, object_ = train
        if relation:
            entities = _sorted_names(subject, object_)
            return cls(entities, _sorted_names(*relation), entities)
        return cls(_sorted_names(subject), pa.nulls(0, pa.string()), _sorted_names(object_))

    @property
    def two_way(self) -> bool:
        return not len(self.relations)

    @property
    def subject_range(self) -> range:
        return range(len(self.subjects))

    @property
    def object_range(self) -> range:
        start = len(self.subjects) if self.two_way else 0
        return range(start, start + len(self.objects))

    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """Entities and relations, without labels."""
        entities = self.subjects.to_pylist() + (self.objects.to_pylist() if self.two_way else [])
        relations = tuple(self.relations.to_pylist())
        return Vocabulary(tuple(entities)), Vocabulary(relations, kind="relation")


def _sorted_names(*columns: Any) -> Any:
    """The distinct names of the columns. UTF-8 bytes sort as Python sorts text."""
    names = pc.unique(pa.chunked_array([column.dictionary for column in columns]))
    return names.take(pc.sort_indices(names))


def _check_columns(name: str, tables: Mapping[str, FactTable]) -> None:
    """Raise an error if columns have different lengths or splits have different columns."""
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
    """The facts of a split that stay, with their ratings and sources."""

    facts: Facts
    ratings: NDArray[np.float32] | None
    sources: Sources | None


def _encode(table: FactTable, ids: _Ids, split: str, notes: list[str]) -> _Split:
    """Encode facts as ids, each once, without facts whose names are not in training."""
    notes += [f"{split}: {note}" for note in table.notes]
    facts = np.zeros((len(table), 3), np.int32)
    if table.columns:
        places = (SUBJECT, OBJECT) if ids.two_way else (SUBJECT, RELATION, OBJECT)
        names = {SUBJECT: ids.subjects, RELATION: ids.relations, OBJECT: ids.objects}

        def fill(place: int, column: Any) -> None:
            start = ids.object_range.start if place == OBJECT else 0
            facts[:, place] = _look_up(column, names[place], start)

        with ThreadPoolExecutor() as pool:
            list(pool.map(fill, places, table.columns))
    rows = np.flatnonzero((facts >= 0).all(axis=1)) if split != "train" else np.arange(len(facts))
    if n_unknown := len(facts) - len(rows):
        notes.append(
            f"{split}: {n_unknown} of {len(facts)} facts dropped: "
            "they have names that are not in train"
        )
        facts = facts[rows]
    repeats = _repeats(facts)
    if n_repeats := len(repeats):
        stays = ", the first rating stays" if table.ratings is not None else ""
        notes.append(f"{split}: {n_repeats} duplicate fact{'s' * (n_repeats > 1)} dropped{stays}")
        facts, rows = np.delete(facts, repeats, axis=0), np.delete(rows, repeats)
    return _Split(
        facts=facts,
        ratings=table.ratings[rows] if table.ratings is not None else None,
        sources=to_sources(table.sources, rows) if table.sources is not None else None,
    )


def _look_up(column: Any, names: Any, start: int) -> NDArray[np.int32]:
    """(n_rows,) the id of each name, counted from `start`; -1 for an unknown one."""
    found = pc.index_in(column.dictionary, value_set=names)
    ids = as_numpy(found, np.int32) + np.int32(start)
    if found.null_count:
        ids[as_numpy(found.is_null().cast("uint8"), np.bool_)] = -1
    return np.asarray(ids[as_numpy(column.indices, np.int32)])


def _repeats(facts: Facts) -> NDArray[np.int64]:
    """The rows of facts that repeat an earlier fact."""
    sizes = [int(ids.max(initial=0)) + 1 for ids in facts.T]
    if sizes[0] * sizes[1] * sizes[2] < 2**63:
        keys = np.ravel_multi_index(tuple(facts.T), tuple(sizes))
    else:
        keys = np.unique(facts, axis=0, return_inverse=True)[1].reshape(-1)
    ranked = np.sort(keys)
    # Only facts in a bucket with a repeated key need the slower, stable sort.
    suspicious = np.zeros(_BUCKETS, bool)
    suspicious[ranked[1:][ranked[1:] == ranked[:-1]] % _BUCKETS] = True
    suspects = np.flatnonzero(suspicious[keys % _BUCKETS])
    order = suspects[np.argsort(keys[suspects], kind="stable")]
    return np.sort(order[1:][keys[order[1:]] == keys[order[:-1]]])


def _ratings(name: str, splits: Sequence[_Split]) -> Ratings | None:
    """The ratings of all splits; either all splits have ratings or none."""
    rated = [split.ratings for split in splits if len(split.facts)]
    if all(ratings is None for ratings in rated):
        return None
    if any(ratings is None for ratings in rated):
        raise WhereofError(f"dataset {name!r}: some splits have ratings and some have none")
    empty = np.zeros(0, np.float32)
    return Ratings(*(empty if split.ratings is None else split.ratings for split in splits))


def _label(
    entities: Vocabulary,
    relations: Vocabulary,
    subjects: range,
    objects: range,
    entity_labels: Mapping[str, str],
    relation_labels: Mapping[str, str],
    notes: list[str],
) -> tuple[Vocabulary, Vocabulary]:
    """Entities and relations with these labels added."""
    if relation_labels and not len(relations):
        raise WhereofError(
            "relation labels given, but two-way data has no relations; leave them out"
        )
    # If users and items share numbers, labels of numbers belong to the items: the objects, or the
    # relations if ratings are objects.
    items: set[str] = set()
    if subjects != objects:
        items = {*(relations.names or entities.names[objects.start : objects.stop])}
    users = entities.names[subjects.start : subjects.stop]
    shared = not items.isdisjoint(users)
    fits = {
        name: label
        for name, label in entity_labels.items()
        if not shared or name in items or not name.isdecimal()
    }
    if items and len(relations):
        relation_labels = {n: fits[n] for n in fits if n in items} | dict(relation_labels)
        fits = {n: fits[n] for n in fits if n not in items}
    known = {n: fits[n] for n in entities.names if n in fits}
    titled = {n: relation_labels[n] for n in relations.names if n in relation_labels}
    for kind, given, found in (
        ("entity", entity_labels, known or titled),
        ("relation", relation_labels, titled),
    ):
        if given and not found:
            notes.append(f"none of the {len(given)} {kind} labels is for a name in train")
    labelled = entities.labelled
    if items and not len(relations):
        labelled = objects if shared else None
    elif items and known:
        labelled = subjects
    return (
        replace(entities, labels={**entities.labels, **known}, labelled=labelled),
        replace(relations, labels={**relations.labels, **titled}),
    )
