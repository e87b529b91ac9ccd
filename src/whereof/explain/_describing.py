"""From ids and numbers to the records of an explanation."""

from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from whereof.data import Dataset
from whereof.explain._adjacent import PARTS, role_of, shared_parts
from whereof.explain._explanation import ExplainedFact, Prediction
from whereof.explain._search import Ranked
from whereof.explain._situation import Situation
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Facts


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
            labels=_labels(self._dataset, fact)
            | {"top_answer": situation.contest.label(situation.top)},
            n_candidates=len(situation.contest.candidates.ids),
        )

    def facts(self, fact_ids: FactIds, ranked: Ranked) -> tuple[ExplainedFact, ...]:
        """Facts in the order of the list."""
        total = float(np.abs(ranked.influences).sum()) or 1.0
        shared = shared_parts(self.situation, fact_ids, self.rival)
        return tuple(
            self._fact(
                int(fact_id),
                tuple(compress(PARTS, shared[index])),
                self._without(ranked, index),
                rank=index + 1,
                influence=float(ranked.influences[index]),
                share=abs(float(ranked.influences[index])) / total,
            )
            for index, fact_id in enumerate(fact_ids)
        )

    def _fact(
        self, fact_id: int, parts: tuple[str, ...], without: "_Without", **numbers: Any
    ) -> ExplainedFact:
        data = self._dataset
        fact, sources = data.train[fact_id], data.sources
        return ExplainedFact(
            fact_id=fact_id,
            **_names(data, fact),
            role=role_of(parts),
            probability_without=without.probability,
            top_answer_changes=without.changes,
            parts=parts,
            labels=_labels(data, fact) | {"top_answer_without": without.label},
            top_answer_without=without.top_answer,
            score_without=without.score,
            rating=None if data.ratings is None else float(data.ratings.train[fact_id]),
            source=None if sources is None else sources.names[sources.codes[fact_id]],
            **numbers,
        )

    def _without(self, ranked: Ranked, index: int) -> "_Without":
        outcomes = ranked.outcomes
        if outcomes is None:
            return _Without()
        contest, top = self.situation.contest, int(outcomes.tops[index])
        before = self.situation.top if ranked.top_before is None else ranked.top_before
        return _Without(
            self.situation.shown(outcomes.probabilities[index]),
            contest.name(top),
            contest.label(top),
            top != before,
            float(outcomes.scores[index]),
        )


class _Without(NamedTuple):
    """How the prediction stands without a fact, where that is known."""

    probability: float | None = None
    top_answer: str | None = None
    label: str | None = None
    changes: bool | None = None
    score: float | None = None


def name_fact(data: Dataset, fact: Sequence[int] | Facts) -> dict[str, Any]:
    """Subject, relation and object of a fact, and their labels."""
    return {**_names(data, fact), "labels": _labels(data, fact)}


def _names(data: Dataset, fact: Sequence[int] | Facts) -> dict[str, Any]:
    subject, *relation, object_ = data.fact_names(fact)
    return {"subject": subject, "relation": relation[0] if relation else None, "object": object_}


def _labels(data: Dataset, fact: Sequence[int] | Facts) -> dict[str, str | None]:
    return {
        "subject": data.entities.label(fact[SUBJECT]),
        "relation": None if data.two_way else data.relations.label(fact[RELATION]),
        "object": data.entities.label(fact[OBJECT]),
    }
