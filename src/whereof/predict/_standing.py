"""How predictions stand under any rows: what retraining is asked for, again and again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof._jit import inlined, kernel, row_function
from whereof.data import Dataset
from whereof.models import Model
from whereof.models.match import MATCH_IDS, score_rows
from whereof.models.scoring import Scorer
from whereof.training.results import Parameters
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Numbers

STANDING = np.dtype(
    [("probability", "f8"), ("score", "f8"), ("rank", "i4"), ("top", "i4"), ("top_released", "i4")],
    align=True,
)
"""How one prediction stands: `top` is the id of the top answer. Rank and top answer skip what is
known from training and validation, removed facts too, other than the prediction; `top_released` is
the top answer if one that only a removed fact had counts as new."""

Standings = NDArray[np.void]
"""(n,) of STANDING."""


_ALIKE = 1e-9
"""Engines may add a score up in another order; training that rounds differently is further off."""


def stand_alike(one: Standings, other: Standings) -> bool:
    """Whether predictions stand the same under the rows of a run and of its control."""
    exact = all((one[name] == other[name]).all() for name in ("rank", "top", "top_released"))
    near = (np.isclose(one[name], other[name], _ALIKE, 0) for name in ("probability", "score"))
    return bool(exact and all(each.all() for each in near))


class Place(NamedTuple):
    """A prediction by ids."""

    given: int
    """The entity that is not asked for."""
    relation: int
    target: int
    asks_subject: bool = False


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions by ids, with the candidates of each and those of them that are known."""

    model: Model
    query_width: int
    places: NDArray[np.int64]
    """(n, 3) given entity, row of the relation, target."""
    candidates: NDArray[np.int64]
    """(n, 2) the first of them, and one past the last."""
    known: NDArray[np.int64]
    """(n_known,) answers known from training and validation, of all predictions."""
    known_by: NDArray[np.int64]
    """(n_known,) the training fact that has the answer; -1 where it is known from validation."""
    spans: NDArray[np.int64]
    """(n, 2) where those of each prediction stand in `known`."""
    scale: float
    offset: float

    def __len__(self) -> int:
        return len(self.places)

    @classmethod
    def of(cls, scorer: Scorer, dataset: Dataset, places: Iterable[Place]) -> "Predictions":
        """Predictions of a dataset, for rows like those of a scorer."""
        places, shift = list(places), dataset.inverse_offset
        rows = [(p.given, p.relation + shift * p.asks_subject, p.target) for p in places]
        ranges = [dataset.subjects if p.asks_subject else dataset.objects for p in places]
        known = [_known(dataset, place) for place in places]
        flat = np.concatenate([np.zeros((0, 2), np.int64), *known])
        bounds = np.cumsum([0, *map(len, known)])
        return cls(
            scorer.model,
            scorer.query_width,
            np.array(rows, np.int64).reshape(-1, 3),
            np.array([(r.start, r.stop) for r in ranges], np.int64).reshape(-1, 2),
            flat[:, 0].copy(),
            flat[:, 1].copy(),
            np.stack([bounds[:-1], bounds[1:]], axis=1),
            scorer.scale,
            scorer.offset,
        )

    def stand(
        self,
        rows: Parameters,
        which: Sequence[int] | NDArray[np.int64] | None = None,
        removed: FactIds | None = None,
    ) -> Standings:
        """How all of them, or those at some positions, stand under rows; in double precision.

        removed: the facts that the rows were trained without.
        """
        chosen = np.arange(len(self)) if which is None else np.asarray(which, np.int64)
        ids, out = np.arange(len(rows.entity_rows)), _room(len(chosen))
        queries = self._queries(rows, self.places[chosen])
        room = (np.empty(len(ids)), np.empty(len(ids), np.bool_))
        kind = MATCH_IDS[self.model.match]
        _stand(kind, queries, rows.entity_rows, ids, self._asked(chosen, removed), room, out)
        return self._standings(out)

    def stand_by_scores(
        self, scores: Numbers, which: NDArray[np.int64], removed: FactIds
    ) -> Standings:
        """The same out of scores, (n, at least n_candidates), that were worked out elsewhere."""
        out, away = _room(len(which)), np.empty(scores.shape[1], np.bool_)
        _stand_by_scores(scores, self._asked(which, removed), away, out)
        return self._standings(out)

    def _asked(self, chosen: NDArray[np.int64], removed: FactIds | None) -> "_Asked":
        gone = np.isin(self.known_by, [] if removed is None else removed)
        targets, candidates = self.places[chosen, 2], self.candidates[chosen]
        return _Asked(targets, candidates, self.known, gone, self.spans[chosen])

    def _standings(self, found: "_Out") -> Standings:
        out = np.empty(len(found.values), STANDING)
        out["probability"] = found.values[:, 0]
        out["score"] = found.values[:, 1] * self.scale + self.offset
        out["rank"], out["top"], out["top_released"] = found.answers.T
        return out

    def _queries(self, rows: Parameters, places: NDArray[np.int64]) -> NDArray[Any]:
        """(n, query width)."""
        given = rows.entity_rows[places[:, 0]].astype(np.float64)
        relations = rows.relation_rows[places[:, 1]].astype(np.float64)
        out = np.empty((len(places), self.query_width))
        _fill(row_function(self.model.query, 3, "float64"), given, relations, out)
        return out


