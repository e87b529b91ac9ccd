"""Add facts to a dataset: earlier facts keep their ids, entities and relations their order."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.columns import FactTable, as_numpy
from whereof.data.dataset import SPLITS, Dataset, Ratings, Sources
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.types import PLACES, Facts, Numbers


@dataclass(frozen=True, eq=False)
class Extended:
    """A dataset with more training facts at the end."""

    dataset: Dataset
    n_known: int
    """Number of given facts that were left out because the dataset already had them."""
    n_held_out: int
    """Number of added facts that are also in the validation or test split."""


def extend_dataset(dataset: Dataset, table: FactTable) -> Extended:
    """The dataset with the facts of a table, and with their new entities and relations.

    Facts that are already in the training split, and repeated facts, are left out. New names get
    the next ids. In data of users and items, new users come after the last user: the ids of items
    grow by their number.
    """
    columns, wanted = table.columns, PLACES[2 if dataset.two_way else 3]
    if tuple(place for place in PLACES[3] if place in columns) != wanted:
        got, remedy = len(table.fact_columns), f"give {len(wanted)}, as in the run"
        roles = [role for role in ("subject", "object", "rating") if role in columns]
        if len(wanted) == len(roles) == 3:  # the objects of the run are ratings
            names = ",".join(table.read_as.get(role, role) for role in roles)
            remedy = f"the run has ratings as objects: name the columns with --columns {names}"
        raise WhereofError(f"the new facts have {got} columns; {remedy}")
    has_users = dataset.subjects != dataset.objects
    objects, relations = _Growing(dataset.entities, dataset.objects), _Growing(dataset.relations)
    subjects = _Growing(dataset.entities, dataset.subjects) if has_users else objects
    growing = {"subject": subjects, "relation": relations, "object": objects}
    facts = np.zeros((len(table), 3), np.int32)
    for place in wanted:
        facts[:, PLACES[3].index(place)] = growing[place].find(columns[place])
    n_users = len(subjects.names) if has_users else 0
    shift = n_users - dataset.objects.start
    train, valid, test = (_shifted(getattr(dataset, split), shift) for split in SPLITS)
    facts = _shifted(facts, shift)
    kept = _first_new(train, facts)
    added, held_out = facts[kept], np.concatenate([valid, test])
    grown = replace(
        dataset,
        entities=_joined(dataset, subjects.names if has_users else [], objects.names),
        relations=replace(dataset.relations, names=tuple(relations.names)),
        train=np.ascontiguousarray(np.concatenate([train, added])),
        valid=valid,
        test=test,
        subjects=range(n_users or len(objects.names)),
        objects=range(n_users, n_users + len(objects.names)),
        ratings=_ratings(dataset, columns.get("rating"), kept),
        sources=_sources(dataset, columns.get("source"), kept),
        weights=_weights(dataset, columns.get("weight"), kept),
        notes=table.notes,
    )
    n_held_out = int(is_in(added, held_out).sum())
    return Extended(grown, len(facts) - len(added), n_held_out)


class _Growing:
    """Names with ids, to which new names are added."""

    def __init__(self, vocabulary: Vocabulary, among: range | None = None) -> None:
        self._vocabulary = vocabulary
        self._among = range(len(vocabulary)) if among is None else among
        self.names = [*vocabulary.names[self._among.start : self._among.stop]]
        self._added = dict[str, int]()

    def find(self, column: Any) -> NDArray[np.int32]:
        """(n,) ids of the names of a column."""
        ids = []
        for name in column.dictionary.to_pylist():
            known = self._vocabulary.exact(name, self._among)
            if known is None and name not in self._added:
                self._added[name] = self._among.start + len(self.names)
                self.names.append(name)
            ids.append(self._added[name] if known is None else known)
        return np.array(ids, np.int32).take(as_numpy(column.indices, np.int32))


def _shifted(facts: Facts, n_new_users: int) -> Facts:
    """Facts whose objects come after new users."""
    return facts + np.array([0, 0, n_new_users], facts.dtype)


def _joined(dataset: Dataset, users: list[str], objects: list[str]) -> Vocabulary:
    """The entities with new names; labels that belong to users or to items still do."""
    labelled = dataset.entities.labelled
    if labelled is not None and users:
        n_users = len(users)
        is_user = labelled == dataset.subjects
        labelled = range(n_users) if is_user else range(n_users, n_users + len(objects))
    return replace(dataset.entities, names=(*users, *objects), labelled=labelled)


def _codes(facts: Facts) -> NDArray[Any]:
    """(n,) each fact as one value, which can be compared."""
    rows = np.ascontiguousarray(facts, np.int32)
    return rows.view([("", np.int32)] * 3).ravel()


def is_in(facts: Facts, others: Facts) -> NDArray[np.bool_]:
    """(n,) whether each fact is among other facts."""
    return np.isin(_codes(facts), _codes(others))


def _first_new(known: Facts, facts: Facts) -> NDArray[np.bool_]:
    """(n,) whether a fact is not known, and is not a repetition of an earlier one."""
    first = np.zeros(len(facts), bool)
    first[np.unique(_codes(facts), return_index=True)[1]] = True
    return np.asarray(first & ~is_in(facts, known))


def _ratings(dataset: Dataset, column: Any, kept: NDArray[np.bool_]) -> Ratings | None:
    if dataset.ratings is None:
        return None
    if column is None:
        raise WhereofError(
            "the facts of the run have ratings, and the new facts have none; name their column "
            "with --rating"
        )
    train = np.concatenate([dataset.ratings.train, column[kept]])
    return replace(dataset.ratings, train=train)


def _sources(dataset: Dataset, column: Any, kept: NDArray[np.bool_]) -> Sources | None:
    """The sources of all facts; empty for those that have none."""
    if dataset.sources is None and column is None:
        return None
    old = [""] * dataset.n_facts if dataset.sources is None else [*dataset.sources]
    new = [""] * len(kept) if column is None else column.to_pylist()
    texts = [*old, *(text for text, is_kept in zip(new, kept, strict=True) if is_kept)]
    names = list(dict.fromkeys(texts))
    codes = {name: code for code, name in enumerate(names)}
    return Sources(np.array([codes[text] for text in texts], np.int32), names)


def _weights(dataset: Dataset, column: Numbers | None, kept: NDArray[np.bool_]) -> Numbers | None:
    if dataset.weights is None and column is None:
        return None
    old = np.ones(dataset.n_facts) if dataset.weights is None else dataset.weights
    return np.concatenate([old, (np.ones(len(kept)) if column is None else column)[kept]])
