"""Verdicts: explain a prediction, retrain without its facts, and compare."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from whereof.errors import WhereofError
from whereof.explain.explain import Explainer, describe_fact, find_scored, name_prediction
from whereof.explain.explanation import ExplainedFact, NamedFact, NamedPrediction, as_plain
from whereof.explain.facts import find_facts
from whereof.explain.method import Sets, able_method, get_method, standings_without
from whereof.explain.options import ExplainOptions
from whereof.predict.scored import ScoredPrediction
from whereof.predict.standing import Predictions, Standing, Standings, name_standings, stand_alike
from whereof.registry import render
from whereof.retrain.engine import Job
from whereof.retrain.options import VerifyOptions
from whereof.retrain.retrainer import Case, Outcomes, Retrainer
from whereof.types import FactIds


@dataclass(frozen=True, kw_only=True)
class RemovedFact(NamedFact):
    """A removed fact and the method's estimate for it."""

    influence: float | None
    """None if the method does not compute it."""
    probability_without: float | None = None


@dataclass(frozen=True, kw_only=True)
class EachFact(NamedFact):
    """Effect of removing one fact alone."""

    predicted: Standing | None
    actual: Standing


@dataclass(frozen=True)
class OfSeed:
    """Effect of removing the same facts in the run with one seed."""

    seed: int
    before: Standing
    actual: Standing
    control_matches_run: bool


@dataclass(frozen=True)
class SeedSpread:
    """Statistics of one value over several seeds; `std` is the sample standard deviation."""

    mean: float
    std: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "SeedSpread":
        mean, std = float(np.mean(values)), float(np.std(values, ddof=1))
        return cls(mean, std, min(values), max(values))


@dataclass(frozen=True)
class Summary:
    """Summary over all seeds: probabilities or, for a rating model, ratings."""

    n_seeds: int
    before: SeedSpread
    actual: SeedSpread
    fall: SeedSpread
    n_fell: int
    n_top_changed: int

    @classmethod
    def of(cls, seeds: Sequence[OfSeed]) -> "Summary":
        falls = [each.before.value - each.actual.value for each in seeds]
        changed = [each.before.top_answer != each.actual.top_answer for each in seeds]
        return cls(
            n_seeds=len(seeds),
            before=SeedSpread.of([each.before.value for each in seeds]),
            actual=SeedSpread.of([each.actual.value for each in seeds]),
            fall=SeedSpread.of(falls),
            n_fell=sum(fall > 0 for fall in falls),
            n_top_changed=sum(changed),
        )


@dataclass(frozen=True)
class Verdict:
    """The result of retraining without the chosen facts, and what was predicted."""

    prediction: NamedPrediction
    """The prediction and its standing in the stored run."""
    removed: tuple[int, ...]
    """Ids of the removed facts, in order."""
    before: Standing
    """After retraining with all facts: the control."""
    predicted: Standing | None
    """After rolling back the removed facts together; None for a run without a trace."""
    actual: Standing
    """After retraining without them."""
    control_matches_run: bool
    """Whether the control has the same standing as the stored run, to nine digits."""
    facts: tuple[RemovedFact, ...]
    each: tuple[EachFact, ...]
    """Results of removing every fact alone, with `each`."""
    seeds: tuple[OfSeed, ...]
    """Results of every seed, the run's own first, with several `seeds`."""
    summary: Summary | None
    """Summary over several seeds."""
    n_retrainings: int
    """Number of retrainings that the verdict uses."""
    n_known: int
    """Number of them that were in the journal already."""
    method: str
    engine: str
    seconds: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof verify --json` prints."""
        document: dict[str, Any] = as_plain(self)
        return document

    def __str__(self) -> str:
        """The verdict in words."""
        return str(render("verdict-words", self))


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
        self.remover = able_method("groups", options.method)
        self.lacks_trace = "trace" in self.remover.needs and self.trained.trace is None
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
        """Without all facts, then without each alone; None without a trace."""
        if self.lacks_trace:
            return [None] * (1 + len(alone))
        after = standings_without(self.remover, self.scored, Sets.of([ids, *alone[:, None]]))
        return name_standings(self.trained, after)

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
            f"retraining seed {each.seed} with all facts gives another model than the stored "
            "run, for example because the processor is another; `before` is the retrained model"
            for each in seeds
            if not each.control_matches_run
        ]
        if self.lacks_trace:
            notes.append(f"this run has no trace, so {self.remover.name} predicts nothing")
        elif self.remover is not self.method:
            notes.append(f"facts by {self.options.method}; `predicted` is by {self.remover.name}")
        return notes
