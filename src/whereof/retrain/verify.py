"""Verdicts: explain a prediction, retrain without its facts, and compare."""

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from whereof.errors import WhereofError
from whereof.explain.explain import Explainer, describe_fact, find_scored, name_prediction
from whereof.explain.explanation import ExplainedFact, NamedFact, NamedPrediction
from whereof.explain.facts import find_facts
from whereof.explain.impact import Impact
from whereof.explain.method import N_RIVALS, Sets, able_method, get_method, standings_without
from whereof.explain.options import ExplainOptions
from whereof.predict.prediction import Prediction, find_prediction, typed
from whereof.predict.predictions import stand_alike
from whereof.predict.scored import ScoredPrediction, Standing, Standings, Trained, name_standings
from whereof.records import RecordTables, as_plain
from whereof.registry import render
from whereof.retrain.engine import Job
from whereof.retrain.options import VerifyOptions
from whereof.retrain.retrainer import Case, control_differs
from whereof.retrain.size import log_odds
from whereof.run.reliability import NOISE, sizes_agree
from whereof.types import FactIds

STARTS = "`before` is the control; `estimated` is the control after the estimated change"
_OF_STORED = "the influences of facts are those of the stored run"
_CLAIMS = (
    "influences are those of the stored run; claims apply the same changes of the log-odds, or of "
    "ratings, to the control"
)
_FAR = 4.0
"""An estimated change is refuted if the actual one is this many times smaller."""
_LOG_ODDS_FACTOR = 2.0
"""The actual change of the log-odds may differ from the estimated one by at most this factor."""
_TOP, _FOLLOWED = 5, 10
"""Number of top answers to show, and of best answers to look for them among."""


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
class TopAnswer:
    """An answer that is on top before or after facts are removed: probabilities, or ratings."""

    entity: str
    label: str
    before: float
    rank_before: int
    actual: float
    rank_actual: int


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
        return cls(
            n_seeds=len(seeds),
            before=SeedSpread.of([each.before.value for each in seeds]),
            actual=SeedSpread.of([each.actual.value for each in seeds]),
            fall=SeedSpread.of(falls),
            n_fell=sum(fall > 0 for fall in falls),
            n_top_changed=sum(it.before.top_answer != it.actual.top_answer for it in seeds),
        )


@dataclass(frozen=True)
class Confirmed:
    """What retraining confirmed of an estimate."""

    direction: bool
    size: bool
    """Whether the actual change has about the estimated size."""
    top_answer: bool | None
    """Whether the top answer is the estimated one; None if the estimate does not name it."""
    ratio: float | None
    """The actual change divided by the estimated one; None if no change was estimated."""
    log_odds_ratio: float | None
    """The same for the change of the log-odds; None also for ratings."""


