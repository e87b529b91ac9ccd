"""Exact influence: retrain the model without each fact."""

from dataclasses import replace
from typing import Any

import numpy as np

from whereof.errors import WhereofError
from whereof.explain.method import Context, Method, Ranked, Sets, rank_influences
from whereof.predict.predictions import stand_alike
from whereof.predict.scored import ScoredPrediction, Standings
from whereof.retrain.engine import Job
from whereof.retrain.retrainer import Case

_DIFFERS = (
    "retraining with all facts gives another model than the stored run, for example because the "
    "processor is another; influences compare with the retrained model"
)


class Retrain(Method):
    """Leave-one-out retraining, compared with retraining with all facts."""

    name = "retrain"
    title = "Retraining without each fact"
    citation = (
        "Feldman and Zhang, What Neural Networks Memorize and Why: Discovering the Long Tail "
        "via Influence Estimation, NeurIPS 2020"
    )
    needs = frozenset({"recipe", "retraining"})
    can = frozenset({"contrast", "standings", "non-adjacent facts"})

    def rank(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Ranked:
        case, aim, asks = context.retrainer, context.aim, scored.prediction.asks
        if not isinstance(case, Case):
            raise WhereofError("method retrain needs to retrain the run; use Run.explain")
        if not np.array_equal(scored.candidates.ids, scored.trained.everyone[asks].ids):
            what = f"method retrain requires all {asks}s as candidates"
            raise WhereofError(f"{what}; leave out candidates")
        asked = [scored.prediction]
        asked += [] if aim.rival is None else [scored.prediction.answered(aim.rival)]
        predictions, which = case.predictions(asked), range(len(asked))
        jobs = [Job.of([fact], which) for fact in sets.fact_ids]
        found = case.retrainer.ask(predictions, jobs)
        without, sigmoid = np.stack(found.jobs), scored.trained.config.loss == "sigmoid"
        control = _quantity(aim.of, found.control, sigmoid)
        influences = control - _quantity(aim.of, without, sigmoid)
        ranked = rank_influences(influences, context)
        same = stand_alike(found.control, case.stand(predictions))
        return replace(
            ranked,
            standings=without[ranked.chosen, 0],
            top_before=int(found.control["top"][0]),
            notes=() if same else (_DIFFERS,),
        )


RETRAIN = Retrain()


def _quantity(of: str, standings: Standings, sigmoid: bool) -> Any:
    """What is explained, from standings (..., n_predictions)."""
    scores, probabilities = standings["score"], standings["probability"][..., 0]
    if of == "log_ratio":
        return scores[..., 0] - scores[..., 1]
    if of in ("score", "probability"):
        return standings[of][..., 0]
    if sigmoid:
        return -np.logaddexp(0, -scores[..., 0])
    return np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
