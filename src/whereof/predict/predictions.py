"""Score, probability, rank and top answer of many predictions under given parameters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whereof.models import Model
from whereof.models.scoring import Scorer, score_all, softmax
from whereof.predict.prediction import Prediction
from whereof.predict.scored import STANDING, Standings, Trained
from whereof.training.results import Parameters
from whereof.types import FactIds, Numbers

_CELLS = 1 << 20
"""Number of scores to keep in memory at a time."""

_ALIKE = 1e-9
"""Engines may sum a score in another order; a training that rounds differently differs more."""


def stand_alike(one: Standings, other: Standings) -> bool:
    """Whether predictions have the same standings in a run and in its control."""
    exact = all((one[name] == other[name]).all() for name in ("rank", "top", "top_released"))
    near = (np.isclose(one[name], other[name], _ALIKE, 0) for name in ("probability", "score"))
    return bool(exact and all(each.all() for each in near))


@dataclass(frozen=True, eq=False)
class Predictions:
    """Many predictions as arrays, which engines send to other threads and machines."""

    model: Model
    places: NDArray[np.int64]
    """(n, 3) given entity, relation row, target."""
    candidates: NDArray[np.int64]
    """(n, 2) the first candidate, and one past the last."""
    known: tuple[NDArray[np.int64], ...]
    """Per prediction, (n_known, 2): the other answers known from training and validation, as places
    after the first candidate, and the training fact with each; -1 if known from validation."""
    scale: float
    offset: float

    def __len__(self) -> int:
        return len(self.places)

    @classmethod
    def of(cls, trained: Trained, predictions: Iterable[Prediction]) -> "Predictions":
        """Predictions of a trained run; each has a target."""
        scorer, places, spans, known = trained.scorer, [], [], []
        for asked in predictions:
            places.append((asked.given, asked.relation_row(trained.dataset), asked.target))
            span = asked.candidates(trained.dataset)
            spans.append((span.start, span.stop))
            answers, facts = trained.known(asked)
            mine = (facts >= -1) & (answers != asked.target)
            known.append(np.column_stack([answers[mine] - span.start, facts[mine]]))
        rows = np.array(places, np.int64).reshape(-1, 3)
        candidates = np.array(spans, np.int64).reshape(-1, 2)
        return cls(scorer.model, rows, candidates, tuple(known), scorer.scale, scorer.offset)

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
        most, scorer = int(np.diff(self.candidates).max(initial=1)), Scorer(self.model, *rows)
        size, parts = max(_CELLS // most, 1), [np.empty(0, STANDING)]
        for start in range(0, len(chosen), size):
            part = chosen[start : start + size]
            queries = scorer.queries(self.places[part, 0], self.places[part, 1], "float64")
            scores = score_all(self.model, queries, rows.entity_rows, self.candidates[part])
            parts.append(self.stand_by_scores(scores, part, removed))
        return np.concatenate(parts)

    def stand_by_scores(
        self, scores: Numbers, which: NDArray[np.int64], removed: FactIds | None
    ) -> Standings:
        """Standings from scores, (n, at least n_candidates), that were computed elsewhere."""
        firsts, sizes = self.candidates[which, 0], np.diff(self.candidates[which]).ravel()
        targets, each = self.places[which, 2] - firsts, np.arange(len(which))
        found, mine = softmax(scores, sizes), scores[each, targets]
        known = [self.known[i] for i in which]
        rows = np.repeat(each, [len(answers) for answers in known])
        places, facts = np.concatenate([np.zeros((0, 2), np.int64), *known]).T
        stay = np.isin(facts, [] if removed is None else removed, invert=True)
        contenders = np.where(np.arange(scores.shape[1]) < sizes[:, None], scores, -np.inf)
        np.fmax(contenders, -np.inf, out=contenders)  # NaN is never the top answer
        contenders[rows[stay], places[stay]] = -np.inf
        out = np.empty(len(which), STANDING)
        out["top_released"] = firsts + contenders.argmax(axis=1)
        contenders[rows, places] = -np.inf
        out["top"] = firsts + contenders.argmax(axis=1)
        out["rank"] = 1 + (contenders > mine[:, None]).sum(axis=1)
        out["probability"] = found.exponentials[each, targets] / found.totals
        out["score"] = mine * self.scale + self.offset
        return out
