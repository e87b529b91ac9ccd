"""Compute the row of a new user without retraining, with all other rows fixed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import Dataset, Ratings
from whereof.data.indexes import Adjacency
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.models.scoring import Scorer, score_all
from whereof.training.config import TrainConfig
from whereof.types import Numbers

if TYPE_CHECKING:
    from whereof.predict.scored import Trained

USER = "newcomer"
"""The name of the user in results."""
History = str | Path | Sequence[Any] | Mapping[Any, Any]
"""A file, a list of items, or ratings by item."""
_MOST_STEPS = 100
_SMALL = 1e-10
"""A step that is this small, relative to the row, ends the search."""
_ROUNDING = 1e-14
"""Relative error of a computed loss: close to the minimum, a smaller fall cannot be seen."""


@dataclass(frozen=True, eq=False)
class FoldIn:
    """Finds the user row that minimises the loss of a history, penalties included.

    The score of item j is a_j . u + c_j, so the loss is convex in the row u and Newton's method
    finds its only minimum. No negatives are drawn. All other items count, each with a weight: the
    share of items that training draws.
    """

    slopes: Numbers
    """(n_items, width) the a_j."""
    offsets: Numbers
    """(n_items,) the c_j."""
    items: NDArray[np.int64]
    """(n,) the items of the history, counted from the first item."""
    targets: Numbers
    """(n,) standardised ratings; empty without ratings."""
    config: TrainConfig

    @cached_property
    def row(self) -> Numbers:
        """(width,) the row of the user."""
        return self.solve(np.arange(len(self.items)), np.zeros(self.slopes.shape[1]))

    def solve(self, kept: NDArray[np.int64], row: Numbers) -> Numbers:
        """(width,) the row for a part of the history, or 0 if it is empty; row: a first guess."""
        if not len(kept):
            return np.zeros_like(row)
        value, slope, bend = self._loss(kept, row)
        for _ in range(_MOST_STEPS):
            # A bend of 0 in some direction, without penalties, must not stop the search.
            damped = bend + 1e-12 * max(np.trace(bend), 1.0) * np.eye(len(row))
            step, size = np.linalg.solve(damped, slope), 1.0
            while size > _SMALL:
                tried = row - size * step
                found = self._loss(kept, tried)
                least_fall = 1e-4 * size * float(slope @ step)
                if found[0] <= value - least_fall + _ROUNDING * max(abs(value), 1.0):
                    break
                size /= 2
            else:
                return row
            moved = float(np.abs(tried - row).max())
            row, (value, slope, bend) = tried, found
            if moved <= _SMALL * max(float(np.abs(row).max()), 1.0):
                return row
        return row

    def _loss(self, kept: NDArray[np.int64], row: Numbers) -> tuple[float, Numbers, Numbers]:
        """The loss of some facts, its gradient and its second derivative in the row."""
        items, n = self.items[kept], len(kept)
        scores = self.slopes @ row + self.offsets
        if self.config.loss == "squared":
            value, slope, bend = self._squared(items, scores, self.targets[kept])
        elif self.config.loss == "softmax":
            value, slope, bend = self._softmax(items, scores)
        else:
            value, slope, bend = self._sigmoid(items, scores)
        # Training adds the penalty of the row once a fact: l2/2 |x|^2 + n3/3 |x|^3.
        l2, n3, sizes = self.config.l2, self.config.n3, np.abs(row)
        value += n * float((l2 / 2 * row**2 + n3 / 3 * sizes**3).sum())
        slope = slope + n * (l2 + n3 * sizes) * row
        return value, slope, bend + n * np.diag(l2 + 2 * n3 * sizes)

    def _squared(
        self, items: NDArray[np.int64], scores: Numbers, targets: Numbers
    ) -> tuple[float, Numbers, Numbers]:
        rows, misses = self.slopes[items], scores[items] - targets
        return float(misses @ misses / 2), misses @ rows, rows.T @ rows

    @cached_property
    def _share(self) -> float:
        """The share of the other items that training draws as negatives."""
        others, drawn = len(self.slopes) - 1, self.config.negatives
        return 1.0 if drawn == "all" or drawn is None else min(int(drawn) / others, 1.0)

    def _softmax(self, items: NDArray[np.int64], scores: Numbers) -> tuple[float, Numbers, Numbers]:
        """-log of e^s_i / (e^s_i + share * sum over others of e^s_j), summed over the items i."""
        top, share = scores.max(), self._share
        sizes = np.exp(scores - top)
        own = (1 - share) * sizes[items]
        totals = share * sizes.sum() + own  # (n,) of each item's softmax
        mass = share * sizes * (1 / totals).sum()  # (n_items,) sum of the probabilities
        np.add.at(mass, items, own / totals)
        means = share * (sizes @ self.slopes) + own[:, None] * self.slopes[items]
        means /= totals[:, None]  # (n, width)
        value = float((np.log(totals) + top - scores[items]).sum())
        slope = mass @ self.slopes - self.slopes[items].sum(axis=0)
        return value, slope, (self.slopes.T * mass) @ self.slopes - means.T @ means

    def _sigmoid(self, items: NDArray[np.int64], scores: Numbers) -> tuple[float, Numbers, Numbers]:
        """The mean over 1 + K candidates of their cross-entropy, summed over the items."""
        share, n = self._share, len(items)
        n_candidates = 1 + share * (len(scores) - 1)
        weights = np.full(len(scores), share * n)  # of each item as a negative
        np.add.at(weights, items, -share)
        p = np.exp(-np.logaddexp(0, -scores))
        value = weights @ np.logaddexp(0, scores) + np.logaddexp(0, -scores[items]).sum()
        miss = weights * p
        np.add.at(miss, items, p[items] - 1)
        np.add.at(weights, items, 1.0)
        bend = (self.slopes.T * (weights * p * (1 - p))) @ self.slopes
        return float(value) / n_candidates, miss @ self.slopes / n_candidates, bend / n_candidates


def fold_in(trained: "Trained", history: History) -> "Trained":
    """A trained model of all items and one new user, whose row is computed from a history.

    Its facts are the history. So it predicts and explains for this user like any trained model.
    """
    data, config, scorer = trained.dataset, trained.config, trained.scorer
    if not data.has_users or scorer.model.match != "dot":
        raise WhereofError(
            "a history requires a run with users and items, and this is not one; train on two "
            "columns, user and item"
        )
    if config.constraint != "none":
        raise WhereofError(
            "this run was trained with a norm constraint, so no row can be computed for a new "
            "user; train without --constraint"
        )
    if trained.n_trained is None and config.l2 == 0 and not config.rated:
        raise WhereofError(
            "other software trained this run and did not record its penalty, so whereof cannot "
            "compute the row of a new user; compute it in your own code"
        )
    items, ratings = _find_items(data, history, rated=config.rated)
    folded = _dataset(data, items, ratings if config.rated else None)
    first = data.objects.start
    rows = np.asarray(scorer.entity_rows[first : data.objects.stop])
    slopes, offsets = _linear_scores(scorer, rows)
    targets = np.zeros(0)
    if data.ratings is not None and config.rated:
        targets = (ratings.astype(np.float64) - data.ratings.mean) / data.ratings.deviation
    solver = FoldIn(slopes, offsets, items - first, targets, config)
    mine = np.concatenate([solver.row[None].astype(rows.dtype), rows])
    adjacency = Adjacency.of(folded.train, folded.n_entities, 0)
    return replace(
        trained,
        scorer=replace(scorer, entity_rows=mine),
        dataset=folded,
        adjacency=adjacency,
        trace=None,
        read_checkpoints=tuple,
        n_trained=None,
        backing=None,
        fold_in=solver,
    )


def _linear_scores(scorer: Scorer, items: Any) -> tuple[Numbers, Numbers]:
    """The a_j and c_j of the scores a_j . u + c_j of items, by the scores of unit rows u."""
    width = items.shape[1]
    units = np.concatenate([np.zeros((1, width)), np.eye(width)])
    asked = replace(scorer, entity_rows=units, relation_rows=scorer.relation_rows.astype(float))
    queries = asked.queries(np.arange(width + 1), np.zeros(width + 1, np.int64), "float64")
    spans = np.tile([0, len(items)], (width + 1, 1))
    scores = score_all(scorer.model, queries, items, spans)
    return np.ascontiguousarray((scores[1:] - scores[0]).T), scores[0]


def _dataset(data: Dataset, items: NDArray[np.int64], ratings: Numbers | None) -> Dataset:
    """The history as the facts of one user, with all items as candidates."""
    first, known = data.objects.start, data.entities
    names = known.names[first : data.objects.stop]
    labels = {known.name(i): known.label(i) for i in data.objects} if known.labels else {}
    n, empty = len(items), np.zeros((0, 3), np.int32)
    facts = np.column_stack([np.zeros(n), np.zeros(n), items - first + 1]).astype(np.int32)
    none = np.zeros(0, np.float32)
    return replace(
        data,
        entities=Vocabulary((USER, *names), labels, "item", range(1, len(names) + 1)),
        train=np.ascontiguousarray(facts),
        valid=empty,
        test=empty,
        subjects=range(1),
        objects=range(1, len(names) + 1),
        ratings=None if ratings is None else Ratings(ratings.astype(np.float32), none, none),
        sources=None,
        weights=None,
    )


def _find_items(
    data: Dataset, history: History, *, rated: bool
) -> tuple[NDArray[np.int64], Numbers]:
    """The ids of the items, each once, and their ratings; 0 for items without a rating."""
    found: dict[int, float] = {}
    for where, cells in _read_history(data, history):
        item, rating = str(cells[0]), _rating(where, cells[1:])
        try:
            place = _find_item(data, item)
        except WhereofError as error:
            raise WhereofError(f"{where}{error}") from None
        if rating is None and rated:
            raise WhereofError(
                f"{where}{item!r} has no rating, and this run learned ratings; add the rating in a "
                "second column"
            )
        found.setdefault(place, 0.0 if rating is None else rating)
    if not found:
        raise WhereofError("the history is empty; give at least one item")
    return np.array([*found], np.int64), np.array([*found.values()])


def _find_item(data: Dataset, item: str) -> int:
    ids = data.entities.matches(item, data.objects)
    if len(ids) == 1:
        return ids[0]
    return replace(data.entities, kind="item").find(item, data.objects)  # raises an error


def _read_history(data: Dataset, history: History) -> Sequence[tuple[str, Sequence[Any]]]:
    """Items and, if there are any, their ratings, with their place in the file for messages."""
    if isinstance(history, str | Path):
        from whereof.data.columns import is_heading
        from whereof.data.text import read_rows

        rows = [(f"{history}:{row.line}: ", row.cells) for row in read_rows(Path(history))]
        first = rows[0][1][0] if rows else ""
        # An item may have the name of a column.
        is_header = is_heading(first, "object") and not data.entities.matches(first, data.objects)
        return rows[is_header:]
    if isinstance(history, Mapping):
        return [("history: ", [*pair]) for pair in history.items()]
    return [("history: ", [item] if isinstance(item, str) else _pair(item)) for item in history]


def _pair(item: Any) -> list[Any]:
    return [*item] if isinstance(item, Sequence) else [item]


def _rating(where: str, cells: Sequence[Any]) -> float | None:
    """The rating in the second cell; further cells are not read."""
    from whereof.data.columns import number_fault, to_number

    if not cells:
        return None
    if (value := to_number("rating", cells[0])) is None:
        raise WhereofError(f"{where}{number_fault('rating', cells[0])}; correct it or leave it out")
    return value
