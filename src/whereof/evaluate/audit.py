"""Audit a run: find facts that look wrong, facts and groups that help or harm, and idle facts.

Help and harm are measured on held-out facts, by the margin of the true answer: its score minus the
score of its strongest rival. A model that predicts ratings has no rivals. There, a fact helps if it
moves the predicted rating towards the true one.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.consistency import Consistency, check_consistency
from whereof.errors import WhereofError
from whereof.evaluate.groupings import Grouping, find_groupings
from whereof.evaluate.options import AuditOptions
from whereof.events import Events
from whereof.explain.explain import describe_fact
from whereof.explain.explanation import NamedFact, as_plain
from whereof.explain.method import Aim, Goal, Method, Totals, get_method, joint_method
from whereof.explain.methods.rollback import roll_back_rows
from whereof.explain.suspicion import OwnLosses, find_own_losses
from whereof.predict.prediction import Prediction
from whereof.predict.scored import Standings, Trained
from whereof.registry import render
from whereof.retrain.engine import Job
from whereof.retrain.retrainer import Case
from whereof.types import FactIds, Numbers

_IDLE = 0.01
"""A fact supports nothing if it raises no margin by this or more. 0.01 is 1% of the odds."""


@dataclass(frozen=True, kw_only=True)
class SuspiciousFact(NamedFact):
    """A fact that may be wrong."""

    suspicion: float
    """The value of the ranking: higher is more suspicious."""
    probability: float | None
    """The probability that the model gives to its answer, among answers that no other training
    fact gives; None for ratings."""
    probability_without: float | None
    """An estimate of it if the fact had not been trained on."""


@dataclass(frozen=True, kw_only=True)
class BlamedFact(NamedFact):
    """A fact that lowers the margins of true answers which the model gets wrong."""

    blame: float
    """How far it lowers these margins, added up, as estimated."""
    influence: float
    """Its influence on the margins of all held-out facts, added up, as estimated."""


@dataclass(frozen=True)
class AuditedGroup:
    """Facts that belong together, and their influence on held-out facts."""

    kind: str
    """relation, entity, source or group; suspicious or blamed facts, if they were retrained."""
    name: str
    label: str
    n_facts: int
    influence: float | None
    """The mean margin of the held-out facts with all facts minus that without the group, as
    estimated; positive helps."""
    actual: float | None = None
    """The same by retraining."""
    mrr: float | None = None
    """Mean reciprocal rank of the held-out facts without the group, by retraining."""


@dataclass(frozen=True)
class HeldOut:
    """The held-out facts that an audit looks at, and how the model does on them."""

    split: str
    n_predictions: int
    """With inverse relations, two for each fact."""
    n_wrong: int
    """Those with another top answer; for ratings, those with an error above the RMSE."""
    mean_margin: float | None
    """None for ratings."""
    mrr: float | None
    """Ranks skip what is known from training and validation. None for ratings."""


@dataclass(frozen=True)
class Audit:
    """What an audit found."""

    ranking: str
    method: str
    ranking_method: str
    """The method behind the losses without each fact."""
    suspicious: tuple[SuspiciousFact, ...]
    held_out: HeldOut | None
    """None if the run has no held-out facts. Then all fields up to `consistency` are empty."""
    blamed: tuple[BlamedFact, ...]
    groups: tuple[AuditedGroup, ...]
    n_idle: int | None
    """Number of facts that support no held-out fact; None if not known."""
    idle: tuple[NamedFact, ...]
    verified: tuple[AuditedGroup, ...]
    """With `verify`: retrained without all suspicious facts, and without all blamed facts."""
    consistency: Consistency
    conflicting: tuple[NamedFact, ...]
    """The facts of the listed contradictions."""
    n_retrainings: int
    seconds: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof audit --json` prints."""
        return dict(as_plain(self))

    def _repr_html_(self) -> str:
        return str(render("audit-html", self))


