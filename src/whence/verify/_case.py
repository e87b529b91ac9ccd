"""A run that can be explained and retrained: what verdicts and evaluations are made of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whence.engines import Retrainer
from whence.explain import Situation, Trained
from whence.predict import Place, Predictions, Standings
from whence.training.results import Parameters
from whence.types import OBJECT, RELATION, SUBJECT, FactIds


@dataclass(frozen=True, eq=False)
class Case:
    """A trained run with its retrainer; of several seeds, each is one."""

    trained: Trained
    retrainer: Retrainer
    result: Mapping[str, Any]
    """What training came to: the norms and slopes that it met, and more."""

    @property
    def seed(self) -> int:
        return self.trained.config.seed

    def predictions(self, situations: Iterable[Situation]) -> Predictions:
        """Predictions as retraining takes them."""
        trained = self.trained
        return Predictions.of(trained.scorer, trained.dataset, map(_place, situations))

    def stand(self, predictions: Predictions) -> Standings:
        """How predictions stand in the run as it was stored."""
        scorer = self.trained.scorer
        return predictions.stand(Parameters(scorer.entity_rows, scorer.relation_rows))

    def roll_back(
        self, predictions: Predictions, which: Sequence[int], removed: FactIds
    ) -> Standings:
        """How predictions would stand without facts, by rolling all of them back together."""
        trained, trace = self.trained, self.trained.need_trace()[removed].astype(np.float64)
        rows = [
            np.array(each, np.float64)
            for each in (trained.scorer.entity_rows, trained.scorer.relation_rows)
        ]
        facts = trained.dataset.train[removed]
        shift = trained.dataset.inverse_offset
        places = ((0, SUBJECT, 0), (1, RELATION, 0), (0, OBJECT, 0), (1, RELATION, shift))
        for slot, (table, place, offset) in zip(trained.slots, places, strict=False):
            np.subtract.at(rows[table], facts[:, place] + offset, trace[:, slot])
        return predictions.stand(Parameters(*rows), which, removed)


def _place(situation: Situation) -> Place:
    contest = situation.contest
    return Place(contest.given, contest.relation, situation.target, contest.asks == "subject")
