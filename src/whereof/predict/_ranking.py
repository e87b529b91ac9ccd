"""Every candidate of a query scored and ranked, and what is known of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.data import Dataset, Vocabulary
from whereof.models.scoring import Scorer, softmax
from whereof.predict._answers import Answer, Answers
from whereof.predict._query import Query
from whereof.types import OBJECT, RELATION, SUBJECT, Rows

SPLITS = ("train", "valid", "test")

Known = NDArray[np.int8]
"""For every candidate the first split that its fact stands in, or -1."""


@dataclass(frozen=True)
class Ranking:
    """The best candidates of a query, best first; ties in the order of ids."""

    ids: NDArray[np.int64]
    probabilities: Rows
    scores: Rows
    ranks: NDArray[np.int64]
    known: Known


def predict(
    scorer: Scorer, dataset: Dataset, query: Query, top: int | None, *, new: bool = False
) -> Answers:
    """The `top` most probable candidates, or all; where asked, of those that are new."""
    known = mark_known(query.candidates(dataset), [*_scan(dataset, query)])
    ranking = rank_candidates(scorer, dataset, query, known, top, new=new)
    return name_answers(dataset, query, ranking)


def _scan(dataset: Dataset, query: Query) -> Iterator[NDArray[np.int32]]:
    """The answers that each split holds, without an index."""
    asked, given = (SUBJECT, OBJECT) if query.asks_subject else (OBJECT, SUBJECT)
    for split in SPLITS:
        facts = getattr(dataset, split)
        mine = (facts[:, given] == query.given) & (facts[:, RELATION] == query.relation)
        yield facts[mine, asked]


def mark_known(candidates: range, answers: Sequence[NDArray[np.int32]]) -> Known:
    """(n_candidates,) what is known, from the answers that each split holds."""
    known = np.full(len(candidates), -1, np.int8)
    for split in reversed(range(len(SPLITS))):
        known[answers[split] - candidates.start] = split
    return known


def rank_candidates(
    scorer: Scorer, dataset: Dataset, query: Query, known: Known, top: int | None, *, new: bool
) -> Ranking:
    """The `top` best candidates, or all; for a whole triple, its object."""
    candidates = query.candidates(dataset)
    relation = query.relation + (dataset.inverse_offset if query.asks_subject else 0)
    scores = scorer.scores(query.given, relation, candidates)
    target = None if query.target is None else query.target - candidates.start
    among = np.flatnonzero(_is_new(known)) if new else np.arange(len(scores))
    lowest = _top_score(scores[among], top) if target is None else scores[target]
    best = _best(scores, lowest, among)
    shown = slice(top) if target is None else best == target
    ranks = _ranks(scores[best], known[best])[shown]
    best = best[shown]
    probabilities = softmax(scores.astype(np.float64))[best]
    return Ranking(best + candidates.start, probabilities, scores[best], ranks, known[best])


def _top_score(scores: Rows, top: int | None) -> Any:
    """The lowest score among the `top` best."""
    if top is None or top >= len(scores):
        return -np.inf
    return np.partition(scores, -top)[-top]


def _best(scores: Rows, lowest: Any, among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those among candidates that score at least the lowest, best first."""
    best: NDArray[np.int64] = among[scores[among] >= lowest]
    return np.asarray(best[np.argsort(-scores[best], kind="stable")])


def _ranks(scores: Rows, known: Known) -> NDArray[np.int64]:
    """1 + how many score higher, leaving out those known from train or valid; scores descend."""
    n_new = np.append(0, np.cumsum(_is_new(known)))  # among the first 0, 1, 2, ...
    n_higher = np.searchsorted(-scores, -scores, side="left")
    return 1 + n_new[n_higher]


def _is_new(known: Known) -> NDArray[np.bool_]:
    """Which candidates neither training nor validation knows."""
    return np.isin(known, (-1, SPLITS.index("test")))


def name_answers(dataset: Dataset, query: Query, ranking: Ranking) -> Answers:
    """A ranking in names."""
    entities = dataset.entities
    columns = (
        map(entities.name, ranking.ids),
        map(entities.label, ranking.ids),
        ranking.probabilities.tolist(),
        ranking.scores.tolist(),
        ranking.ranks.tolist(),
        (None if split < 0 else SPLITS[split] for split in ranking.known.tolist()),
    )
    return Answers(
        _spell(dataset, query, Vocabulary.name),
        _spell(dataset, query, Vocabulary.label),
        "subject" if query.asks_subject else "object",
        tuple(map(Answer, *columns)),
    )


def _spell(
    dataset: Dataset, query: Query, word: Callable[[Vocabulary, int], str]
) -> dict[str, str | None]:
    """A query by place, in names or labels."""
    entities, relations = dataset.entities, dataset.relations
    return {
        "subject": None if query.subject is None else word(entities, query.subject),
        "relation": None if dataset.two_way else word(relations, query.relation),
        "object": None if query.object is None else word(entities, query.object),
    }
