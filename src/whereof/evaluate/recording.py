"""One prediction after one retraining, as a record that every protocol makes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from whereof.evaluate.results import Retraining
from whereof.evaluate.sample import Sample
from whereof.explain import Situation
from whereof.predict import Standings
from whereof.types import FactIds


@dataclass(frozen=True)
class Recorder:
    """Makes the records of a sample; `control` is how its predictions stand with all facts."""

    sample: Sample
    control: Standings
    protocol: str

    def record(
        self,
        number: int,
        removed: tuple[int, ...],
        after: Standings,
        *,
        method: str,
        k: str,
        predicted: float | None = None,
    ) -> Retraining:
        """Prediction `number` without some facts; `after` is how it stands then, one record."""
        case, situation = self.sample.case, self.sample.situations[number]
        before, name = self.control[number], case.trained.dataset.entities.name
        subject, relation, object_, asks = name_prediction(situation)
        rated = case.trained.learned_ratings
        return Retraining(
            protocol=self.protocol,
            method=method,
            k=k,
            seed=case.seed,
            constraint=case.trained.config.constraint,
            subject=subject,
            relation=relation,
            object=object_,
            asks=asks,
            removed=removed,
            original=None if rated else float(before["probability"]),
            predicted=None if rated else predicted,
            actual=None if rated else float(after["probability"]),
            original_score=float(before["score"]),
            actual_score=float(after["score"]),
            rank_before=int(before["rank"]),
            rank_after=int(after["rank"]),
            top_before=name(int(before["top"])),
            top_after=name(int(after["top"])),
            top_released=name(int(after["top_released"])),
        )


def as_ids(fact_ids: FactIds | Iterable[int]) -> tuple[int, ...]:
    """Fact ids as a record holds them."""
    return tuple(np.asarray(fact_ids, np.int64).tolist())


def name_prediction(situation: Situation) -> tuple[str, str | None, str, str]:
    """Subject, relation, object and the place that is asked for; two-way data have no relation."""
    data, name = situation.trained.dataset, situation.trained.dataset.entities.name
    relation = None if data.two_way else data.relations.name(situation.relation)
    return name(situation.subject), relation, name(situation.object), situation.contest.asks