@dataclass(frozen=True)
class Verdict(RecordTables):
    """The result of retraining without the chosen facts, and what was predicted.

    docs/verify.md describes the fields.
    """

    main_part = "facts"

    prediction: NamedPrediction
    removed: tuple[int, ...]
    before: Standing
    predicted: Standing | None
    actual: Standing
    top_answers: tuple[TopAnswer, ...]
    control_matches_run: bool
    facts: tuple[RemovedFact, ...]
    each: tuple[EachFact, ...]
    seeds: tuple[OfSeed, ...]
    summary: Summary | None
    n_retrainings: int
    n_known: int
    method: str
    engine: str
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def confirmed(self) -> Confirmed | None:
        """What retraining confirmed of the estimate; None if there was no estimate."""
        if self.predicted is None:
            return None
        return _confirm(self.predicted, self.before, self.actual)

    @property
    def claim(self) -> str | None:
        """Whether the estimate came true: confirmed, partly confirmed or refuted.

        None if there was no estimate.
        """
        if self.predicted is None:
            return None
        return _judge(self.predicted, self.before, self.actual)

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof verify --json` prints."""
        confirmed = None if self.confirmed is None else asdict(self.confirmed)
        return {**as_plain(self), "claim": self.claim, "confirmed": confirmed}

    def __str__(self) -> str:
        """The verdict in words."""
        return str(render("verdict-words", self))

    def _repr_html_(self) -> str:
        return str(render("verdict-html", self))


def verify(cases: Sequence[Case], names: Sequence[Any], options: VerifyOptions) -> Verdict:
    """Remove a prediction's facts and retrain, in the first case and in those of other seeds."""
    start, counts = time.perf_counter(), Counter[str]()
    cases = [replace(it, retrainer=replace(it.retrainer, counts=counts)) for it in cases]
    own, trained = cases[0], cases[0].trained
    asked = ExplainOptions(
        **{name: getattr(options, name) for name in ("method", "asks", "seed", "role", "top")}
    )
    scored = find_scored(trained, names, asked)
    facts, notes = _find_removed(scored, asked, options.facts, own)
    ids = np.array([fact.fact_id for fact in facts], np.int64)
    sets = [ids, *(ids[:, None] if options.each else ())]
    predicted, more_notes = _predict(scored, options.method, sets)
    # Only the whole set is removed in other seeds: what single facts do there is another question.
    answers = scored.strongest(_FOLLOWED)
    first = _retrain(own, [scored.prediction.answered(each) for each in answers], sets)
    others = [_retrain(case, [scored.prediction], sets[:1]) for case in cases[1:]]
    seeds, several = tuple(each.effect for each in (first, *others)), len(cases) > 1
    stored = name_prediction(scored)
    if not seeds[0].control_matches_run:
        predicted = [it and estimate_from_control(it, stored, seeds[0].before) for it in predicted]
    singles = zip(ids.tolist(), predicted[1:], first.singles, strict=False)
    control_notes = _control_notes(seeds, cases, options.method)
    return Verdict(
        prediction=stored,
        removed=tuple(ids.tolist()),
        before=seeds[0].before,
        predicted=predicted[0],
        actual=seeds[0].actual,
        top_answers=find_top_answers(trained, answers, first.control, first.after),
        control_matches_run=seeds[0].control_matches_run,
        facts=facts,
        each=tuple(
            EachFact(**describe_fact(trained.dataset, fact), predicted=said, actual=after)
            for fact, said, after in singles
        ),
        seeds=seeds if several else (),
        summary=Summary.of(seeds) if several else None,
        n_retrainings=counts.total(),
        n_known=counts["known"],
        method=options.method,
        engine=own.retrainer.engine.identity.split()[0],
        seconds=time.perf_counter() - start,
        notes=tuple(dict.fromkeys((*control_notes, *notes, *more_notes))),
    )


def _control_notes(seeds: Sequence[OfSeed], cases: Sequence[Case], method: str) -> Iterator[str]:
    """What a reader must know if a control differs from the stored run."""
    whys = [control_differs(case.trained) for case in cases]
    if not seeds[0].control_matches_run:
        yield whys[0]
        yield STARTS
        if not get_method(method).retrains:
            yield _OF_STORED
    for each, why in zip(seeds[1:], whys[1:], strict=True):
        if not each.control_matches_run:
            yield f"seed {each.seed}: {why}"


def verify_impact(case: Case, impact: Impact) -> Impact:
    """The impact with what retraining without its facts does to the listed predictions."""
    start, retrainer = time.perf_counter(), replace(case.retrainer, counts=Counter[str]())
    found = _retrain(
        replace(case, retrainer=retrainer),
        [_prediction_of(case.trained, each) for each in impact.predictions],
        [np.array([fact.fact_id for fact in impact.facts], np.int64)],
    )
    before = name_standings(case.trained, found.control)
    actual = name_standings(case.trained, found.after)
    matches = found.effect.control_matches_run
    estimates = [
        each.without if matches else estimate_from_control(each.without, each, old)
        for each, old in zip(impact.predictions, before, strict=True)
    ]
    return replace(
        impact,
        predictions=tuple(
            replace(each, before=old, actual=new, claim=_judge(without, old, new))
            for each, without, old, new in zip(
                impact.predictions, estimates, before, actual, strict=True
            )
        ),
        control_matches_run=matches,
        n_retrainings=retrainer.counts.total(),
        n_known=retrainer.counts["known"],
        engine=retrainer.engine.identity.split()[0],
        seconds=impact.seconds + time.perf_counter() - start,
        notes=(*impact.notes, *(() if matches else (control_differs(case.trained), _CLAIMS))),
    )


def _prediction_of(trained: Trained, named: NamedPrediction) -> Prediction:
    """The prediction with these names."""
    places = (named.subject, named.relation, named.object)
    names = [typed(name) for name in places if name is not None]
    return find_prediction(trained, names, asks=named.asks)


def estimate_from_control(estimated: Standing, stored: Standing, control: Standing) -> Standing:
    """An estimate for the stored run as one for the control, which differs from it.

    The change of the log-odds, or of the rating, is the same; it starts from another value.
    """
    probability, score = estimated.probability, estimated.score
    if probability is not None:
        change = log_odds(probability) - log_odds(stored.value)
        probability = 1 / (1 + math.exp(-log_odds(control.value) - change))
    if score is not None:
        score += (control.score or 0.0) - (stored.score or 0.0)
    moved = replace(estimated, probability=probability, score=score)
    if (control.rank, control.top_answer) == (stored.rank, stored.top_answer):
        return moved
    return replace(moved, rank=0, top_answer="", labels={"top_answer": None})


def _confirm(predicted: Standing, before: Standing, actual: Standing) -> Confirmed:
    """What retraining confirmed of an estimate; before: the control, from which both start."""
    said, done = before.value - predicted.value, before.value - actual.value
    close = bool(sizes_agree(said, done, before.value))
    same_top = predicted.top_answer == actual.top_answer if predicted.top_answer else None
    is_change = abs(said) > NOISE * abs(before.value)
    ratio = done / said if is_change else None
    odds_ratio = _log_odds_ratio(predicted, before, actual) if is_change else None
    size = close and (odds_ratio is None or near_in_log_odds(odds_ratio))
    return Confirmed(close or said * done > 0, size, same_top, ratio, odds_ratio)


def _log_odds_ratio(predicted: Standing, before: Standing, actual: Standing) -> float | None:
    """The actual change of the log-odds divided by the estimated one; None for ratings."""
    if before.probability is None:
        return None
    first, *others = (float(log_odds(each.value)) for each in (before, predicted, actual))
    said, done = (first - odds for odds in others)
    return done / said if said else None  # both may be rounded to 0


def near_in_log_odds(ratio: float) -> bool:
    """Whether the log-odds change about as estimated; ratio: actual change over estimated one."""
    return 1 / _LOG_ODDS_FACTOR <= ratio <= _LOG_ODDS_FACTOR


def _judge(predicted: Standing, before: Standing, actual: Standing) -> str:
    """Whether an estimate came true: confirmed, partly confirmed or refuted."""
    found = _confirm(predicted, before, actual)
    if found.size and found.top_answer is not False:
        return "confirmed"
    if found.direction and found.top_answer and actual.top_answer != before.top_answer:
        return "partly confirmed"  # the answer changes as estimated
    if found.ratio is None:
        noise = NOISE * abs(before.value)
        unforeseen = found.size or abs(before.value - actual.value) > _FAR * noise
    else:
        unforeseen = abs(found.ratio) < 1 / _FAR
    return "refuted" if unforeseen or not found.direction else "partly confirmed"


def _find_removed(
    scored: ScoredPrediction, asked: ExplainOptions, named: Any, case: Case
) -> tuple[tuple[RemovedFact, ...], tuple[str, ...]]:
    """The facts that were named, or those that the method finds; and its notes."""
    trained, method = scored.trained, get_method(asked.method)
    facts: Sequence[ExplainedFact]
    if named is None:
        explainer = Explainer(scored, asked, case)
        ranked = explainer.ranking()  # the strongest, whoever's they are
        facts, notes = explainer.name_facts(ranked), ranked.notes
        if not facts:
            raise WhereofError(
                f"{asked.method} finds no fact that supports the prediction; "
                "name the facts to remove"
            )
    else:
        fact_ids = find_facts(trained, named)
        if not len(fact_ids):
            raise WhereofError("facts is empty; give ids or names, or leave it out")
        if trained.trace is None and "trace" in method.needs:
            about = (describe_fact(trained.dataset, fact) for fact in fact_ids.tolist())
            return tuple(RemovedFact(**it, influence=None) for it in about), ()
        explainer = Explainer(scored, asked, case)
        ranked = explainer.ranking(fact_ids)
        facts, notes = explainer.name_facts(ranked), ranked.notes
    removed = (
        RemovedFact(
            **describe_fact(trained.dataset, fact.fact_id),
            influence=None if method.draws else fact.influence,
            probability_without=fact.probability_without,
        )
        for fact in facts
    )
    return tuple(removed), notes


def _predict(
    scored: ScoredPrediction, method: str, sets: Sequence[FactIds]
) -> tuple[Sequence[Standing | None], tuple[str, ...]]:
    """Standings without each set of facts, or None without a trace; and notes."""
    trained, remover = scored.trained, able_method("groups", method)
    if "trace" in remover.needs and trained.trace is None:
        note = f"this run has no trace, so there is no estimate by {remover.name}"
        return [None] * len(sets), (note,)
    note = f"{method} chose the facts; the estimate is by {remover.name}"
    found = name_standings(
        trained, standings_without(remover, scored, Sets.of(sets), rivals=N_RIVALS)
    )
    return found, () if remover.name == method else (note,)


@dataclass(frozen=True, eq=False)
class _Found:
    """What retraining one case showed."""

    effect: OfSeed
    """On the first prediction, without the whole set."""
    singles: Sequence[Standing]
    """Of the first prediction, without each other set."""
    control: Standings
    after: Standings
    """Of all predictions, with all facts and without the whole set."""


def _retrain(case: Case, asked: Sequence[Prediction], sets: Sequence[FactIds]) -> _Found:
    """Retrain without each set, and score all predictions."""
    predictions = case.predictions(asked)
    found = case.retrainer.ask(predictions, [Job.of(ids, range(len(asked))) for ids in sets])
    after, *singles = found.jobs
    standings = np.array([each[0] for each in (found.control, after, *singles)])
    before, actual, *others = name_standings(case.trained, standings)
    alike = stand_alike(case.stand(predictions), found.control)
    effect = OfSeed(case.seed, before, actual, control_matches_run=alike)
    return _Found(effect, others, found.control, after)


def find_top_answers(
    trained: Trained, answers: Sequence[int], before: Standings, actual: Standings
) -> tuple[TopAnswer, ...]:
    """The top answers before and after retraining, in the order after it.

    answers: (n,) entities, with their standings (n,).
    """
    entities, value = trained.dataset.entities, "score" if trained.config.rated else "probability"
    found = [
        TopAnswer(
            entities.name(answer),
            entities.label(answer),
            before=float(old[value]),
            rank_before=int(old["rank"]),
            actual=float(new[value]),
            rank_actual=int(new["rank"]),
        )
        for answer, old, new in zip(answers, before, actual, strict=True)
        if min(old["rank"], new["rank"]) <= _TOP
    ]
    # A known answer has the rank of the new answer below it.
    return tuple(sorted(found, key=lambda each: (each.rank_actual, -each.actual)))
