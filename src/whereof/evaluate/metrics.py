"""Metrics of trained models: ranks of true answers, recommended lists, and rating errors.

Link prediction ranks the true object among all candidates. Ties are ranked by expectation: an
object tied with n others is n / 2 places lower. The standard filter takes known objects of all
splits out of the ranking, the paper's filter those of training and validation only.
"""

import math
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from whereof._jit import kernel
from whereof.data.dataset import Dataset
from whereof.data.indexes import KnownAnswers
from whereof.events import Advanced, Events, Note
from whereof.models import Model
from whereof.models.match import DOT, MATCH_IDS, match
from whereof.models.scoring import Scorer, score_all
from whereof.training.config import TrainConfig
from whereof.training.results import Validation
from whereof.types import OBJECT, RELATION, SUBJECT, Facts, Numbers, Rows

_SILENT = Events()
_BLOCK, _CELLS = 256, 1 << 24
"""Most facts that a thread ranks at a time, and most scores that it has in memory."""
_LENGTHS = (10, 20)
_SPLITS = ("train", "valid", "test")
_FILTERS = (_SPLITS, _SPLITS[:2])
"""The standard filter and the paper's."""
_MOST_NUMBERS, _MOST_VALIDATED = 1e13, 1e12
"""Multiplications that ranking may need without a time budget: minutes on one core, and a minute or
two for each validation."""
_PROBED = 512
"""Facts ranked by each thread to measure the speed."""


def ranking_metrics(ranks: Numbers) -> dict[str, float]:
    """Mean reciprocal rank and hits at k, as fractions."""
    hits = {f"hits@{k}": float((ranks <= k).mean()) for k in (1, 3, 10)}
    return {"mrr": float((1 / ranks).mean()), **hits}


def _mean(one: Any, two: Any) -> Any:
    """The mean of two numbers, or of all numbers in two dicts."""
    if isinstance(one, dict):
        return {name: _mean(value, two[name]) for name, value in one.items()}
    return (one + two) / 2


