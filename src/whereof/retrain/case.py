"""A run that can be explained and retrained: what verdicts and evaluations are made from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from whereof.predict.prediction import Prediction
from whereof.predict.scored import Trained
from whereof.predict.standing import Predictions, Standings
from whereof.retrain import Job, Outcomes, Retrainer
from whereof.types import FactIds


@dataclass(frozen=True, eq=False)
class Case:
    """A trained run with its retrainer; with several seeds, each is one."""

    trained: Trained
    retrainer: Retrainer
    result: Mapping[str, Any]
    """The result of training: norms, Lipschitz constant and more."""

    @property
    def seed(self) -> int:
        return self.trained.config.seed

    def leave_out(self, predictions: Predictions, fact_ids: FactIds) -> Outcomes:
        """Standings after retraining without each fact alone."""
        which = np.arange(len(predictions))
        return self.retrainer.ask(predictions, [Job.of([fact], which) for fact in fact_ids])

    def predictions(self, predictions: Iterable[Prediction]) -> Predictions:
        """Predictions in the form that retraining takes."""
        return Predictions.of(self.trained, predictions)

    def stand(self, predictions: Predictions) -> Standings:
        """Standings in the run as it was stored."""
        return predictions.stand(self.trained.parameters)
