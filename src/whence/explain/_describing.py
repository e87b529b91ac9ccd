"""From ids and numbers to the records of an explanation."""

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from whence.data import Dataset
from whence.explain._adjacent import PARTS, Ids, role_of, shared_parts
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

    def facts(self, fact_ids: Ids, ranked: Ranked) -> tuple[ExplainedFact, ...]:
        """Facts in the order of the list."""
        total = float(np.abs(ranked.influences).sum()) or 1.0
        shared = shared_parts(self.situation, fact_ids, self.rival)
        return tuple(
            self._fact(
                int(fact_id),
                tuple(compress(PARTS, shared[index])),
                rank=index + 1,
                influence=float(ranked.influences[index]),
                share=abs(float(ranked.influences[index])) / total,
                **self._without(ranked.outcomes, index),
            )
            for index, fact_id in enumerate(fact_ids)
        )

    def _fact(self, fact_id: int, parts: tuple[str, ...], **numbers: Any) -> ExplainedFact:
        data = self._dataset
        fact = data.train[fact_id]
        return ExplainedFact(
            fact_id=fact_id,
            **_names(data, fact),
            role=role_of(parts),
            shares=parts,
            labels=_labels(data, fact),
            source=None
            if data.sources is None
            else data.sources.names[data.sources.codes[fact_id]],
            **numbers,
        )

    def _without(self, outcomes: Outcomes | None, index: int) -> dict[str, Any]:
        """How the prediction stands without one of the facts, where that is known."""
        probability, top_answer, changes = None, None, None
        if outcomes is not None:
            probability = self.situation.shown(outcomes.probabilities[index])
            top_answer = self.situation.contest.name(int(outcomes.tops[index]))
            changes = top_answer != self.situation.standing.top_answer
        return {
            "probability_without": probability,
            "top_answer_without": top_answer,
            "top_answer_changes": changes,
        }


def _names(data: Dataset, fact: Sequence[int] | Facts) -> dict[str, Any]:
    subject, *relation, object_ = data.fact_names(fact)
    return {"subject": subject, "relation": relation[0] if relation else None, "object": object_}


def _labels(data: Dataset, fact: Sequence[int] | Facts) -> dict[str, str | None]:
    return {
        "subject": data.entities.label(fact[SUBJECT]),
        "relation": None if data.two_way else data.relations.label(fact[RELATION]),
        "object": data.entities.label(fact[OBJECT]),
    }
