"""Verify a prediction: explain it, retrain without its facts, and compare."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from whereof.errors import WhereofError
from whereof.explain.explain import Explainer, describe_fact, find_scored, name_prediction
from whereof.explain.explanation import ExplainedFact
from whereof.explain.facts import find_facts
from whereof.explain.method import get_method
from whereof.explain.options import ExplainOptions
from whereof.explain.rollback import Rollback, Sets
from whereof.predict.scored import ScoredPrediction
from whereof.predict.standing import Predictions, Standing, Standings, name_standings, stand_alike
from whereof.retrain.engine import Job
from whereof.retrain.options import VerifyOptions
from whereof.retrain.retrainer import Case, Outcomes, Retrainer
from whereof.retrain.verdict import EachFact, OfSeed, RemovedFact, Summary, Verdict
from whereof.types import FactIds


def verify(cases: Sequence[Case], names: Sequence[Any], options: VerifyOptions) -> Verdict:
    """Remove a prediction's facts and retrain, in the first case and in those of other seeds."""
    return _Verifying(cases, names, options).verdict()


@dataclass(frozen=True, eq=False)
class _CountingRetrainer(Retrainer):
    """A retrainer that remembers what it answered."""

    answers: list[Outcomes] = field(default_factory=list)

    def ask(self, predictions: Predictions, jobs: Sequence[Job]) -> Outcomes:
        """See `Retrainer`."""
        found = super().ask(predictions, jobs)
        self.answers.append(found)
        return found


class _Verifying:
    """Builds one verdict."""

    def __init__(self, cases: Sequence[Case], names: Sequence[Any], options: VerifyOptions) -> None:
        self.start, self.options = time.perf_counter(), options
        self.counters = [_CountingRetrainer(**vars(case.retrainer)) for case in cases]
        pairs = zip(cases, self.counters, strict=True)
        self.cases = [replace(case, retrainer=counter) for case, counter in pairs]
        self.case, self.method = self.cases[0], get_method(options.method)
        self.asked = ExplainOptions(
            method=options.method, asks=options.asks, seed=options.seed, role=options.role
        )
        self.trained = self.case.trained
        self.scored: ScoredPrediction = find_scored(self.trained, names, self.asked)

    def verdict(self) -> Verdict:
        facts, notes = self._removed()
        ids = np.array([fact.fact_id for fact in facts], np.int64)
        alone = ids if self.options.each else ids[:0]
        together, *single = self._predict(ids, alone)
        # Only the set is removed in other seeds: what single facts do there is another question.
        mine = self._retrain(self.case, ids, alone)
        others = [self._retrain(case, ids, ids[:0]) for case in self.cases[1:]]
        seeds = tuple(map(self._of_seed, self.cases, [mine, *others]))
        several = len(seeds) > 1
        answers = [each for counter in self.counters for each in counter.answers]
        n_known = sum(each.n_known for each in answers)
        return Verdict(
            prediction=name_prediction(self.scored),
            removed=tuple(ids.tolist()),
            before=seeds[0].before,
            predicted=together,
            actual=seeds[0].actual,
            control_matches_run=seeds[0].control_matches_run,
            facts=facts,
            each=self._each(alone, single, mine),
            seeds=seeds if several else (),
            summary=Summary.of(seeds) if several else None,
            n_retrainings=n_known + sum(each.n_retrained for each in answers),
            n_known=n_known,
            method=self.options.method,
            engine=self.case.retrainer.engine.identity.split()[0],
            seconds=time.perf_counter() - self.start,
            notes=(*notes, *self._notes(seeds)),
        )

    def _removed(self) -> tuple[tuple[RemovedFact, ...], tuple[str, ...]]:
        """The facts that were named, or those that the method finds; and its notes."""
        if self.options.facts is not None:
            return self._named(find_facts(self.trained, self.options.facts)), ()
        options = self.asked.replace(top=self.options.top)
        explanation = Explainer(self.scored, options, self.case).explanation()
        if not explanation.facts:
            raise WhereofError(
                f"{self.asked.method} finds no fact that supports the prediction; "
                "name the facts to remove"
            )
        return tuple(map(self._as_removed, explanation.facts)), explanation.notes

    def _named(self, fact_ids: FactIds) -> tuple[RemovedFact, ...]:
        if not len(fact_ids):
            raise WhereofError("facts is empty; give ids or names, or leave it out")
        if self.trained.trace is not None or "trace" not in self.method.needs:
            explainer = Explainer(self.scored, self.asked, self.case)
            return tuple(map(self._as_removed, explainer.describe(fact_ids)))
        data = self.trained.dataset
        return tuple(
            RemovedFact(**describe_fact(data, fact), influence=None) for fact in fact_ids.tolist()
        )

    def _as_removed(self, fact: ExplainedFact) -> RemovedFact:
        return RemovedFact(
            **describe_fact(self.trained.dataset, fact.fact_id),
            influence=None if self.method.draws else fact.influence,
            probability_without=fact.probability_without,
        )

    def _predict(self, ids: FactIds, alone: FactIds) -> Sequence[Standing | None]:
        """By rollback: without all facts, then without each alone; None without a trace."""
        if self.trained.trace is None:
            return [None] * (1 + len(alone))
        bounds = np.append([0], np.arange(len(alone) + 1) + len(ids))
        sets = Sets(np.concatenate([ids, alone]), bounds)
        quantity = "score" if self.trained.learned_ratings else "probability"
        after = Rollback(self.scored, quantity).outcomes(sets)
        return name_standings(self.trained, after.standings)

    def _retrain(self, case: Case, ids: FactIds, alone: FactIds) -> Outcomes:
        """Retrain without some facts together, then without each of some alone."""
        jobs = [Job.of(ids, [0]), *(Job.of([fact], [0]) for fact in alone)]
        return case.retrainer.ask(case.predictions([self.scored.prediction]), jobs)

    def _of_seed(self, case: Case, found: Outcomes) -> OfSeed:
        stored = case.stand(case.predictions([self.scored.prediction]))
        return OfSeed(
            case.seed,
            self._stand(found.control),
            self._stand(found.jobs[0]),
            control_matches_run=stand_alike(stored, found.control),
        )

    def _stand(self, standings: Standings) -> Standing:
        return name_standings(self.trained, standings)[0]

    def _each(
        self, ids: FactIds, predicted: Sequence[Standing | None], found: Outcomes
    ) -> tuple[EachFact, ...]:
        data = self.trained.dataset
        return tuple(
            EachFact(**describe_fact(data, fact), predicted=said, actual=self._stand(after))
            for fact, said, after in zip(ids.tolist(), predicted, found.jobs[1:], strict=True)
        )

    def _notes(self, seeds: Sequence[OfSeed]) -> list[str]:
        notes = [
            f"retraining seed {each.seed} with all facts does not lead to the stored run, "
            "as on another kind of processor: `before` is that retraining"
            for each in seeds
            if not each.control_matches_run
        ]
        if self.trained.trace is None:
            notes.append("this run has no trace, so rollback predicts nothing")
        elif "groups" not in self.method.can:
            notes.append(f"facts by {self.options.method}; `predicted` is by rollback")
        return notes
