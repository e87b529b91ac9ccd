"""The card of an entity: its facts, and what the model predicts for it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from whereof.data.dataset import Dataset
from whereof.errors import WhereofError
from whereof.explain.explain import describe_fact, name_triple
from whereof.explain.explanation import NamedFact
from whereof.predict.answers import Answers, predict
from whereof.predict.prediction import Prediction
from whereof.predict.scored import Trained
from whereof.records import as_plain
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds

_QUESTIONS, _ASKED = 3, 40
"""Relations whose answers a card has, and the most frequent relations that it chooses from."""


@dataclass(frozen=True)
class RelationFacts:
    """The facts of an entity with one relation, in one of the two places."""

    relation: str | None
    """None in two-way data, and so is the label."""
    label: str | None
    place: str
    """The place of the entity in these facts: subject or object."""
    n_facts: int
    mean_rating: float | None
    facts: tuple[NamedFact, ...]
    """Some of them: the first of the data, or those with the highest ratings."""


@dataclass(frozen=True, eq=False)
class _Group:
    """The facts of an entity with one relation, in one place, by ids."""

    entity: int
    relation: int
    place: str
    fact_ids: FactIds

    @property
    def open_prediction(self) -> Prediction:
        """The prediction of more facts of this kind."""
        if self.place == "subject":
            return Prediction(self.entity, self.relation, None)
        return Prediction(None, self.relation, self.entity, "subject")

    def describe(self, data: Dataset, top: int) -> RelationFacts:
        """The group with names, and the first facts, or those with the highest ratings."""
        ids, ratings = self.fact_ids, None
        if data.ratings is not None:
            ratings = data.ratings.train[ids]
            ids = ids[np.argsort(-ratings, kind="stable")]
        return RelationFacts(
            relation=None if data.two_way else data.relations.name(self.relation),
            label=None if data.two_way else data.relations.label(self.relation),
            place=self.place,
            n_facts=len(ids),
            mean_rating=None if ratings is None else float(ratings.mean(dtype=np.float64)),
            facts=tuple(NamedFact(**describe_fact(data, fact)) for fact in ids[:top].tolist()),
        )


@dataclass(frozen=True)
class HeldOutFact:
    """A fact that the model was not trained on."""

    split: str
    """valid or test."""
    subject: str
    relation: str | None
    object: str
    labels: dict[str, str | None]
    rating: float | None


@dataclass(frozen=True)
class EntityCard:
    """The facts of an entity, and what the model predicts for it."""

    name: str
    label: str
    place: str | None
    """In two-way data: subject for a user, object for an item."""
    n_facts: int
    relations: tuple[RelationFacts, ...]
    """Its facts by relation and place, the most frequent first."""
    n_held_out: int
    held_out: tuple[HeldOutFact, ...]
    """Some of its facts in the validation and test splits."""
    predictions: tuple[Answers, ...]
    """The top new answers to questions about it, those with the most probable answer first."""

    def to_dict(self) -> dict[str, Any]:
        return dict(as_plain(self))


def make_card(trained: Trained, name: str, place: str | None, top: int) -> EntityCard:
    """The card of an entity; `top` is the number of facts and of answers per relation."""
    data = trained.dataset
    ranges = {None: None, "subject": data.subjects, "object": data.objects}
    if place not in ranges:
        raise WhereofError(f"unknown place {place!r}; choose from subject, object")
    if top < 1:
        raise WhereofError(f"top is {top}; give a number from 1 on")
    among = ranges[place]
    entity = data.find_entity(name) if among is None else data.entities.find(name, among)
    groups, held_out = _groups(trained, entity), _held_out(data, entity)
    able = [each for each in groups if each.place == "subject" or trained.config.inverse]
    found = [predict(trained, each.open_prediction, top, new=True) for each in able[:_ASKED]]
    places = [word for word in ("subject", "object") if entity in (ranges[word] or ())]
    return EntityCard(
        name=data.entities.name(entity),
        label=data.entities.label(entity),
        place=places[0] if len(places) == 1 else None,
        n_facts=sum(len(each.fact_ids) for each in groups),
        relations=tuple(each.describe(data, top) for each in groups),
        n_held_out=len(held_out),
        held_out=tuple(held_out[:top]),
        predictions=tuple(sorted(found, key=_best, reverse=True)[:_QUESTIONS]),
    )


def _best(answers: Answers) -> float:
    """How probable, or how highly rated, the first answer is."""
    values = (it.score if it.probability is None else it.probability for it in answers.answers)
    return next(values, -np.inf)


def _groups(trained: Trained, entity: int) -> list[_Group]:
    """The facts of an entity by place and relation, the most frequent first.

    A fact with the entity in both places counts once, as one with it as the subject.
    """
    fact_ids = trained.adjacency.facts_of_entity(entity)
    facts, found = trained.dataset.train[fact_ids], list[_Group]()
    is_subject = facts[:, SUBJECT] == entity
    for place, mine in (("subject", is_subject), ("object", ~is_subject)):
        for relation in np.unique(facts[mine, RELATION]).tolist():
            ids = fact_ids[mine & (facts[:, RELATION] == relation)]
            found.append(_Group(entity, relation, place, ids.astype(np.int64)))
    return sorted(found, key=lambda group: -len(group.fact_ids))


def _held_out(data: Dataset, entity: int) -> list[HeldOutFact]:
    """The facts of an entity in the validation and test splits."""
    found = []
    for split in ("valid", "test"):
        facts, ratings = getattr(data, split), getattr(data.ratings, split, None)
        for at in np.flatnonzero((facts[:, [SUBJECT, OBJECT]] == entity).any(axis=1)).tolist():
            rating = None if ratings is None else float(ratings[at])
            found.append(HeldOutFact(split, **name_triple(data, facts[at]), rating=rating))
    return found