def audit(
    trained: Trained,
    method: str,
    options: AuditOptions,
    groups: Mapping[str, str],
    events: Events,
    case: Case | None = None,
) -> Audit:
    """Audit a run.

    method: estimates the influence on held-out facts. groups: entity names and their groups. case:
    retrains without the listed facts and groups; None retrains nothing.
    """
    return _Audit(trained, get_method(method), options, groups, events, case).run()


class _Audit:
    """One call of `audit`."""

    def __init__(
        self,
        trained: Trained,
        method: Method,
        options: AuditOptions,
        groups: Mapping[str, str],
        events: Events,
        case: Case | None,
    ) -> None:
        self.case, self.trained, self.data = case, trained, trained.dataset
        self.method, self.options, self.entity_groups = method, options, groups
        self.events, self.notes = events, list[str]()
        self.most = None if options.top == "all" else int(options.top)
        if not {"groups", "contrast"} <= method.can or method.retrains or method.draws:
            raise WhereofError(f"audit requires method rollback or unrolled, not {method.name}")
        method.check(self.trained)

    def run(self) -> Audit:
        start, own_method = time.perf_counter(), joint_method()
        if not own_method.fits(self.trained):
            own_method = self.method
        # Refuses what the data does not have.
        self.groupings = [*find_groupings(self.data, self.options.kinds, self.entity_groups)]
        own = find_own_losses(self.trained, own_method.name, self.events)
        order = np.argsort(-own.rank(self.options.ranking), kind="stable")[: self.most]
        suspicious = tuple(self._suspicious(own, order))
        consistency = check_consistency(self.data)
        told = consistency.contradictions[: self.most]
        conflicting = sorted({fact for each in told for fact in each.fact_ids})
        blamed, groups, verified = list[BlamedFact](), list[AuditedGroup](), list[AuditedGroup]()
        idle: FactIds | None = None
        if self.goals:
            totals = self._totals()
            blamed, idle = [*self._blamed(totals)], self._find_idle(totals)
            groups, verified = self._audit_groups(totals, order, blamed)
        return Audit(
            ranking=self.options.ranking,
            method=self.method.name,
            ranking_method=own_method.name,
            suspicious=suspicious,
            held_out=self._held_out() if self.goals else None,
            blamed=tuple(blamed),
            groups=tuple(groups),
            n_idle=None if idle is None else len(idle),
            idle=tuple(self._named(() if idle is None else idle[: self.most])),
            verified=tuple(verified),
            consistency=consistency,
            conflicting=tuple(self._named(conflicting)),
            n_retrainings=self.case.retrainer.counts.total() if self.case else 0,
            seconds=time.perf_counter() - start,
            notes=(*self.notes, *self.method.notes(self.trained)),
        )

    def _named(self, fact_ids: Any) -> Iterator[NamedFact]:
        return (NamedFact(**describe_fact(self.data, int(fact))) for fact in fact_ids)

    def _suspicious(self, own: OwnLosses, order: FactIds) -> Iterator[SuspiciousFact]:
        values, rated = own.rank(self.options.ranking), self.trained.config.rated
        for fact in order.tolist():
            yield SuspiciousFact(
                **describe_fact(self.data, fact),
                suspicion=float(values[fact]),
                probability=None if rated else float(np.exp(-own.loss[fact])),
                probability_without=None if rated else float(np.exp(-own.without[fact])),
            )

    @cached_property
    def goals(self) -> list[tuple[Goal, bool]]:
        """The goal for every held-out fact, and whether the model answers it wrongly."""
        facts = getattr(self.data, self.options.split)
        if not len(facts):
            self.notes.append(
                f"split {self.options.split} has no facts, so the audit cannot measure which facts "
                "help; train with --test-fraction"
            )
            return []
        chosen = np.arange(len(facts))
        if self.options.limit != "all" and len(facts) > int(self.options.limit):
            chosen = np.linspace(0, len(facts) - 1, int(self.options.limit)).astype(int)
            some = f"{len(chosen):,} of {len(facts):,} facts of the split {self.options.split}"
            self.notes.append(f"held-out facts: {some}")
        if self.trained.config.rated:
            return self._rating_goals(chosen)
        sides = ("object", "subject") if self.trained.config.inverse else ("object",)
        triples = facts[chosen].tolist()
        asked = (Prediction(s, r, o, asks) for asks in sides for s, r, o in triples)
        return [*self._margin_goals(asked)]

    def _margin_goals(self, asked: Iterator[Prediction]) -> Iterator[tuple[Goal, bool]]:
        for prediction in asked:
            scored = self.trained.score(prediction)
            rivals = np.where(scored.new, scored.plain_scores, -np.inf)
            rivals[scored.place] = -np.inf
            if np.isfinite(rivals).any():
                rival = int(rivals.argmax())
                aim = Aim("log_ratio", int(scored.candidates.ids[rival]))
                yield Goal(scored, aim), bool(rivals[rival] > scored.plain_scores[scored.place])

    def _rating_goals(self, chosen: NDArray[np.int64]) -> list[tuple[Goal, bool]]:
        facts = getattr(self.data, self.options.split)
        ratings = getattr(self.data.ratings, self.options.split)
        scored = [self.trained.score(Prediction(*facts[i].tolist())) for i in chosen]
        errors = np.array(
            [ratings[i] - it.scores[it.place] for i, it in zip(chosen, scored, strict=True)]
        )
        wrong = np.abs(errors) > np.sqrt((errors**2).mean())
        signs = np.sign(errors)
        return [
            (Goal(each, Aim("score"), float(sign)), bool(is_wrong))
            for each, sign, is_wrong in zip(scored, signs, wrong, strict=True)
        ]

    def _totals(self) -> Totals:
        """Influences on the margins of wrong answers, and of right ones; never an empty group."""
        groups = [[goal for goal, wrong in self.goals if wrong is side] for side in (True, False)]
        filled = [group for group in groups if group]
        found = self.method.total(self.trained, filled, self.events)
        sums = np.zeros((2, self.data.n_facts))
        sums[[bool(group) for group in groups]] = found.sums
        return replace(found, sums=sums)

    def _blamed(self, totals: Totals) -> Iterator[BlamedFact]:
        """The facts that lower the margins of wrong answers most."""
        blame, every = -totals.sums[0], totals.sums.sum(axis=0)
        order = np.argsort(-blame, kind="stable")[: self.most]
        for fact in order[blame[order] > 0].tolist():
            about = describe_fact(self.data, fact)
            yield BlamedFact(**about, blame=float(blame[fact]), influence=float(every[fact]))

    def _find_idle(self, totals: Totals) -> FactIds | None:
        """The facts that raise no margin."""
        largest, other = totals.largest, joint_method()
        if largest is None and other.fits(self.trained):
            goals = [[goal for goal, _ in self.goals]]
            largest = other.total(self.trained, goals, self.events).largest
        return None if largest is None else np.flatnonzero(largest < _IDLE)

    def _held_out(self) -> HeldOut:
        rated, n_wrong = self.trained.config.rated, sum(wrong for _, wrong in self.goals)
        margins, ranks = self._margins(), None
        if not rated:
            ranks = np.array([goal.scored.standing.rank for goal, _ in self.goals])
        return HeldOut(
            split=self.options.split,
            n_predictions=len(self.goals),
            n_wrong=n_wrong,
            mean_margin=None if rated else float(margins.mean()),
            mrr=None if ranks is None else float((1 / ranks).mean()),
        )

    def _audit_groups(
        self, totals: Totals, suspicious: FactIds, blamed: Sequence[BlamedFact]
    ) -> tuple[list[AuditedGroup], list[AuditedGroup]]:
        """The strongest groups of every kind; and the listed facts, if they are retrained."""
        sums, found, sets = totals.sums.sum(axis=0), list[AuditedGroup](), list[FactIds]()
        for grouping in self.groupings:
            totals_of = grouping.sums(sums)
            strongest = np.argsort(-np.abs(totals_of), kind="stable")[: self.most]
            for group in strongest[np.argsort(-totals_of[strongest], kind="stable")].tolist():
                fact_ids = grouping.facts_of(group)
                if len(fact_ids) > 0:
                    sets.append(fact_ids)
                    found.append(self._group(grouping, group, fact_ids, sums))
        listed: list[tuple[str, FactIds]] = []
        if self.case is not None:
            blamed_ids = np.array([fact.fact_id for fact in blamed], np.int64)
            listed = [("suspicious", np.sort(suspicious)), ("blamed", np.sort(blamed_ids))]
            listed = [(kind, ids) for kind, ids in listed if len(ids)]
        verified = [
            AuditedGroup(kind, kind, f"{kind} facts", len(ids), self._estimate(ids, sums))
            for kind, ids in listed
        ]
        if self.case is not None:
            every = self._retrain(
                self.case, [*found, *verified], [*sets, *(ids for _, ids in listed)]
            )
            found, verified = every[: len(found)], every[len(found) :]
        return found, verified

    def _group(
        self, grouping: Grouping, group: int, fact_ids: FactIds, sums: Numbers
    ) -> AuditedGroup:
        names = grouping.names[group], grouping.labels[group]
        return AuditedGroup(grouping.kind, *names, len(fact_ids), self._estimate(fact_ids, sums))

    def _estimate(self, fact_ids: FactIds, sums: Numbers) -> float:
        """The mean margin minus that without some facts: by joint rollback, or as a sum."""
        if self.method.is_linear:
            return float(sums[fact_ids].sum()) / len(self.goals)
        rows = roll_back_rows(self.trained, fact_ids)
        return float((self._margins() - self._margins(rows)).mean())

    def _margins(self, rows: Any = None) -> Numbers:
        """(n_goals,) the margin of every goal under some rows, or under those of the run."""
        scorer = self.trained.scorer
        if rows is not None:
            scorer = replace(scorer, entity_rows=rows.entity_rows, relation_rows=rows.relation_rows)
        own, rivals, weights = self._triples
        margins = scorer.fact_scores(own).astype(np.float64)
        if rivals is not None:
            margins -= scorer.fact_scores(rivals)
        return np.asarray(weights * margins)

    @cached_property
    def _triples(self) -> tuple[Any, Any, Numbers]:
        """(n_goals, 3) given entity, relation row and answer; the same with the rival."""
        goals = [goal for goal, _ in self.goals]
        own = [
            (it.scored.prediction.given, it.scored.relation_row, it.scored.target) for it in goals
        ]
        weights, rivals = np.array([it.weight for it in goals]), None
        if not self.trained.config.rated:
            rivals = np.array(
                [(*o[:2], it.aim.rival) for o, it in zip(own, goals, strict=True)], np.int32
            )
        return np.array(own, np.int32), rivals, weights

    def _retrain(
        self, case: Case, groups: Sequence[AuditedGroup], sets: Sequence[FactIds]
    ) -> list[AuditedGroup]:
        """The groups with what retraining without each of them does."""
        asked = [goal.scored.prediction for goal, _ in self.goals]
        n, rated = len(asked), self.trained.config.rated
        if not rated:
            rivals = zip(asked, (goal.aim.rival for goal, _ in self.goals), strict=True)
            asked += [each.answered(rival) for each, rival in rivals]
        jobs = [Job.of(ids, np.arange(len(asked))) for ids in sets if len(ids) < self.data.n_facts]
        outcomes = case.retrainer.ask(case.predictions(asked), jobs)
        _, _, weights = self._triples

        def margins(found: Standings) -> Numbers:
            scores = found["score"]
            return np.asarray(weights * (scores if rated else scores[:n] - scores[n:]))

        after, done = iter(outcomes.jobs), []
        for group, ids in zip(groups, sets, strict=True):
            if len(ids) < self.data.n_facts:
                found = next(after)
                fall = float((margins(outcomes.control) - margins(found)).mean())
                mrr = None if rated else float((1 / found["rank"][:n]).mean())
                group = replace(group, actual=fall, mrr=mrr)
            done.append(group)
        return done
