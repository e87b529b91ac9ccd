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
    """A triple whose object or subject is asked for; None leaves that place open."""

    subject: int | None
    relation: int
    object: int | None

    @property
    def asks_subject(self) -> bool:
        return self.subject is None


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
class Answers:
    """The answers to a query, most probable first."""

    query: dict[str, str | None]
    asks: str
    """Which place the answers stand in: subject or object."""
    answers: tuple[Answer, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def find_query(dataset: Dataset, names: Sequence[str | None], *, inverse: bool) -> Query:
    """The query that names spell; a whole triple asks for that one object."""
    spelled = [OPEN if name is None else str(name) for name in names]
    size = 2 if dataset.two_way else 3
    subject, target = (*spelled, OPEN)[0], spelled[-1] if len(spelled) == size else OPEN
    if len(spelled) not in (size - 1, size) or subject == target == OPEN:
        shapes = ("S", "_ O", "S O") if dataset.two_way else ("S R", "_ R O", "S R O")
        raise WhenceError(f"a query is {', '.join(shapes)}; got {' '.join(spelled) or 'nothing'}")
    if subject == OPEN and not inverse:
        raise WhenceError("this run cannot be asked for subjects; train one with --inverse")
    return Query(
        None if subject == OPEN else dataset.entities.find(subject, dataset.subjects),
        0 if dataset.two_way else dataset.relations.find(spelled[1]),
        None if target == OPEN else dataset.entities.find(target, dataset.objects),
    )


def predict(scorer: Scorer, dataset: Dataset, query: Query, top: int | None) -> Answers:
    """The `top` most probable candidates, or all; ties in the order of ids."""
    reverse = query.asks_subject
    candidates = dataset.subjects if reverse else dataset.objects
    given = query.object if reverse else query.subject
    assert given is not None
    # An inverse relation's row stands as far behind its relation as there are relations.
    relation = query.relation + (max(dataset.n_relations, 1) if reverse else 0)
    scores = scorer.scores(given, relation, candidates)
    probabilities = softmax(scores.astype(np.float64))
    known = _known(dataset, query, candidates)
    ranks = _ranks(scores, known)
    order = np.argsort(-scores, kind="stable")[:top]
    if not reverse and query.object is not None:
        order = np.array([query.object - candidates.start])
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
    return Answers(_names(dataset, query), "subject" if reverse else "object", answers)


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
    asked, given = (SUBJECT, OBJECT) if query.asks_subject else (OBJECT, SUBJECT)
    entity = query.object if query.asks_subject else query.subject
    for split in reversed(range(len(_SPLITS))):
        facts = getattr(dataset, _SPLITS[split])
        mine = (facts[:, given] == entity) & (facts[:, RELATION] == query.relation)
        known[facts[mine, asked] - candidates.start] = split
    return known


def _ranks(scores: NDArray[Any], known: NDArray[np.int8]) -> NDArray[np.int64]:
    """1 + how many candidates score higher, leaving out those known from train or valid."""
    open_scores = np.sort(scores[(known < 0) | (known == _SPLITS.index("test"))])
    return 1 + len(open_scores) - np.searchsorted(open_scores, scores, side="right")
