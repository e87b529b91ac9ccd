"""One prediction after one retraining, as a record that every protocol makes."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from whence.evaluate.results import Retraining
from whence.evaluate.sample import Sample
from whence.explain import Situation
from whence.predict import Standings
from whence.types import FactIds


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
        rated = case.trained.learned_ratings
        return Retraining(
            protocol=self.protocol,
            method=method,
            k=k,
            seed=case.seed,
            constraint=case.trained.config.constraint,
            subject=name(situation.subject),
            relation=_relation(situation),
            object=name(situation.object),
            asks=situation.contest.asks,
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


def _relation(situation: Situation) -> str | None:
    data = situation.trained.dataset
    return None if data.two_way else data.relations.name(situation.relation)
