"""Ranked answers to a query: every candidate scored, and what is known of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.data import Dataset
from whence.errors import WhenceError
from whence.models.scoring import Scorer, softmax
from whence.types import OBJECT, RELATION, SUBJECT

OPEN = "_"
"""Stands where the answer goes."""

_SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Query:
    """A triple with one entity left open: the object, or the subject."""

    subject: int | None
    relation: int
    object: int | None


@dataclass(frozen=True)
class Answer:
    """One candidate.

    `rank` skips objects already known from training and validation, other than this one.
    """

    entity: str
    label: str
    probability: float
    score: float
    rank: int
    known: str | None


@dataclass(frozen=True)
class Prediction:
    """The answers to a query, most probable first."""

    query: dict[str, str | None]
    answers: tuple[Answer, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def find_query(dataset: Dataset, names: Sequence[str], *, inverse: bool) -> Query:
    """The query that names spell: S R for objects, _ R O for subjects; two-way data has no R."""
    shapes = (
        ("SUBJECT", "_ OBJECT") if dataset.two_way else ("SUBJECT RELATION", "_ RELATION OBJECT")
    )
    reverse = bool(names) and names[0] == OPEN
    if len(names) != (1 if dataset.two_way else 2) + reverse:
        raise WhenceError(
            f"a query is {shapes[0]}, or {shapes[1]}; got {' '.join(names) or 'nothing'}"
        )
    if reverse and not inverse:
        raise WhenceError("this run cannot be asked for subjects; train one with --inverse")
    relation = 0 if dataset.two_way else dataset.relations.find(names[1])
    if reverse:
        return Query(None, relation, dataset.entities.find(names[-1], dataset.objects))
    return Query(dataset.entities.find(names[0], dataset.subjects), relation, None)


def predict(scorer: Scorer, dataset: Dataset, query: Query, top: int | None) -> Prediction:
    """The `top` most probable candidates, or all; ties in the order of ids."""
    reverse = query.subject is None
    given, candidates = (
        (query.object, dataset.subjects) if reverse else (query.subject, dataset.objects)
    )
    assert given is not None
    # An inverse relation's row stands as far behind its relation as there are relations.
    relation = query.relation + (max(dataset.n_relations, 1) if reverse else 0)
    scores = scorer.scores(given, relation, candidates)
    probabilities = softmax(scores.astype(np.float64))
    known = _known(dataset, query, candidates)
    ranks = _ranks(scores, known)
    order = np.argsort(-scores, kind="stable")[:top]
    answers = tuple(
        Answer(
            entity=dataset.entities.name(candidates[i]),
            label=dataset.entities.label(candidates[i]),
            probability=float(probabilities[i]),
            score=float(scores[i]),
            rank=int(ranks[i]),
            known=None if known[i] < 0 else _SPLITS[known[i]],
        )
        for i in order
    )
    return Prediction(_names(dataset, query), answers)


def _names(dataset: Dataset, query: Query) -> dict[str, str | None]:
    entities = dataset.entities
    return {
        "subject": None if query.subject is None else entities.name(query.subject),
        "relation": None if dataset.two_way else dataset.relations.name(query.relation),
        "object": None if query.object is None else entities.name(query.object),
    }


def _known(dataset: Dataset, query: Query, candidates: range) -> NDArray[np.int8]:
    """(n_candidates,) the first split that a candidate's fact stands in, or -1."""
    known = np.full(len(candidates), -1, np.int8)
    asked, given = (SUBJECT, OBJECT) if query.subject is None else (OBJECT, SUBJECT)
    entity = query.object if query.subject is None else query.subject
    for split in reversed(range(len(_SPLITS))):
        facts = getattr(dataset, _SPLITS[split])
        mine = (facts[:, given] == entity) & (facts[:, RELATION] == query.relation)
        known[facts[mine, asked] - candidates.start] = split
    return known


def _ranks(scores: NDArray[Any], known: NDArray[np.int8]) -> NDArray[np.int64]:
    """1 + how many candidates score higher, leaving out those known from train or valid."""
    open_scores = np.sort(scores[(known < 0) | (known == _SPLITS.index("test"))])
    return 1 + len(open_scores) - np.searchsorted(open_scores, scores, side="right")
