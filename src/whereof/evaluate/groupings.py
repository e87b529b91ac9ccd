"""Training facts by relation, entity, source and group of entities."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import Dataset
from whereof.data.read import find_label_line
from whereof.errors import WhereofError
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Numbers
from whereof.units import count

_NEEDS = {
    "relation": "relations, which two-way data does not have",
    "source": "a column of sources: train with --source COLUMN",
    "group": "groups of entities: name a file with --groups",
}


@dataclass(frozen=True, eq=False)
class Grouping:
    """Facts by group; a fact may belong to several."""

    kind: str
    names: Sequence[str]
    labels: Sequence[str]
    owners: NDArray[np.int64]
    """(n,) the group of each fact in `fact_ids`."""
    fact_ids: FactIds

    @cached_property
    def filled(self) -> NDArray[np.int64]:
        """The groups that have facts."""
        return np.unique(self.owners)

    def facts_of(self, group: int) -> FactIds:
        return np.unique(self.fact_ids[self.owners == group])

    def sums(self, values: Numbers) -> Numbers:
        """(n_groups,) the values of the facts of each group, added up; values: (n_facts,)."""
        found = np.bincount(self.owners, values[self.fact_ids], minlength=len(self.names))
        return np.asarray(found, np.float64)


def known_groups(
    data: Dataset, groups: Mapping[str, str], given: Any
) -> tuple[dict[int, str], list[str]]:
    """The groups of the entities that the data has, by id, and the names that it does not have.

    groups: by name; given: the file that they come from, for messages. Refuses groups if the data
    does not have most of the names.
    """
    found, unknown = dict[int, str](), list[str]()
    for name, group in groups.items():
        if not data.has_entity(name):
            unknown.append(name)
            continue
        try:
            found[data.find_entity(name)] = group
        except WhereofError as error:  # it matches several
            raise WhereofError(f"{_located(given, name)}{error}") from None
    if 2 * len(unknown) > len(groups):
        name, path = unknown[0], find_label_line(given, unknown[0]).rpartition(":")[0]
        remedy = "give names or labels of entities"
        if name == next(iter(groups)) and path in ("", str(given)):  # the columns are not named
            remedy = f"if this is a header, write --groups {path or 'FILE'}:{name},{groups[name]}"
        raise WhereofError(
            f"{_located(given, name)}{name!r} is not an entity of this run ({len(unknown):,} of "
            f"{count(len(groups), 'name')} are not); {remedy}"
        )
    return found, unknown


def _located(given: Any, name: str) -> str:
    """The start of a message about a name of a file: `PATH:LINE: `; empty if there is no file."""
    where = find_label_line(given, name)
    return f"{where}: " if where else ""


def find_groupings(
    data: Dataset, asked: Sequence[str] | None, entity_groups: Mapping[int, str]
) -> Iterator[Grouping]:
    """The ways to group facts that are asked for, or with None all that the data has.

    entity_groups: the group of entities, by id.
    """
    makers: dict[str, Callable[[], Grouping]] = {"entity": lambda: _by_entity(data)}
    if not data.two_way:
        makers = {"relation": lambda: _by_relation(data), **makers}
    if data.sources is not None:
        makers["source"] = lambda: _by_source(data)
    if entity_groups:
        makers["group"] = lambda: _by_group(data, entity_groups)
    for kind in makers if asked is None else asked:
        if kind not in makers:
            raise WhereofError(f"by {kind} requires {_NEEDS[kind]}")
        yield makers[kind]()


def _by_relation(data: Dataset) -> Grouping:
    names, owners = data.relations, data.train[:, RELATION].astype(np.int64)
    labels = [names.label(i) for i in range(len(names))]
    return Grouping("relation", names.names, labels, owners, np.arange(data.n_facts))


def _by_entity(data: Dataset) -> Grouping:
    names, facts = data.entities, data.train
    labels = [names.label(i) for i in range(len(names))]
    no_loop = np.flatnonzero(facts[:, SUBJECT] != facts[:, OBJECT])
    owners = np.concatenate([facts[:, SUBJECT], facts[no_loop, OBJECT]]).astype(np.int64)
    fact_ids = np.concatenate([np.arange(len(facts)), no_loop])
    return Grouping("entity", names.names, labels, owners, fact_ids)


def _by_source(data: Dataset) -> Grouping:
    assert data.sources is not None
    names, owners = data.sources.names, data.sources.codes.astype(np.int64)
    return Grouping("source", names, names, owners, np.arange(data.n_facts))


def _by_group(data: Dataset, entity_groups: Mapping[int, str]) -> Grouping:
    """A fact belongs to the groups of its subject and of its object."""
    names, codes = sorted({*entity_groups.values()}), np.full(data.n_entities, -1)
    places = {name: place for place, name in enumerate(names)}
    codes[[*entity_groups]] = [places[group] for group in entity_groups.values()]
    subjects, objects = codes[data.train[:, SUBJECT]], codes[data.train[:, OBJECT]]
    owners = np.concatenate([subjects, np.where(subjects == objects, -1, objects)])
    kept, fact_ids = owners >= 0, np.tile(np.arange(data.n_facts), 2)
    return Grouping("group", names, names, owners[kept], fact_ids[kept])
