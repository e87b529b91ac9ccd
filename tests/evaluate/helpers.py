"""Cases of small runs, and expected results computed by plain loops."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

import whereof
from whereof.api.runs import open_case
from whereof.events import Events
from whereof.retrain.engine import choose_engine
from whereof.retrain.options import EngineOptions
from whereof.retrain.retrainer import Case
from whereof.training.results import Parameters
from whereof.types import Facts


@contextmanager
def case_of(run: whereof.Run, events: Events | None = None) -> Iterator[Case]:
    with open_case(run, choose_engine(EngineOptions()), events or Events()) as case:
        yield case


class Naive:
    """Removes facts, retrains and scores, one prediction at a time, for DistMult and objects."""

    def __init__(self, run: whereof.Run) -> None:
        self.data, self.recipe = run.dataset, run._recipe
        self.trained: dict[tuple[int, ...], Parameters] = {}

    def scores(self, removed: list[int], subject: int, relation: int) -> NDArray[np.float64]:
        key = tuple(sorted(removed))
        if key not in self.trained:
            self.trained[key] = self.recipe.retrain(np.array(key, np.int64))
        rows = self.trained[key]
        entities = rows.entity_rows.astype(np.float64)
        return entities @ (entities[subject] * rows.relation_rows[relation].astype(np.float64))

    def stand(self, removed: list[int], triple: tuple[int, int, int]) -> tuple[float, int]:
        """The probability of a triple, and the top answer among new ones and its own object."""
        subject, relation, object_ = triple
        scores = self.scores(removed, subject, relation)
        odds = np.exp(scores - scores.max())
        top = self._top(scores, self.data.train, triple)
        return float(odds[object_] / odds.sum()), top

    def released_top(self, removed: list[int], triple: tuple[int, int, int]) -> int:
        """The top answer if only the remaining training facts and validation facts are known."""
        scores = self.scores(removed, *triple[:2])
        return self._top(scores, np.delete(self.data.train, removed, axis=0), triple)

    def _top(
        self, scores: NDArray[np.float64], trained: Facts, triple: tuple[int, int, int]
    ) -> int:
        known = {
            o
            for s, r, o in [*trained.tolist(), *self.data.valid.tolist()]
            if (s, r) == triple[:2] and o != triple[2]
        }
        return max((e for e in range(len(scores)) if e not in known), key=lambda e: scores[e])

    def top_predictions(self) -> list[tuple[int, int, int]]:
        """The top new answer of every test query, each triple once."""
        found = []
        for s, r, _ in self.data.test.tolist():
            scores = self.scores([], s, r)
            known = {
                o
                for a, b, o in [*self.data.train.tolist(), *self.data.valid.tolist()]
                if (a, b) == (s, r)
            }
            new = [e for e in range(len(scores)) if e not in known]
            if new:
                found.append((s, r, max(new, key=lambda e: scores[e])))
        return list(dict.fromkeys(found))

    def names(self, triple: tuple[int, int, int]) -> tuple[str, str, str]:
        entities, relations = self.data.entities, self.data.relations
        return entities.name(triple[0]), relations.name(triple[1]), entities.name(triple[2])
