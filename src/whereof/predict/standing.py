"""Score, probability, rank and top answer of predictions under given parameters.

Every probability of the project comes from the kernels in this file, in double precision: so all
commands agree on a prediction to the last bit.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof._jit import kernel, row_function
from whereof.models import Model
from whereof.models.match import MATCH_IDS, score_rows
from whereof.predict.prediction import Prediction
from whereof.training.results import Parameters
from whereof.types import FactIds, Numbers, Rows

if TYPE_CHECKING:
    from whereof.predict.scored import Trained

_CELLS = 1 << 20
"""Number of scores to keep in memory at a time."""

STANDING = np.dtype(
    [("probability", "f8"), ("score", "f8"), ("rank", "i4"), ("top", "i4"), ("top_released", "i4")],
    align=True,
)
"""The standing of one prediction; `top` is the id of the top answer. Rank and top answer skip what
is known from training and validation, removed facts too, other than the prediction. `top_released`
is the top answer if an answer that only a removed fact had counts as new."""

Standings = NDArray[np.void]
"""(n,) of STANDING."""


@dataclass(frozen=True)
class Standing:
    """Probability, score, rank and top answer of a prediction under some parameters."""

    probability: float | None
    """None for a rating model: its score is the rating."""
    score: float
    rank: int
    """Skips answers known from training and validation, except this one."""
    top_answer: str
    """The best new answer: not known from training or validation, or the prediction itself."""
    labels: dict[str, str | None]
    """The label of the top answer, or its name."""

    @property
    def top_label(self) -> str:
        """The label of the top answer."""
        return str(self.labels["top_answer"])

    @property
    def value(self) -> float:
        """The probability; for a model of ratings, the rating."""
        return self.score if self.probability is None else self.probability


def name_standings(trained: "Trained", standings: Standings) -> tuple[Standing, ...]:
    """Standings with names in place of ids."""
    rated, entities = trained.learned_ratings, trained.dataset.entities
    return tuple(
        Standing(
            None if rated else probability,
            score,
            rank,
            entities.name(top),
            {"top_answer": entities.label(top)},
        )
        for probability, score, rank, top, _ in standings.tolist()
    )


_ALIKE = 1e-9
"""Engines may sum a score in another order; a training that rounds differently differs more."""


def stand_alike(one: Standings, other: Standings) -> bool:
    """Whether predictions have the same standings in a run and in its control."""
    exact = all((one[name] == other[name]).all() for name in ("rank", "top", "top_released"))
    near = (np.isclose(one[name], other[name], _ALIKE, 0) for name in ("probability", "score"))
    return bool(exact and all(each.all() for each in near))


class Softmax(NamedTuple):
    """The softmax of scores, row by row; a probability is an exponential over its total."""

    exponentials: Numbers
    """(n, n_candidates) e^(score - the largest score of the row)."""
    totals: Numbers
    """(n,)"""


def make_queries(
    model: Model, rows: Parameters, given: NDArray[Any], relation_rows: NDArray[Any]
) -> Numbers:
    """(n, query width) query vectors in double precision."""
    entities = np.ascontiguousarray(rows.entity_rows[given], np.float64)
    relations = np.ascontiguousarray(rows.relation_rows[relation_rows], np.float64)
    out = np.empty((len(given), entities.shape[1] + _n_offsets(model)))
    _fill(row_function(model.query, 3, "float64"), entities, relations, out)
    return out


@lru_cache
def _n_offsets(model: Model) -> int:
    """1 for a model whose queries are one number longer than a row, otherwise 0."""
    widths = model.widths(2)
    return widths.query - widths.entity


def score_all(model: Model, queries: Numbers, rows: Rows, spans: NDArray[np.int64]) -> Numbers:
    """(n, most candidates) scores of the rows from spans[i, 0] to spans[i, 1], by each query."""
    n_candidates = int(np.diff(spans).max(initial=0))
    out = np.empty((len(queries), n_candidates))
    view = np.asarray(rows).view()
    view.flags.writeable = False  # one compiled kernel for rows in memory and memory-mapped rows
    _score(MATCH_IDS[model.match], queries, view, np.arange(len(rows)), spans, out)
    return out


def softmax(scores: Numbers, sizes: NDArray[np.int64]) -> Softmax:
    """The softmax of the first sizes[i] scores of each row."""
    found = Softmax(np.empty_like(scores), np.empty(len(scores)))
    _exponentials(scores, sizes, found.exponentials, found.totals)
    return found


class Ranking(NamedTuple):
    """Input for ranks; places count from a prediction's first candidate."""

    targets: NDArray[np.int64]
    """(n,) place of the answer."""
    sizes: NDArray[np.int64]
    """(n,) number of candidates."""
    known: NDArray[np.int64]
    """(n_known,) places of known answers, of all predictions."""
    gone: NDArray[np.bool_]
    """(n_known,) whether only a removed fact has the answer."""
    spans: NDArray[np.int64]
    """(n, 2) which of `known` belong to each prediction."""


def rank_all(scores: Numbers, ranking: Ranking) -> NDArray[np.int32]:
    """(n, 3) rank, place of the top answer, and its place if removed answers count as new."""
    out = np.empty((len(ranking.targets), 3), np.int32)
    _rank_all(scores, ranking, np.empty(scores.shape[1], np.bool_), out)
    return out