def _known(dataset: Dataset, place: Place) -> NDArray[np.int64]:
    """(n, 2) answers known other than the prediction's own, and the fact that each is known by."""
    asked, given = (SUBJECT, OBJECT) if place.asks_subject else (OBJECT, SUBJECT)
    found = []
    for facts in (dataset.train, dataset.valid):
        mine = (facts[:, given] == place.given) & (facts[:, RELATION] == place.relation)
        by = np.flatnonzero(mine & (facts[:, asked] != place.target))
        found.append(np.stack([facts[by, asked], by if facts is dataset.train else 0 * by - 1], 1))
    return np.concatenate(found).astype(np.int64)


@kernel
def _fill(query, given, relations, out):
    for i in range(out.shape[0]):
        query(given[i], relations[i], out[i])


class _Asked(NamedTuple):
    """Predictions as kernels take them."""

    targets: Any
    candidates: Any  # (n, 2)
    known: Any
    gone: Any  # (n_known,) whether it is known from a removed fact alone
    spans: Any  # (n, 2)


class _Out(NamedTuple):
    values: Any  # (n, 2) probability and score
    answers: Any  # (n, 3) rank, top answer, top answer once removed ones count as new


def _room(n: int) -> _Out:
    return _Out(np.empty((n, 2)), np.empty((n, 3), np.int32))


@kernel
def _stand(kind, queries, rows, ids, asked, room, out):
    for i in range(queries.shape[0]):
        first, last = asked.candidates[i]
        scores = room[0][: last - first]
        score_rows(kind, queries[i], rows, ids[first:last], rows.shape[1], scores)
        _stand_one(scores, i, asked, room[1], out)


@kernel
def _stand_by_scores(scores, asked, away, out):
    for i in range(scores.shape[0]):
        first, last = asked.candidates[i]
        _stand_one(scores[i, : last - first], i, asked, away, out)


@inlined
def _stand_one(scores, i, asked, room, out):
    """Standing of a target among candidates; known ones leave the contest, not the softmax."""
    first, away = asked.candidates[i, 0], room[: scores.shape[0]]
    away[:] = False
    for j in range(asked.spans[i, 0], asked.spans[i, 1]):
        away[asked.known[j] - first] = True
    mine = scores[asked.targets[i] - first]
    out.values[i, 0], out.values[i, 1] = _probability(scores, mine), mine
    out.answers[i, 0] = _rank(scores, away, mine)
    out.answers[i, 1] = first + _top(scores, away)
    for j in range(asked.spans[i, 0], asked.spans[i, 1]):
        away[asked.known[j] - first] = not asked.gone[j]
    out.answers[i, 2] = first + _top(scores, away)


@kernel
def _probability(scores, mine):
    top = scores[0]
    for j in range(scores.shape[0]):
        top = max(top, scores[j])
    total = 0.0
    for j in range(scores.shape[0]):
        total += np.exp(scores[j] - top)
    return np.exp(mine - top) / total


@kernel
def _rank(scores, away, mine):
    """The rank of a score; those away do not count."""
    rank = 1
    for j in range(scores.shape[0]):
        rank += scores[j] > mine and not away[j]
    return rank


@kernel
def _top(scores, away):
    """Where the best score stands; those away do not count."""
    top, best = -1, -np.inf
    for j in range(scores.shape[0]):
        if scores[j] > best and not away[j]:
            top, best = j, scores[j]
    return top