class SplitEvaluator:
    """Measures a model on a dataset's splits; known answers are indexed once.

    A rating model is measured by its errors, and by ranks only if `ranked` is true.
    """

    def __init__(
        self,
        dataset: Dataset,
        config: TrainConfig,
        threads: int | None = None,
        ranked: bool = False,
    ) -> None:
        self.dataset, self.inverse, self.rated = dataset, config.inverse, config.rated
        self.ranked, self.threads = ranked or not self.rated, threads or os.cpu_count() or 1
        self._known, self._noted = cache(self._index), False

    def evaluate(
        self, scorer: Scorer, split: str, seconds: float = math.inf, events: Events = _SILENT
    ) -> dict[str, Any] | None:
        """Metrics by name; None for a split without facts.

        If ranking all facts would take longer than `seconds`, a random sample is ranked, and the
        metrics say how many facts it has: `n_sampled`.
        """
        if not len(getattr(self.dataset, split)):
            return None
        found = self.rating_metrics(scorer, split) if self.rated else {}
        if not self.ranked:
            return found
        facts = new_facts(self.dataset, split)
        sample = self._sample(scorer, facts, seconds)
        found |= self.rank_metrics(scorer, split, sample, events)
        if len(sample) < len(facts):
            found["n_sampled"] = len(sample)
            events.emit(_note_of(f"{split} metrics", sample, facts))
        return found

    def validate(self, scorer: Scorer, events: Events = _SILENT) -> Validation:
        """The metric that selects the best epoch: MRR, NDCG for recommenders, RMSE for ratings.

        If ranking all facts would take long, it is that of a random sample, always the same; the
        first time, a note says so.
        """
        n_cases = Validation.count_cases(self.dataset, rated=self.rated)
        if self.rated:
            value = self.rating_metrics(scorer, "valid")["rmse"]
            return Validation("rmse", value, gain=-value, n_cases=n_cases)
        name = "ndcg@10" if self.dataset.two_way else "mrr"
        facts = new_facts(self.dataset, "valid")
        sample = self._sample(scorer, facts, math.inf, _MOST_VALIDATED)
        if len(sample) < len(facts) and not self._noted:
            events.emit(_note_of("validation", sample, facts))
            self._noted = True
        value = self.rank_metrics(scorer, "valid", sample)[name]
        return Validation(name, value, gain=value, n_cases=n_cases)

    def rating_metrics(self, scorer: Scorer, split: str) -> dict[str, Any]:
        """Root mean square and mean absolute error of predicted ratings, clipped to the scale."""
        ratings = self.dataset.ratings
        assert ratings is not None
        wanted = getattr(ratings, split).astype(np.float64)
        predicted = scorer.fact_scores(getattr(self.dataset, split)).astype(np.float64)
        misses = np.clip(predicted, ratings.train.min(), ratings.train.max()) - wanted
        return {"rmse": float(np.sqrt(np.mean(misses**2))), "mae": float(np.abs(misses).mean())}

    def rank_metrics(
        self, scorer: Scorer, split: str, facts: Facts, events: Events = _SILENT
    ) -> dict[str, Any]:
        """Metrics under both filters; with inverse relations, of both sides and their mean.

        In two-way data: MRR, and recall and NDCG at k of lists without items of earlier splits.
        A user's recall at k is the share of the user's items of the split among the first k. NDCG
        weighs the item at rank i by 1 / log2(1 + i), relative to the best possible order. Both are
        means over users that have an item in the split; items the user had before are skipped. For
        MRR, each fact is ranked among items that are not the user's.
        """
        if not self.dataset.two_way:
            return self._link_metrics(scorer, facts, events)
        if not len(facts):
            names = (f"{name}@{k}" for k in _LENGTHS for name in ("recall", "ndcg"))
            return dict.fromkeys([*names, "mrr"], 0.0)
        filters = (_SPLITS[: _SPLITS.index(split)], _SPLITS)
        ranks, alone = self.ranks(scorer, facts, filters=filters, events=events).T
        user = np.unique(facts[:, SUBJECT], return_inverse=True)[1]
        n_items = np.bincount(user)
        metrics = {}
        for k in _LENGTHS:
            inside = ranks <= k
            recall = np.bincount(user, weights=inside) / n_items
            gains = np.bincount(user, weights=inside / np.log2(1 + ranks))
            metrics[f"recall@{k}"] = float(recall.mean())
            best = np.cumsum(1 / np.log2(2 + np.arange(k)))  # of a perfect list, by its length
            metrics[f"ndcg@{k}"] = float((gains / best[np.minimum(n_items, k) - 1]).mean())
        return metrics | {"mrr": float((1 / alone).mean())}

    def _link_metrics(self, scorer: Scorer, facts: Facts, events: Events) -> dict[str, Any]:
        sides = {}
        for name in ("objects", "subjects") if self.inverse else ("objects",):
            ranks = self.ranks(scorer, facts, reverse=name == "subjects", events=events)
            standard, paper = map(ranking_metrics, ranks.T)
            sides[name] = {**standard, "paper_filter": paper}
        return _mean(*sides.values()) | sides if self.inverse else sides["objects"]

    def _index(self, splits: tuple[str, ...], reverse: bool) -> KnownAnswers:
        turned = (self._turn(getattr(self.dataset, split), reverse) for split in splits)
        return KnownAnswers.of(*turned, n_relations=2 * self.dataset.inverse_offset)

    def _turn(self, facts: Facts, reverse: bool) -> Facts:
        """The facts, or (object, inverse relation, subject)."""
        if not reverse:
            return facts
        turned = facts[:, [OBJECT, RELATION, SUBJECT]]
        turned[:, RELATION] += self.dataset.inverse_offset
        return turned

    def ranks(
        self,
        scorer: Scorer,
        facts: Facts,
        *,
        reverse: bool = False,
        filters: Sequence[tuple[str, ...]] = _FILTERS,
        events: Events = _SILENT,
    ) -> Numbers:
        """(n, n_filters) ranks of objects (or subjects) without those known from some splits."""
        facts = self._turn(facts, reverse)
        precision = None if scorer.model.score is None else "float64"
        queries = scorer.queries(facts[:, SUBJECT], facts[:, RELATION], precision)
        candidates = self.dataset.subjects if reverse else self.dataset.objects
        rows = scorer.entity_rows[candidates.start : candidates.stop]
        longest, kind = _longest(rows), MATCH_IDS.get(scorer.model.match, DOT)
        known = [self._known(splits, reverse) for splits in filters]
        flat = np.concatenate([each.flat for each in known]) - candidates.start
        starts = np.cumsum([0, *(len(each.flat) for each in known[:-1])])
        looked_up = np.stack([each.lookup(facts[:, :2]) for each in known], axis=1)
        spans = starts[:, None] + looked_up  # (n, n_filters, 2)
        targets, ranks = facts[:, OBJECT] - candidates.start, np.empty(spans.shape[:2])
        size = max(min(_BLOCK, _CELLS // len(rows)), 1)

        def rank(start: int) -> None:
            block = slice(start, start + size)
            asked, known = queries[block], (flat, spans[block])
            rough = _rough_scores(scorer.model, asked, rows, longest)
            _rank_block(kind, asked, rows, targets[block], known, *rough, ranks[block])

        blocks = range(0, len(facts), size)
        # Matrix products with threads of their own would compete with these.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(self.threads) as pool:
            for start, _ in zip(blocks, pool.map(rank, blocks), strict=True):
                n_done = min(start + size, len(facts))
                events.emit(Advanced(n_done, len(facts), "facts ranked"))
        return ranks

    def _sample(
        self, scorer: Scorer, facts: Facts, seconds: float, most_numbers: float | None = None
    ) -> Facts:
        """All facts, or a random sample (of users in two-way data) that fits the time."""
        n_sides, numbers = 2 if self.inverse else 1, most_numbers or _MOST_NUMBERS
        most = max(numbers / (len(self.dataset.objects) * scorer.entity_rows.shape[1] * n_sides), 1)
        n_probed = _PROBED * self.threads
        if math.isfinite(seconds) and len(facts) > n_probed:
            self.ranks(scorer, facts[:1])  # loads kernels and indexes known answers
            start = time.perf_counter()
            self.ranks(scorer, facts[:n_probed])
            took = time.perf_counter() - start
            most = max((seconds - took) / took, 1.0) * n_probed / n_sides
        if len(facts) <= most:
            return facts
        random = np.random.default_rng(0)
        if not self.dataset.two_way:
            return facts[np.sort(random.choice(len(facts), int(most), replace=False))]
        users, n_items = np.unique(facts[:, SUBJECT], return_counts=True)
        order = random.permutation(len(users))
        chosen = users[order[: 1 + np.searchsorted(np.cumsum(n_items[order]), most)]]
        return facts[np.isin(facts[:, SUBJECT], chosen)]


def _note_of(what: str, sample: Facts, facts: Facts) -> Note:
    some = f"{len(sample):,} of {len(facts):,}"
    return Note(f"{what}: ranks of a random sample, {some} facts")


def new_facts(dataset: Dataset, split: str) -> Facts:
    """The facts of a split; in two-way data, those that are in no split before it."""
    facts: Facts = getattr(dataset, split)
    if not dataset.two_way:
        return facts
    earlier = [getattr(dataset, name) for name in _SPLITS[: _SPLITS.index(split)]]
    both = (each.astype(np.int64) for each in (facts, np.concatenate(earlier)))
    pairs, seen = (each[:, SUBJECT] << 32 | each[:, OBJECT] for each in both)
    return facts[~np.isin(pairs, seen)]


def _longest(rows: Rows) -> float:
    """The largest Euclidean norm of a row."""
    return math.sqrt(float(np.einsum("ij,ij->i", rows, rows).max(initial=0)))


def _rough_scores(
    model: Model, queries: Rows, rows: Rows, longest: float
) -> tuple[Rows, NDArray[np.float64]]:
    """(n, n_rows) scores, and (n,) how far they may be from those of `match`; -1 if not at all.

    A matrix product adds up in another order than `match`, and is several times faster.
    """
    if model.match != "dot" or model.score is not None:
        spans = np.tile([0, len(rows)], (len(queries), 1))
        return score_all(model, queries, rows, spans), np.full(len(queries), -1.0)
    width, most = rows.shape[1], queries.shape[1]
    found = queries[:, :width] @ rows.T
    if most > width:
        found += queries[:, width:]
    # Two sums of n products differ by at most n eps |q| |row|; 4 covers rounding in this bound.
    lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
    return found, (most + 4) * np.finfo(queries.dtype).eps * lengths * math.hypot(longest, 1)


@kernel
def _rank_block(kind, queries, rows, targets, known, rough, reach, ranks):
    """Ranks of targets among the rows, for every filter: (known objects, spans of them)."""
    flat, spans = known
    width = rows.shape[1]
    for i in range(queries.shape[0]):
        q, scores, near, target = queries[i], rough[i], reach[i], targets[i]
        mine = scores[target]
        if near >= 0:
            mine = match(kind, q, rows[target], width)
        real = rough.dtype.type  # comparing numbers of one type is faster
        above, below = real(mine + max(near, 0.0)), real(mine - max(near, 0.0))
        higher, lower = 0, 0
        for j in range(scores.shape[0]):
            higher += scores[j] > above
            lower += scores[j] < below
        beaten_by = float(higher)
        n_unclear = scores.shape[0] - higher - lower
        for j in range(scores.shape[0]):
            if n_unclear == 0:
                break
            if not (scores[j] > above or scores[j] < below):
                n_unclear -= 1
                if j != target:
                    beaten_by += _beats(kind, q, rows[j], width, scores[j], mine, near)
        for column in range(ranks.shape[1]):
            ranks[i, column] = 1 + beaten_by
            for j in range(spans[i, column, 0], spans[i, column, 1]):
                k = flat[j]
                if k != target:
                    ranks[i, column] -= _beats(kind, q, rows[k], width, scores[k], mine, near)


@kernel
def _beats(kind, q, row, width, rough, mine, near):
    """1 if a row's score is higher, 1/2 if it is equal; computed again where that is unclear."""
    score = rough
    if near >= 0 and not abs(rough - mine) > near:
        score = match(kind, q, row, width)
    return (score > mine) + (score == mine) / 2
