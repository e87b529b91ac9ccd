"""Exact influence: retrain the model without each fact."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from whereof.errors import WhereofError
from whereof.explain.method import Context, Method, Ranked, Sets, quantity_of, rank_influences
from whereof.predict.predictions import Predictions, stand_alike
from whereof.predict.scored import STANDING, ScoredPrediction
from whereof.retrain.engine import Job
from whereof.retrain.retrainer import Case, Outcomes, control_differs
from whereof.types import FactIds

_COMPARES = "influences are measured from the control"


class Retrain(Method):
    """Leave-one-out retraining, compared with retraining with all facts."""

    name = "retrain"
    title = "Retraining without each fact"
    phrase = "every fact, retrained"
    citation = (
        "Feldman and Zhang, What Neural Networks Memorize and Why: Discovering the Long Tail "
        "via Influence Estimation, NeurIPS 2020"
    )
    needs = frozenset({"recipe", "retraining"})
    can = frozenset({"contrast", "standings", "non-adjacent facts"})

    def trainings(self, n_facts: int, n_predictions: int = 1) -> float:
        return n_facts * n_predictions + 1

    def rank(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Ranked:
        return SingleRemovals.of(self, scored, context).rank(sets.fact_ids)


RETRAIN = Retrain()


@dataclass(frozen=True, eq=False)
class SingleRemovals:
    """Retrains a prediction without facts, each alone, and ranks them by what happened."""

    scored: ScoredPrediction
    context: Context
    case: Case
    predictions: Predictions
    """The prediction and, in a contrast, the other answer."""

    @classmethod
    def of(cls, method: Method, scored: ScoredPrediction, context: Context) -> "SingleRemovals":
        """For a method that retrains; an error if it cannot."""
        case, aim, asks = context.retrainer, context.aim, scored.prediction.asks
        if not isinstance(case, Case):
            raise WhereofError(f"method {method.name} needs to retrain the run; use Run.explain")
        if not np.array_equal(scored.candidates.ids, scored.trained.everyone[asks].ids):
            what = f"method {method.name} requires all {asks}s as candidates"
            raise WhereofError(f"{what}; leave out candidates")
        asked = [scored.prediction]
        asked += [] if aim.rival is None else [scored.prediction.answered(aim.rival)]
        return cls(scored, context, case, case.predictions(asked))

    def retrain(self, fact_ids: FactIds | Sequence[int]) -> Outcomes:
        """The standings without each fact; known ones cost nothing."""
        which = range(len(self.predictions))
        return self.case.retrainer.ask(
            self.predictions, [Job.of([fact], which) for fact in fact_ids]
        )

    def rank(self, fact_ids: FactIds) -> Ranked:
        """The facts by their true influence; `chosen` are positions among them."""
        found, sigmoid = self.retrain(fact_ids), self.scored.trained.config.loss == "sigmoid"
        without = np.concatenate([np.empty(0, STANDING), *found.jobs])
        without, of = without.reshape(-1, len(self.predictions)), self.context.aim.of
        influences = quantity_of(of, found.control, sigmoid) - quantity_of(of, without, sigmoid)
        ranked = rank_influences(influences, self.context)
        same = stand_alike(found.control, self.case.stand(self.predictions))
        return replace(
            ranked,
            standings=without[ranked.chosen, 0],
            top_before=int(found.control["top"][0]),
            notes=() if same else (control_differs(self.case.trained), _COMPARES),
        )
