"""A prediction verified: explained, retrained without its facts, and compared."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from whereof.explain import ExplainOptions, LeftOut, Situation, find_situation
from whereof.explain._describing import Describer, name_fact
from whereof.predict import Standings, stand_alike
from whereof.retrain import Job, Outcomes
from whereof.retrain._case import Case
from whereof.retrain._finding import find_removed
from whereof.retrain._options import VerifyOptions
from whereof.retrain._verdict import EachFact, OfSeed, Stand, Summary, Verdict
from whereof.types import FactIds


def verify(cases: Sequence[Case], names: Sequence[Any], options: VerifyOptions) -> Verdict:
    """What removing a prediction's facts does, in the first case and in those of other seeds."""
    return _Verifying(cases, names, options).verdict()


class _Verifying:
    """One verdict in the making."""

    def __init__(self, cases: Sequence[Case], names: Sequence[Any], options: VerifyOptions) -> None:
        self.start = time.perf_counter()
        self.cases, self.case, self.options = cases, cases[0], options
        self.asked = ExplainOptions(method=options.method, asks=options.asks, seed=options.seed)
        trained = replace(self.case.trained, leave_out=self._leave_out)
        self.situation = find_situation(trained, names, self.asked)
        self.n_retrainings = self.n_known = 0

    def verdict(self) -> Verdict:
        found = find_removed(self.situation, self.asked, self.options)
        ids = np.array([fact.fact_id for fact in found.facts], np.int64)
        alone, together = self._predict(ids)
        # Other seeds are asked for the set alone: what single facts do there is another question.
        mine = self._retrain(self.case, ids, ids if self.options.each else ids[:0])
        others = [self._retrain(case, ids, ids[:0]) for case in self.cases[1:]]
        seeds = tuple(map(self._of_seed, self.cases, [mine, *others]))
        several = len(seeds) > 1
        return Verdict(
            prediction=Describer(self.situation, None).prediction(),
            removed=tuple(ids.tolist()),
            before=seeds[0].before,
            predicted=together,
            actual=seeds[0].actual,
            control_matches_run=seeds[0].control_matches_run,
            facts=found.facts,
            each=self._each(ids, alone, mine),
            seeds=seeds if several else (),
            summary=Summary.of(seeds) if several else None,
            n_retrainings=self.n_retrainings,
            n_known=self.n_known,
            method=self.options.method,
            engine=self.case.retrainer.engine.identity.split()[0],
            seconds=time.perf_counter() - self.start,
            notes=(*found.notes, *self._notes(seeds)),
        )

    def _predict(self, ids: FactIds) -> tuple[Sequence[Stand | None], Stand | None]:
        """By rollback: without each fact and without all; nothing where there is no trace."""
        if self.situation.trained.trace is None:
            return [None] * len(ids), None
        alone = list(map(self._roll_back, ids[:, None])) if self.options.each else []
        return alone, self._roll_back(ids)

    def _roll_back(self, ids: FactIds) -> Stand:
        return self._stand(self.case.roll_back(self.case.predictions([self.situation]), [0], ids))

    def _retrain(self, case: Case, ids: FactIds, alone: FactIds) -> Outcomes:
        """Without some facts together, then without each of some alone."""
        jobs = [Job.of(ids, [0]), *(Job.of([fact], [0]) for fact in alone)]
        found = case.retrainer.ask(case.predictions([self.situation]), jobs)
        self._count(found)
        return found

    def _leave_out(self, situations: Sequence[Situation], fact_ids: FactIds) -> LeftOut:
        found = self.case.leave_out(situations, fact_ids)
        self._count(found)
        return found

    def _count(self, found: Outcomes | LeftOut) -> None:
        self.n_retrainings += found.n_retrained + found.n_known
        self.n_known += found.n_known

    def _of_seed(self, case: Case, found: Outcomes) -> OfSeed:
        stored = case.stand(case.predictions([self.situation]))
        return OfSeed(
            case.seed,
            self._stand(found.control),
            self._stand(found.jobs[0]),
            control_matches_run=stand_alike(stored, found.control),
        )

    def _stand(self, standings: Standings) -> Stand:
        (stand,) = self.case.name_standings(standings)
        label = self.case.trained.dataset.entities.label(int(standings["top"][0]))
        return Stand(**vars(stand), labels={"top_answer": label})

    def _each(
        self, ids: FactIds, predicted: Sequence[Stand | None], found: Outcomes
    ) -> tuple[EachFact, ...]:
        if not self.options.each:
            return ()
        data = self.case.trained.dataset
        return tuple(
            EachFact(
                fact,
                **name_fact(data, data.train[fact]),
                predicted=said,
                actual=self._stand(after),
            )
            for fact, said, after in zip(ids.tolist(), predicted, found.jobs[1:], strict=True)
        )

    def _notes(self, seeds: Sequence[OfSeed]) -> list[str]:
        notes = [
            f"retraining seed {each.seed} with all facts does not lead to the stored run, "
            "as on another kind of processor: `before` is that retraining"
            for each in seeds
            if not each.control_matches_run
        ]
        if self.situation.trained.trace is None:
            notes.append("this run has no trace, so rollback predicts nothing")
        elif self.options.method not in ("rollback", "rollback-o"):
            notes.append(f"facts by {self.options.method}; `predicted` is by rollback")
        return notes
