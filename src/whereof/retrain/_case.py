"""A run that can be explained and retrained: what verdicts and evaluations are made of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whereof.explain import METHODS, LeftOut, Situation, Standing, Trained
from whereof.predict import Place, Predictions, Standings
from whereof.retrain import Job, Retrainer
from whereof.training.results import Parameters
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds


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

    def explained_by(self, method: str) -> Trained:
        """What explanations by a method are made from; one that retrains may do so here."""
        if not METHODS[method].retrains:
            return self.trained
        return replace(self.trained, leave_out=self.leave_out)

    def leave_out(self, situations: Sequence[Situation], fact_ids: FactIds) -> LeftOut:
        """Predictions after retraining without each fact."""
        predictions, which = self.predictions(situations), np.arange(len(situations))
        found = self.retrainer.ask(predictions, [Job.of([fact], which) for fact in fact_ids])
        return LeftOut(
            self.stand(predictions),
            found.control,
            np.stack(found.jobs),
            found.n_retrained,
            found.n_known,
        )

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

    def name_standings(self, standings: Standings) -> tuple[Standing, ...]:
        """Standings as people read them."""
        rated, entities = self.trained.learned_ratings, self.trained.dataset.entities
        return tuple(
            Standing(None if rated else probability, score, rank, entities.name(top))
            for probability, score, rank, top, _ in standings.tolist()
        )


def _place(situation: Situation) -> Place:
    contest = situation.contest
    return Place(contest.given, contest.relation, situation.target, contest.asks == "subject")
