"""Link prediction metrics: filtered ranks of the true object among all candidates.

Ties are ranked by expectation: an object tied with n others stands n / 2 places lower. The standard
filter takes known objects of all splits out of the ranking; the paper's, those of training and
validation only.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof._jit import kernel
from whereof.data import Dataset, KnownAnswers
from whereof.events import Advanced, Events
from whereof.models.match import MATCH_IDS, score_rows
from whereof.models.scoring import Scorer
from whereof.types import OBJECT, RELATION, SUBJECT, Facts

_BLOCK = 256
_HITS = (1, 3, 10)
_FILTERS = (("train", "valid", "test"), ("train", "valid"))
"""The standard one and the paper's."""


@dataclass(frozen=True)
class RankingMetrics:
    """Mean reciprocal rank and hits at k, as fractions."""

    mrr: float
    hits: dict[int, float]

    @classmethod
    def of(cls, ranks: NDArray[np.float64]) -> "RankingMetrics":
        return cls(float((1 / ranks).mean()), {k: float((ranks <= k).mean()) for k in _HITS})

    @classmethod
    def mean(cls, *sides: "RankingMetrics") -> "RankingMetrics":
        """The mean of several sides, each counting the same."""
        hits = {k: float(np.mean([side.hits[k] for side in sides])) for k in _HITS}
        return cls(float(np.mean([side.mrr for side in sides])), hits)

    def to_dict(self) -> dict[str, Any]:
        return {"mrr": self.mrr, **{f"hits@{k}": share for k, share in self.hits.items()}}


@dataclass(frozen=True)
class SplitMetrics:
    """Metrics of one split under both filters; with inverse relations, of both sides."""

    n_facts: int
    standard: RankingMetrics
    paper: RankingMetrics
    sides: "dict[str, SplitMetrics]"

    def to_dict(self) -> dict[str, Any]:
        sides = {name: side.to_dict() for name, side in self.sides.items()}
        return {**self.standard.to_dict(), "paper_filter": self.paper.to_dict(), **sides}


class RankingEvaluator:
    """Ranks facts of a dataset."""

    def __init__(self, dataset: Dataset, *, inverse: bool, threads: int | None = None) -> None:
        self.dataset, self.inverse = dataset, inverse
        self.threads = threads or os.cpu_count() or 1
        self._indexes: dict[tuple[bool, tuple[str, ...]], KnownAnswers] = {}

    def known(self, *splits: str, reverse: bool = False) -> KnownAnswers:
        """What a filter knows that is made of these splits; indexed once."""
        key = (reverse, splits)
        if key not in self._indexes:
            turned = (self._turn(getattr(self.dataset, split), reverse) for split in splits)
            n_relations = 2 * self.dataset.inverse_offset
            self._indexes[key] = KnownAnswers.of(*turned, n_relations=n_relations)
        return self._indexes[key]

    def _turn(self, facts: Facts, reverse: bool) -> Facts:
        """Facts as they are, or (object, inverse relation, subject)."""
        if not reverse:
            return facts
        turned = facts[:, [OBJECT, RELATION, SUBJECT]]
        turned[:, RELATION] += self.dataset.inverse_offset
        return turned

    def evaluate(
        self, scorer: Scorer, facts: Facts, events: Events | None = None
    ) -> SplitMetrics | None:
        """Metrics of facts; None when there are none."""
        if not len(facts):
            return None
        objects = self._side(scorer, facts, events, reverse=False)
        if not self.inverse:
            return objects
        subjects = self._side(scorer, facts, events, reverse=True)
        return SplitMetrics(
            len(facts),
            RankingMetrics.mean(objects.standard, subjects.standard),
            RankingMetrics.mean(objects.paper, subjects.paper),
            {"objects": objects, "subjects": subjects},
        )

    def _side(
        self, scorer: Scorer, facts: Facts, events: Events | None, *, reverse: bool
    ) -> SplitMetrics:
        ranks = self.ranks(scorer, facts, reverse=reverse, events=events)
        standard, paper = (RankingMetrics.of(column) for column in ranks.T)
        return SplitMetrics(len(facts), standard, paper, {})

    def ranks(
        self,
        scorer: Scorer,
        facts: Facts,
        *,
        reverse: bool = False,
        filters: Sequence[KnownAnswers] | None = None,
        events: Events | None = None,
    ) -> NDArray[np.float64]:
        """(n, n_filters) ranks of the objects (or subjects): under the standard and the paper's."""
        facts = self._turn(facts, reverse)
        queries = scorer.queries(facts[:, SUBJECT], facts[:, RELATION])
        candidates = self.dataset.subjects if reverse else self.dataset.objects
        ids = np.arange(candidates.start, candidates.stop)
        if filters is None:
            filters = [self.known(*splits, reverse=reverse) for splits in _FILTERS]
        flat, spans = _join(filters, facts[:, :2])
        ranks = np.empty(spans.shape[:2])

        def rank(start: int) -> None:
            block = slice(start, start + _BLOCK)
            scores = np.empty(len(ids), scorer.entity_rows.dtype)
            _rank_block(
                MATCH_IDS[scorer.model.match],
                queries[block],
                scorer.entity_rows,
                ids,
                facts[block, OBJECT],
                (flat, spans[block]),
                scores,
                ranks[block],
            )

        starts = range(0, len(facts), _BLOCK)
        with ThreadPoolExecutor(self.threads) as pool:
            for start, _ in zip(starts, pool.map(rank, starts), strict=True):
                if events is not None:
                    n_done = min(start + _BLOCK, len(facts))
                    events.emit(Advanced(n_done, len(facts), "facts ranked"))
        return ranks


def _join(
    filters: Sequence[KnownAnswers], queries: Facts
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Known objects of all filters, and (n, n_filters, 2) where those of each query stand."""
    starts = np.cumsum([0, *(len(known.flat) for known in filters)])
    spans = [
        start + np.stack(known.lookup(queries), axis=1)
        for start, known in zip(starts, filters, strict=False)
    ]
    return np.concatenate([known.flat for known in filters]), np.stack(spans, axis=1)


@kernel
def _rank_block(kind, queries, rows, ids, targets, known, scores, ranks):
    """Ranks of targets among the ids, once for every filter: (known objects, spans of them)."""
    first = ids[0]
    flat, spans = known
    for i in range(queries.shape[0]):
        score_rows(kind, queries[i], rows, ids, rows.shape[1], scores)
        mine = scores[targets[i] - first]
        higher, equal = 0, -1  # the target is equal to itself
        for j in range(ids.shape[0]):
            higher += scores[j] > mine
            equal += scores[j] == mine
        for column in range(ranks.shape[1]):
            ranks[i, column] = 1 + higher + equal / 2
            for j in range(spans[i, column, 0], spans[i, column, 1]):
                if flat[j] != targets[i]:
                    other = scores[flat[j] - first]
                    ranks[i, column] -= (other > mine) + (other == mine) / 2
