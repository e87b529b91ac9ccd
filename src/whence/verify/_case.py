"""A run that can be explained and retrained: what verdicts and evaluations are made of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from whence.engines import Retrainer
from whence.explain import Situation, Trained
from whence.predict import Place, Predictions, Standings
from whence.training.results import Parameters


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


def _place(situation: Situation) -> Place:
    contest = situation.contest
    return Place(contest.given, contest.relation, situation.target, contest.asks == "subject")