@dataclass(frozen=True, eq=False)
class Predictions:
    """Many predictions as arrays, which engines send to other threads and machines."""

    model: Model
    places: NDArray[np.int64]
    """(n, 3) given entity, relation row, target."""
    candidates: NDArray[np.int64]
    """(n, 2) the first candidate, and one past the last."""
    known: NDArray[np.int64]
    """(n_known,) answers known from training and validation, of all predictions, as places after
    the first candidate."""
    known_by: NDArray[np.int64]
    """(n_known,) the training fact with the answer; -1 if it is known from validation."""
    spans: NDArray[np.int64]
    """(n, 2) which of `known` belong to each prediction."""
    scale: float
    offset: float

    def __len__(self) -> int:
        return len(self.places)

    @classmethod
    def of(cls, trained: "Trained", predictions: Iterable[Prediction]) -> "Predictions":
        """Predictions of a trained run; each has a target."""
        predictions, data = list(predictions), trained.dataset
        rows = [(p.given, p.relation_row(data), p.target) for p in predictions]
        ranges = [p.candidates(data) for p in predictions]
        known = [_known(trained, prediction) for prediction in predictions]
        flat = np.concatenate([np.zeros((0, 2), np.int64), *known])
        bounds = np.cumsum([0, *map(len, known)])
        return cls(
            trained.scorer.model,
            np.array(rows, np.int64).reshape(-1, 3),
            np.array([(r.start, r.stop) for r in ranges], np.int64).reshape(-1, 2),
            flat[:, 0].copy(),
            flat[:, 1].copy(),
            np.stack([bounds[:-1], bounds[1:]], axis=1),
            trained.scorer.scale,
            trained.scorer.offset,
        )

    def stand(
        self,
        rows: Parameters,
        which: Sequence[int] | NDArray[np.int64] | None = None,
        removed: FactIds | None = None,
    ) -> Standings:
        """(n,) standings of all predictions, or of those at some positions, under parameters.

        removed: the facts that the parameters were trained without.
        """
        chosen = np.arange(len(self)) if which is None else np.asarray(which, np.int64)
        parts = [np.empty(0, STANDING)]
        for part in self._parts(chosen):
            given, relations = self.places[part, 0], self.places[part, 1]
            queries = make_queries(self.model, rows, given, relations)
            scores = score_all(self.model, queries, rows.entity_rows, self.candidates[part])
            parts.append(self.stand_by_scores(scores, part, removed))
        return np.concatenate(parts)

    def stand_by_scores(
        self, scores: Numbers, which: NDArray[np.int64], removed: FactIds | None
    ) -> Standings:
        """Standings from scores, (n, at least n_candidates), that were computed elsewhere."""
        firsts, sizes = self.candidates[which, 0], np.diff(self.candidates[which]).ravel()
        targets, each = self.places[which, 2] - firsts, np.arange(len(which))
        found = softmax(scores, sizes)
        gone = np.isin(self.known_by, [] if removed is None else removed)
        ranks = rank_all(scores, Ranking(targets, sizes, self.known, gone, self.spans[which]))
        out = np.empty(len(which), STANDING)
        out["probability"] = found.exponentials[each, targets] / found.totals
        out["score"] = scores[each, targets] * self.scale + self.offset
        out["rank"], out["top"], out["top_released"] = ranks.T
        out["top"] += firsts.astype(np.int32)
        out["top_released"] += firsts.astype(np.int32)
        return out

    def _parts(self, chosen: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Split positions into parts whose scores fit into memory."""
        most = int(np.diff(self.candidates).max(initial=1))
        size = max(_CELLS // most, 1)
        for start in range(0, len(chosen), size):
            yield chosen[start : start + size]


def _known(trained: "Trained", prediction: Prediction) -> NDArray[np.int64]:
    """(n, 2) places of known answers except the prediction's own, and the fact of each."""
    known, first = trained.known(prediction), prediction.candidates(trained.dataset).start
    mine = (known.facts >= -1) & (known.answers != prediction.target)
    return np.stack([known.answers[mine] - first, known.facts[mine]], axis=1)


@kernel
def _fill(query, given, relations, out):
    for i in range(out.shape[0]):
        query(given[i], relations[i], out[i])


@kernel
def _score(kind, queries, rows, ids, spans, out):
    for i in range(queries.shape[0]):
        first, last = spans[i, 0], spans[i, 1]
        scores = out[i, : last - first]
        score_rows(kind, queries[i], rows, ids[first:last], rows.shape[1], scores)


@kernel
def _exponentials(scores, sizes, out, totals):
    for i in range(scores.shape[0]):
        top = scores[i, 0]
        for j in range(sizes[i]):
            top = max(top, scores[i, j])
        total = 0.0
        for j in range(sizes[i]):
            out[i, j] = np.exp(scores[i, j] - top)
            total += out[i, j]
        totals[i] = total


@kernel
def _rank_all(scores, ranking, room, out):
    """Rank the answers. Known answers are skipped, but count in the softmax."""
    for i in range(scores.shape[0]):
        mine, away = scores[i, : ranking.sizes[i]], room[: ranking.sizes[i]]
        start, stop = ranking.spans[i, 0], ranking.spans[i, 1]
        away[:] = False
        for j in range(start, stop):
            away[ranking.known[j]] = True
        out[i, 0] = _rank(mine, away, mine[ranking.targets[i]])
        out[i, 1] = _top(mine, away)
        for j in range(start, stop):
            away[ranking.known[j]] = not ranking.gone[j]
        out[i, 2] = _top(mine, away)


@kernel
def _rank(scores, away, mine):
    """The rank of a score; excluded candidates do not count."""
    rank = 1
    for j in range(scores.shape[0]):
        rank += scores[j] > mine and not away[j]
    return rank


@kernel
def _top(scores, away):
    """The position of the best score; excluded candidates do not count."""
    top, best = -1, -np.inf
    for j in range(scores.shape[0]):
        if scores[j] > best and not away[j]:
            top, best = j, scores[j]
    return top
