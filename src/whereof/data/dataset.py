"""The dataset: vocabularies and the encoded facts of three splits."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from struct import Struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.table import Tabular
from whereof.types import OBJECT, PLACES, RELATION, SUBJECT, FactIds, Facts, Numbers

SPLITS: Final = ("train", "valid", "test")


@dataclass(frozen=True, eq=False, repr=False)
class Sources:
    """The source of every training fact, by code."""

    codes: NDArray[np.int32]
    """(n_facts,)"""
    names: Sequence[str]
    """The texts by code."""

    def __iter__(self) -> Iterator[str]:
        return map(self.names.__getitem__, self.codes.tolist())


@dataclass(frozen=True, eq=False)
class Ratings:
    """The rating of every fact, by split: (n,) float32."""

    train: NDArray[np.float32]
    valid: NDArray[np.float32]
    test: NDArray[np.float32]

    @property
    def mean(self) -> float:
        return float(self.train.mean(dtype=np.float64))

    @property
    def deviation(self) -> float:
        """The standard deviation of the training ratings; 1 if all are equal."""
        return float(self.train.std(dtype=np.float64)) or 1.0

    @cached_property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest training rating."""
        return float(self.train.min()), float(self.train.max())

    def of_fact(self, data: "Dataset", fact: Sequence[int | None]) -> float | None:
        """The rating of a fact in the first split that has it; None if none has."""
        for split in SPLITS if None not in fact else ():
            places = np.flatnonzero((getattr(data, split) == fact).all(axis=1))
            if len(places):
                return float(getattr(self, split)[places[0]])
        return None

    def standardised(self) -> NDArray[np.float64]:
        """Standardised training ratings, the targets of rating models."""
        return (self.train.astype(np.float64) - self.mean) / self.deviation


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Tabular):
    """Facts as ids: three-way (subject, relation, object) or two-way (user, item)."""

    name: str
    entities: Vocabulary
    """In two-way data all users come first, then all items."""
    relations: Vocabulary
    """Empty in two-way data; the relation column of its facts is 0."""
    train: Facts
    """(n_facts, 3) int32, as in the other splits; the row number is the fact's id."""
    valid: Facts
    test: Facts
    subjects: range
    """The entity ids that can be a subject; `objects` are those that can be an object."""
    objects: range
    notes: tuple[str, ...] = ()
    """Notes on what reading changed, such as dropped duplicates."""
    ratings: Ratings | None = None
    sources: Sources | None = None
    read: Mapping[str, Any] = field(default_factory=dict)
    """What was read: `data`, the given options, and the meaning of the columns."""
    weights: Numbers | None = None
    """(n_facts,) the factor of each training fact's gradient, 0 to skip it; None if all are 1."""

    def __post_init__(self) -> None:
        for ids, word in ((self.subjects, "subjects"), (self.objects, "objects")):
            if not 0 <= ids.start <= ids.stop <= self.n_entities:
                allowed = f"choose 0 to {self.n_entities}"
                raise WhereofError(f"{word} are {ids.start} to {ids.stop}; {allowed}")
        for split in SPLITS:
            self._check(f"dataset {self.name!r}, {split}", split)
        if self.sources is not None:
            self._check_sources(self.sources)
        if self.weights is not None:
            self._check_weights(self.weights)
        if (n := len(self.objects)) < 2:
            raise WhereofError(
                f"dataset {self.name!r}: too few entities that can be an object ({n}); "
                "a model ranks objects against each other and needs 2 or more: add facts"
            )

    def __repr__(self) -> str:
        sizes = f"{self.n_facts} facts, {len(self.valid)} valid, {len(self.test)} test"
        names = f"{self.n_entities} entities, {self.n_relations} relations"
        return f"<Dataset {self.name!r}: {sizes}, {names}>"

    @property
    def n_facts(self) -> int:
        return len(self.train)

    @property
    def n_entities(self) -> int:
        return len(self.entities)

    @property
    def n_relations(self) -> int:
        return len(self.relations)

    @property
    def inverse_offset(self) -> int:
        """Distance of an inverse relation's row from its own; two-way data has one relation row."""
        return max(self.n_relations, 1)

    @cached_property
    def two_way(self) -> bool:
        return len(self.relations) == 0

    @property
    def has_users(self) -> bool:
        """Whether it is two-way data of users and items, in which no entity is both."""
        return self.two_way and self.subjects.stop <= self.objects.start

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex) of names, facts, ratings and weights, without labels and sources."""
        digest = hashlib.sha256()
        number = Struct("<q").pack
        for names in (self.entities.names, self.relations.names):
            # With their lengths, so that different lists give different bytes.
            parts = (number(len(text)) + text for text in map(str.encode, names))
            digest.update(number(len(names)) + b"".join(parts))
        digest.update(number(len(self.subjects)))
        for split in SPLITS:
            facts = getattr(self, split)
            digest.update(number(len(facts)) + facts.astype("<i4").tobytes())
        for split in SPLITS if self.ratings is not None else ():
            digest.update(getattr(self.ratings, split).astype("<f4").tobytes())
        if self.weights is not None:
            digest.update(b"weights" + self.weights.astype("<f8").tobytes())
        return digest.hexdigest()

    def weights_of(self, fact_ids: FactIds) -> Numbers:
        """(n,) the weights of training facts."""
        return np.ones(len(fact_ids)) if self.weights is None else self.weights[fact_ids]

    def fact_names(self, fact: Sequence[int] | Facts) -> tuple[str, ...]:
        """Names of a fact: (subject, relation, object), or (subject, object)."""
        relation = () if self.two_way else (self.relations.name(fact[RELATION]),)
        return self.entities.name(fact[SUBJECT]), *relation, self.entities.name(fact[OBJECT])

    def find_entity(self, text: str) -> int:
        """The id of an entity; of two with the name 5, `subject:5` or `object:5` names one."""
        return self.entities.find(*self._without_place(text))

    def has_entity(self, text: str) -> bool:
        """Whether at least one entity has this name."""
        return bool(self.entities.matches(*self._without_place(text)))

    def _without_place(self, text: str) -> tuple[str, range | None]:
        """Split `subject:NAME` into the name and the ids to search; None searches all."""
        place, _, name = text.partition(":")
        among = {"subject": self.subjects, "object": self.objects}.get(place)
        if among is None or self.entities.matches(text):
            return text, None
        return name, among

    def to_arrow(self) -> Any:
        """An Arrow table with one row per fact of all splits, training facts first.

        It has the columns split, subject, relation and object, their labels, and rating, source and
        weight, as far as the data has them. The id of a training fact is its position.
        """
        from whereof.data.export import facts_table

        return facts_table(self)

    def to_networkx(self, split: str = "train") -> Any:
        """A NetworkX graph with one edge per fact of a split, from its subject to its object.

        The key of an edge is the position of the fact. In two-way data, nodes are named
        subject:NAME and object:NAME. `whereof.read` reads such a graph back.
        """
        from whereof.data.export import facts_graph

        return facts_graph(self, split)

    def _check(self, where: str, split: str) -> None:
        """Raise an error for ids that would make a kernel read outside of a table."""
        facts = getattr(self, split)
        if facts.ndim != 2 or facts.shape[1] != 3 or facts.dtype != np.int32:
            raise WhereofError(
                f"{where}: facts are {facts.dtype} of shape {facts.shape}; need (n, 3) int32"
            )
        if not facts.flags.c_contiguous:
            raise WhereofError(f"{where}: facts are not C-contiguous; pass np.ascontiguousarray")
        allowed = (self.subjects, range(self.inverse_offset), self.objects)
        for column, ids, word in zip(facts.T, allowed, PLACES[3], strict=True):
            for bad in (column.min(), column.max()) if len(facts) else ():
                if int(bad) not in ids:
                    raise WhereofError(
                        f"{where}: {word} id {bad} is not one of {ids.start} to {ids.stop - 1}"
                    )
        if self.ratings is not None:
            ratings = getattr(self.ratings, split)
            is_float = ratings.dtype == np.float32
            if not is_float or ratings.shape != (len(facts),) or not np.isfinite(ratings).all():
                raise WhereofError(f"{where}: ratings are not {len(facts)} finite numbers")

    def _check_sources(self, sources: Sources) -> None:
        codes, n = sources.codes, len(sources.codes)
        if n != self.n_facts:
            raise WhereofError(f"dataset {self.name!r}: {n} sources for {self.n_facts} facts")
        if codes.ndim != 1 or codes.dtype != np.int32:
            raise WhereofError(f"dataset {self.name!r}: codes of sources are {codes.dtype}")
        if n and not 0 <= codes.min() <= codes.max() < len(sources.names):
            raise WhereofError(f"dataset {self.name!r}: a source has a code without a name")

    def _check_weights(self, weights: Numbers) -> None:
        where, n = f"dataset {self.name!r}", self.n_facts
        if (
            weights.dtype != np.float64
            or weights.shape != (n,)
            or not (np.isfinite(weights) & (weights >= 0)).all()
        ):
            raise WhereofError(f"{where}: weights are not {n} finite numbers from 0 on")
        if not weights.any():
            raise WhereofError(
                f"{where}: every training fact has weight 0, so nothing is left to train on; "
                "give facts a weight above 0, or leave out the weights"
            )


def part_of(dataset: Dataset, n_facts: int, seed: int) -> Dataset:
    """The part of a dataset among some of its entities, with about `n_facts` training facts.

    The entities are those of random facts, so that those with many facts are likely to be there.
    """
    train = dataset.train
    if n_facts >= len(train):
        return dataset
    drawn = train[np.random.default_rng(seed).permutation(len(train))]
    turn = np.full(dataset.n_entities, len(train))
    for place in (SUBJECT, OBJECT):
        np.minimum.at(turn, drawn[:, place], np.arange(len(train)))
    last = np.maximum(turn[train[:, SUBJECT]], turn[train[:, OBJECT]])
    kept = turn <= np.partition(last, n_facts)[n_facts]
    ranges = (dataset.subjects, dataset.objects)
    for ids in ranges:  # so that there are two to rank against each other
        kept[[ids.start, ids.stop - 1]] = True
    new_ids = np.cumsum(kept, dtype=np.int32) - 1
    splits: dict[str, Any] = {}
    inside: dict[str, NDArray[np.bool_]] = {}
    for split in SPLITS:
        facts = getattr(dataset, split)
        inside[split] = kept[facts[:, SUBJECT]] & kept[facts[:, OBJECT]]
        facts = facts[inside[split]]
        columns = (new_ids[facts[:, SUBJECT]], facts[:, RELATION], new_ids[facts[:, OBJECT]])
        splits[split] = np.column_stack(columns).astype(np.int32)
    names = np.flatnonzero(kept).tolist()
    subjects, objects = (
        range(int(kept[: ids.start].sum()), int(kept[: ids.stop].sum())) for ids in ranges
    )
    ratings, weights = dataset.ratings, dataset.weights
    return replace(
        dataset,
        **splits,
        entities=Vocabulary(tuple(map(dataset.entities.names.__getitem__, names))),
        subjects=subjects,
        objects=objects,
        ratings=ratings and Ratings(*(getattr(ratings, it)[inside[it]] for it in SPLITS)),
        sources=None,
        weights=None if weights is None else weights[inside["train"]],
    )


def ratings_as_objects(dataset: Dataset) -> Dataset:
    """Turn ratings into three-way facts (user, item, rating).

    Entities are the users, then the training ratings in ascending order. Validation and test facts
    with other ratings are dropped and counted in the notes.
    """
    if dataset.ratings is None:
        raise WhereofError(
            f"dataset {dataset.name!r} has no ratings to make objects of; "
            "name their column with rating, or leave out ratings_as_objects"
        )
    n_users = len(dataset.subjects)
    scale = np.unique(dataset.ratings.train)
    notes = list(dataset.notes)
    splits: dict[str, Any] = {}
    for split in SPLITS:
        facts, ratings = getattr(dataset, split), getattr(dataset.ratings, split)
        known = np.isin(ratings, scale)
        users, items = facts[known, SUBJECT], facts[known, OBJECT] - n_users
        rated = n_users + np.searchsorted(scale, ratings[known])
        splits[split] = np.column_stack((users, items, rated)).astype(np.int32)
        if not known.all():
            notes.append(
                f"{split}: {np.count_nonzero(~known)} of {len(facts)} facts dropped: "
                "they have ratings that are not in train"
            )
    users = _part(dataset.entities, dataset.subjects, "entity")
    # The shortest text that represents a number; whole numbers without a point.
    texts = (np.format_float_positional(rating, trim="-") for rating in scale)
    labelled = dataset.subjects if users.labels else None
    return replace(
        dataset,
        **splits,
        entities=Vocabulary((*users.names, *texts), users.labels, "entity", labelled),
        relations=_part(dataset.entities, dataset.objects, "relation"),
        objects=range(n_users, n_users + len(scale)),
        notes=tuple(notes),
        ratings=None,
    )


def _part(entities: Vocabulary, ids: range, kind: str) -> Vocabulary:
    names = entities.names[ids.start : ids.stop]
    labels = {entities.name(i): entities.label(i) for i in ids} if entities.labels else {}
    return Vocabulary(names, {n: label for n, label in labels.items() if n != label}, kind)
