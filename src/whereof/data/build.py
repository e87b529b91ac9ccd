"""Build a dataset from tables of names; add labels; hold out facts from training."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from whereof.data.columns import NUMBERS, FactTable, as_numpy
from whereof.data.dataset import SPLITS, Dataset, Ratings, Sources
from whereof.data.vocabulary import Vocabulary, fold
from whereof.errors import WhereofError
from whereof.types import OBJECT, PLACES, RELATION, SUBJECT, Facts, Numbers

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_BUCKETS: Final = 1 << 20


def build_dataset(
    name: str,
    given: Mapping[str, FactTable],
    entity_labels: Mapping[str, str] | None = None,
    relation_labels: Mapping[str, str] | None = None,
) -> Dataset:
    """Build a dataset from a table per split; ids number the sorted names of the training facts.

    Within a split, repeated facts are dropped and the first one stays. Validation and test facts
    with a name that no training fact has are dropped too. `Dataset.notes` counts both. Given
    labels replace labels in the tables; labels of unknown names are ignored.
    """
    tables = {split: given.get(split, FactTable({})) for split in SPLITS}
    _check(name, tables)
    facts = {split: np.zeros((len(table), 3), np.int32) for split, table in tables.items()}
    relations: list[str] = []
    if "relation" in tables["train"].columns:
        entities = _number(facts, tables, "subject", "object")
        subjects = objects = range(len(entities))
        relations = _number(facts, tables, "relation")
    else:
        entities = _number(facts, tables, "subject")
        subjects = range(len(entities))
        entities += _number(facts, tables, "object", start=len(subjects))
        objects = range(len(subjects), len(entities))
    notes: list[str] = []
    kept = {split: _kept(facts[split], table, split, notes) for split, table in tables.items()}
    labels = {**tables["test"].labels, **tables["valid"].labels, **tables["train"].labels}
    if not relations:  # the label of a name belongs to the object, if a subject has the same name
        entity_labels = _known(labels, entities) | dict(entity_labels or {})
        labels = {}
    train, valid, test = (_filter(facts[split], kept[split]) for split in SPLITS)
    dataset = Dataset(
        name,
        Vocabulary(tuple(entities), _known(labels, entities)),
        Vocabulary(tuple(relations), _known(labels, relations), "relation"),
        *(train, valid, test, subjects, objects),
        notes=tuple(notes),
        ratings=_ratings(name, tables, kept),
        sources=_sources(tables["train"], kept["train"]),
        weights=_weights(tables["train"], kept["train"]),
        read={"read_as": dict(read_as)} if (read_as := tables["train"].read_as) else {},
    )
    return add_labels(dataset, entity_labels, relation_labels, strict=False)


def add_labels(
    dataset: Dataset,
    entity_labels: Mapping[str, str] | None,
    relation_labels: Mapping[str, str] | None,
    *,
    strict: bool = True,
) -> Dataset:
    """The dataset with more labels, which replace earlier ones; facts, ids and hash stay the same.

    Labels that fit no name are an error, or a note unless `strict`. In two-way data, if a subject
    and an object share a name, its label belongs to the object; if there are such names, so do the
    labels of numbers. If ratings are objects, items are relations: `entity_labels` then labels
    users and items.
    """
    if not (entity_labels or relation_labels):
        return dataset
    entities, relations = dataset.entities, dataset.relations
    if relation_labels and dataset.two_way:
        raise WhereofError("relation labels, but two-way data has no relations; leave them out")
    entity_labels = _by_name(entity_labels or {}, [*entities.names, *relations.names])
    relation_labels = _by_name(relation_labels or {}, relations.names)
    # Items are the objects, or the relations if ratings are objects.
    items: set[str] = set()
    if dataset.subjects != dataset.objects:
        items = {*(relations.names or entities.names[dataset.objects.start :])}
    shared = not items.isdisjoint(entities.names[: len(dataset.subjects)])
    fits = {
        name: label
        for name, label in entity_labels.items()
        if not shared or name in items or not name.isdecimal()
    }
    if items and not dataset.two_way:
        relation_labels = _known(fits, items) | dict(relation_labels)
        fits = _known(fits, fits.keys() - items)
    known, titled = _known(fits, entities.names), _known(relation_labels, relations.names)
    found = {"entity": (entity_labels, known or titled), "relation": (relation_labels, titled)}
    unused = tuple(
        f"none of the {len(given)} {kind} labels is for a name in train"
        for kind, (given, fitting) in found.items()
        if given and not fitting
    )
    if strict and unused:
        raise WhereofError(f"{unused[0]}; check the column of names")
    labelled = entities.labelled
    if items and dataset.two_way:
        labelled = dataset.objects if shared else None
    elif items and known:
        labelled = dataset.subjects
    return replace(
        dataset,
        entities=replace(entities, labels={**entities.labels, **known}, labelled=labelled),
        relations=replace(relations, labels={**relations.labels, **titled}),
        notes=dataset.notes + unused,
    )


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
    free = first[~_first_of_their_names(dataset.train[first])]
    less = "facts is less than one fact: none is held out; choose a larger fraction"
    notes = dataset.notes
    for split, fraction, n in (("valid", valid, n_valid), ("test", test, n_test)):
        notes += (f"{split}: {fraction:g} of {n_facts} {less}",) if fraction and not n else ()
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
    train, valid_facts, test_facts = (dataset.train.take(these, axis=0) for these in rows)
    ratings, sources, weights = dataset.ratings, dataset.sources, dataset.weights
    return replace(
        dataset,
        train=train,
        valid=valid_facts,
        test=test_facts,
        notes=notes,
        ratings=Ratings(*(ratings.train[these] for these in rows)) if ratings is not None else None,
        sources=Sources(sources.codes[kept], sources.names) if sources is not None else None,
        weights=weights[kept] if weights is not None else None,
    )


def split_by_time(table: FactTable, valid: float, test: float) -> dict[str, FactTable]:
    """The table as three: the latest facts are for test, those before them for validation.

    A repeated fact stays once, at its first row. Facts of equal time keep the order of the file,
    and so do those within a split.
    """
    codes = [as_numpy(column.indices, np.int32) for column in table.fact_columns]
    facts = np.zeros((len(table), 3), np.int32)
    facts[:, : len(codes)] = np.column_stack(codes)
    repeats = _repeats(facts)
    rows = np.delete(np.arange(len(table)), repeats)
    rows = rows[np.argsort(table.columns["time"][rows], kind="stable")]
    n_test = round(test * len(rows))
    last = len(rows) - n_test
    first = last - round(valid * len(rows))
    parts = {"train": rows[:first], "valid": rows[first:last], "test": rows[last:]}
    tables = {split: table.take(np.sort(part)) for split, part in parts.items() if len(part)}
    if n := len(repeats):
        note = f"{n} duplicate fact{'s' * (n > 1)} dropped, the first in the file stays"
        tables["train"] = replace(tables["train"], notes=(*tables["train"].notes, note))
    return tables


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


def _first_of_their_names(facts: Facts) -> NDArray[np.bool_]:
    """(n_facts,) whether the fact is the first one with its subject, relation or object."""
    first = np.zeros(len(facts) + 1, bool)
    for columns in ([SUBJECT, OBJECT], [RELATION]):
        ids = facts[:, columns].ravel()
        rows = np.full(ids.max() + 1, len(facts))
        # If several values are assigned to one position, the last one stays.
        rows[ids[::-1]] = np.arange(len(ids))[::-1] // len(columns)
        first[rows] = True
    return first[:-1]


def _check(name: str, tables: Mapping[str, FactTable]) -> None:
    if not len(tables["train"]):
        raise WhereofError(f"dataset {name!r} has no training facts; give at least one")
    expected, *others = (len(table.fact_columns) for table in tables.values())
    for split, found in zip(SPLITS[1:], others, strict=True):
        if found not in (0, expected):
            raise WhereofError(
                f"dataset {name!r}: {split} has {found} columns but train has {expected}; "
                "give every split the same columns"
            )


def _number(
    facts: Mapping[str, Facts], tables: Mapping[str, FactTable], *places: str, start: int = 0
) -> list[str]:
    """Number the names at some places of the training facts; return them, sorted.

    Writes the ids into the facts of all splits, -1 for a name that no training fact has.
    """
    cells = [(split, place) for split in SPLITS if tables[split].columns for place in places]
    columns = pa.chunked_array([tables[split].columns[place] for split, place in cells])
    # Codes count names in the order in which they first appear: those of training come first.
    columns = columns.unify_dictionaries(memory_pool=pa.system_memory_pool()).chunks
    codes = [as_numpy(column.indices, np.int32) for column in columns]
    every = columns[0].dictionary
    names = every[: 1 + max(int(each.max()) for each in codes[: len(places)])]
    order = pc.sort_indices(names)  # UTF-8 bytes sort as Python sorts text
    ids = np.full(len(every), -1, np.int32)
    ids[as_numpy(order, np.uint64)] = np.arange(start, start + len(names))
    for (split, place), each in zip(cells, codes, strict=True):
        facts[split][:, PLACES[3].index(place)] = ids.take(each)
    sorted_names: list[str] = names.take(order).to_pylist()
    return sorted_names


def _kept(facts: Facts, table: FactTable, split: str, notes: list[str]) -> NDArray[np.bool_]:
    """(n_facts,) whether a fact stays: all of its names are known, and it is the first such."""
    notes += [f"{split}: {note}" for note in table.notes]
    kept = np.ones(len(facts), bool)
    if facts.min(initial=0) < 0:
        kept = facts.min(axis=1) >= 0
        notes.append(
            f"{split}: {np.count_nonzero(~kept)} of {len(facts)} facts dropped: "
            "they have names that are not in train"
        )
    repeats = _repeats(_filter(facts, kept))
    if n_repeats := len(repeats):
        stay = " and ".join(role for role in NUMBERS if role in table.columns)
        stays = f", the first {stay} stays" if stay else ""
        notes.append(f"{split}: {n_repeats} duplicate fact{'s' * (n_repeats > 1)} dropped{stays}")
        kept[np.flatnonzero(kept)[repeats]] = False
    return kept


def _filter(facts: Facts, kept: NDArray[np.bool_]) -> Facts:
    return facts if kept.all() else np.compress(kept, facts, axis=0)


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
    return np.delete(suspects, np.unique(keys[suspects], return_index=True)[1])


def _ratings(
    name: str, tables: Mapping[str, FactTable], kept: Mapping[str, NDArray[np.bool_]]
) -> Ratings | None:
    """The ratings of all splits; either all splits have ratings or none."""
    rated = {"rating" in tables[split].columns for split in SPLITS if kept[split].any()}
    if rated == {True, False}:
        raise WhereofError(
            f"dataset {name!r}: some splits have ratings and some have none; "
            "add ratings to every split, or to none"
        )
    if rated == {False}:
        return None
    empty = np.zeros(0, np.float32)
    return Ratings(*(tables[s].columns.get("rating", empty)[kept[s]] for s in SPLITS))


def _sources(table: FactTable, kept: NDArray[np.bool_]) -> Sources | None:
    if (column := table.columns.get("source")) is None:
        return None
    return Sources(as_numpy(column.indices, np.int32)[kept], column.dictionary.to_pylist())


def _weights(table: FactTable, kept: NDArray[np.bool_]) -> Numbers | None:
    weights: Numbers | None = table.columns.get("weight")
    return None if weights is None else weights[kept]


def _by_name(labels: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Labels by the names in the data, where 5 and 5.0 are the same."""
    numbers = {number: name for name in names if (number := fold(name)).isdecimal()}
    renamed = {numbers.get(fold(name), name): label for name, label in labels.items()}
    return renamed | _known(labels, names)


def _known(labels: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    return {name: labels[name] for name in names if name in labels}
