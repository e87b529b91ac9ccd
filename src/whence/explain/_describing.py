"""From ids and numbers to the records of an explanation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from whence.data import Dataset
from whence.explain._adjacent import Adjacent, role_of
from whence.explain._explanation import ExplainedFact, Prediction
from whence.explain._rollback import Outcomes
from whence.explain._search import Ranked
from whence.explain._situation import Situation
from whence.types import OBJECT, RELATION, SUBJECT, Facts


class Describer:
    """Names what belongs to one prediction."""

    def __init__(self, situation: Situation, rival: int | None) -> None:
        self.situation, self.rival = situation, rival
        self._dataset = situation.trained.dataset

    def prediction(self) -> Prediction:
        situation = self.situation
        fact = (situation.subject, situation.relation, situation.object)
        return Prediction(
            **_names(self._dataset, fact),
            **vars(situation.standing),
            asks=situation.contest.asks,
            labels=_labels(self._dataset, fact),
            n_candidates=len(situation.contest.candidates.ids),
        )

    def facts(self, listed: Adjacent, ranked: Ranked) -> tuple[ExplainedFact, ...]:
        """Facts in the order of the list."""
        influences, outcomes = ranked.influences, ranked.outcomes
        total = float(np.abs(influences).sum()) or 1.0
        return tuple(
            self._fact(listed, index, float(influence), total, outcomes)
            for index, influence in enumerate(influences)
        )

    def _fact(
        self,
        listed: Adjacent,
        index: int,
        influence: float,
        total: float,
        outcomes: Outcomes | None,
    ) -> ExplainedFact:
        data, situation = self._dataset, self.situation
        fact_id, parts = int(listed.fact_ids[index]), listed.parts(index)
        fact = data.train[fact_id]
        probability, top_answer, changes = None, None, None
        if outcomes is not None:
            probability = situation.shown(outcomes.probabilities[index])
            top_answer = situation.contest.name(int(outcomes.tops[index]))
            changes = top_answer != situation.standing.top_answer
        return ExplainedFact(
            fact_id=fact_id,
            **_names(data, fact),
            role=role_of(parts),
            influence=influence,
            probability_without=probability,
            top_answer_changes=changes,
            rank=index + 1,
            share=abs(influence) / total,
            shares=parts,
            labels=_labels(data, fact),
            top_answer_without=top_answer,
            source=None
            if data.sources is None
            else data.sources.names[data.sources.codes[fact_id]],
        )


def _names(data: Dataset, fact: Sequence[int] | Facts) -> dict[str, Any]:
    subject, *relation, object_ = data.fact_names(fact)
    return {"subject": subject, "relation": relation[0] if relation else None, "object": object_}


def _labels(data: Dataset, fact: Sequence[int] | Facts) -> dict[str, str | None]:
    return {
        "subject": data.entities.label(fact[SUBJECT]),
        "relation": None if data.two_way else data.relations.label(fact[RELATION]),
        "object": data.entities.label(fact[OBJECT]),
    }
