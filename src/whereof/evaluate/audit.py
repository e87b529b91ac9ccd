"""Audit a run: find facts that look wrong, facts and groups that help or harm, and idle facts.

Help and harm are measured on held-out facts. A single fact is measured by the margin of the true
answer: its score minus the score of its strongest rival. Removing many facts changes the size of
all scores, so a group is measured by the probability of the true answer. A model that predicts
ratings has no rivals. There, facts help if they move predicted ratings towards the true ones.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.consistency import Consistency, check_consistency
from whereof.evaluate.dropped import AuditedGroup, DroppedFacts, is_joint
from whereof.evaluate.groupings import find_groupings, known_groups
from whereof.evaluate.held_out import HeldOutFacts, HeldOutQuality
from whereof.evaluate.options import AuditOptions
from whereof.events import Events
from whereof.explain.explain import describe_fact
from whereof.explain.explanation import NamedFact
from whereof.explain.method import (
    Aim,
    Context,
    Goal,
    Method,
    Totals,
    get_method,
    group_methods,
    joint_method,
)
from whereof.explain.suspicion import NEED_ESTIMATES, OwnLosses, find_own_losses
from whereof.predict.prediction import Prediction
from whereof.predict.predictions import Predictions
from whereof.predict.scored import ScoredPrediction, Trained
from whereof.records import RecordTables, as_plain
from whereof.registry import render
from whereof.retrain.methods.unrolled import log_odds
from whereof.retrain.retrainer import Case
from whereof.run.files import Arrays, like
from whereof.types import FactIds, Numbers
from whereof.units import count

SPLITS = ("test", "valid")
"""Where held-out facts come from: the first that has facts, unless an option names one."""
_IDLE = 0.01
"""A fact supports nothing if it raises no margin by this or more. 0.01 is 1% of the odds."""
_LIMIT, _FEW_PAIRS = 500, 1 << 24
"""Number of held-out facts to look at, unless there are few pairs of a held-out fact and a training
fact. Then it takes seconds to look at all of them."""
_SHOWN = 3
"""Number of unknown names to show."""


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
    predicted_rating: float | None
    """The rating that the model predicts; None without ratings."""
    actual_probability: float | None = None
    """With `verify`: its probability after retraining without all suspicious facts."""
    actual_rating: float | None = None
    """The same for the predicted rating."""


@dataclass(frozen=True, kw_only=True)
class BlamedFact(NamedFact):
    """A fact that lowers the margins of true answers which the model gets wrong."""

    blame: float
    """How far it lowers these margins, added up, as estimated."""
    influence: float
    """Its influence on the margins of all held-out facts, added up, as estimated."""


@dataclass(frozen=True)
class HeldOut:
    """The held-out facts that an audit looks at, and how the model does on them."""

    split: str
    n_facts: int
    n_all: int
    """Number of facts of the split, of which the audit looks at `n_facts`."""
    n_predictions: int
    """With inverse relations, two for each fact."""
    n_wrong: int
    """Those with another top answer; for ratings, those with an error above the RMSE."""
    mean_probability: float | None
    """Of the true answers, among new answers. None for ratings."""
    mrr: float | None
    """Ranks skip what is known from training and validation. None for ratings."""


@dataclass(frozen=True)
class Audit(RecordTables):
    """What an audit found."""

    main_part = "suspicious"

    ranking: str
    method: str | None
    """The method behind the influences of facts. None if no method fits the run, or if it has no
    held-out facts: then `blamed` and `idle` are empty."""
    ranking_method: str | None
    """The method behind the losses without each fact; None if they are not estimated."""
    group_method: str | None
    """The method behind the influences of groups."""
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
    n_groups: dict[str, int] = field(default_factory=dict)
    """Number of groups of each kind. Of these, `groups` has those that help most, and those that
    harm most: up to `top` of each."""

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof audit --json` prints."""
        return dict(as_plain(self))

    def to_file(self, path: str | Path, *, force: bool = False) -> None:
        """Write the suspicious facts as rows of a file, which `Run.unlearn` reads.

        The ending says how: .parquet, or .jsonl, .tsv, .txt or .csv, each also with .gz. `force`
        overwrites a file that exists.
        """
        render("audit-file", Path(path), self.to_dict()["suspicious"], force)

    def __str__(self) -> str:
        """What the audit found, in words."""
        return str(render("audit-words", self))

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

    method: estimates the influence on held-out facts; rollback if it cannot do this. If no method
    fits the run, the audit has no estimates, unless the options name a method. groups: entity names
    and their groups. case: retrains without the listed facts and groups; None retrains nothing.
    """
    able: Method | None = get_method(method)
    if options.method is None and not any(each.fits(trained) for each in group_methods()):
        able = None
    elif able is not None and "groups" not in able.can:
        able = joint_method()
    return _Audit(trained, able, options, groups, events, case).run()


class _Audit:
    """One call of `audit`."""

    def __init__(
        self,
        trained: Trained,
        method: Method | None,
        options: AuditOptions,
        groups: Mapping[str, str],
        events: Events,
        case: Case | None,
    ) -> None:
        self.case, self.trained, self.data = case, trained, trained.dataset
        self.method, self.options, self.entity_groups = method, options, groups
        self.events, self.notes = events, list[str]()
        with_facts = (split for split in SPLITS if len(getattr(self.data, split)))
        self.split = options.split or next(with_facts, SPLITS[0])
        self.most = None if options.top == "all" else int(options.top)
        if method is not None:
            method.check_groups(self.trained)

    def run(self) -> Audit:
        start = time.perf_counter()
        # Refuses what the data does not have.
        by_id, unknown = known_groups(self.data, self.entity_groups, self.options.groups)
        if unknown:
            names = ", ".join(map(repr, unknown[:_SHOWN])) + ", ..." * (len(unknown) > _SHOWN)
            what = count(len(self.entity_groups), "name")
            self.notes.append(
                f"left out {len(unknown):,} of {what} in the groups, because the run does not have "
                f"them: {names}"
            )
        groupings = [*find_groupings(self.data, self.options.kinds, by_id)]
        ranking, own_method = self._choose_ranking()
        own = find_own_losses(self.trained, _name(own_method), self.events)
        values = own.rank(ranking)
        order = np.argsort(-values, kind="stable")[: self.most]
        suspicious = tuple(self._suspicious(own, values, order))
        consistency = check_consistency(self.data)
        told = consistency.contradictions[: self.most]
        conflicting = sorted({fact for each in told for fact in each.fact_ids})
        blamed, idle = list[BlamedFact](), None
        totals = self._totals(self.method) if self.goals and self.method else None
        if totals is not None:
            blamed, idle = [*self._blamed(totals)], self._find_idle(totals)
        dropped = self._dropped(totals)
        listed = {"suspicious": order, "blamed": [fact.fact_id for fact in blamed]}
        by_kind = {kind: np.sort(np.array(ids, np.int64)) for kind, ids in listed.items()}
        groups, verified = dropped.audit(groupings, by_kind)
        return Audit(
            ranking=ranking,
            method=None if totals is None else _name(self.method),
            ranking_method=_name(own_method),
            group_method=None if totals is None else _name(self._group_method()),
            suspicious=tuple(self._as_retrained(it, dropped) for it in suspicious),
            held_out=self._held_out(dropped.quality) if self.goals else None,
            blamed=tuple(blamed),
            groups=tuple(groups),
            n_idle=None if idle is None else len(idle),
            idle=tuple(self._named(() if idle is None else idle[: self.most])),
            verified=tuple(verified),
            consistency=consistency,
            conflicting=tuple(self._named(conflicting)),
            n_retrainings=dropped.n_retrainings,
            seconds=time.perf_counter() - start,
            notes=(
                *self.notes,
                *dropped.notes,
                *(self.method.notes(self.trained) if totals and self.method else ()),
            ),
            n_groups={it.kind: len(it.filled) for it in groupings} if groups else {},
        )

    def _choose_ranking(self) -> tuple[str, Method | None]:
        """How to rank suspicious facts, and the method behind the losses without each fact."""
        method, joint = self.method, joint_method()
        if self.options.ranking_method:
            method = get_method(self.options.ranking_method)
        elif joint.fits(self.trained):
            method = joint
        ranking = self.options.ranking or ("loss" if method is None else "loss-without")
        if method is None:
            if ranking in NEED_ESTIMATES:
                joint.check_groups(self.trained)  # says what is missing
            self.notes.append(
                "the run has no trace, and how it was trained is not known, so the audit cannot "
                f"estimate what happens without a fact: it ranks facts by {ranking}, and does not "
                "say which facts help"
            )
        return ranking, method

    def _named(self, fact_ids: Any) -> Iterator[NamedFact]:
        return (NamedFact(**describe_fact(self.data, int(fact))) for fact in fact_ids)

    def _suspicious(
        self, own: OwnLosses, values: Numbers, order: FactIds
    ) -> Iterator[SuspiciousFact]:
        rated = self.trained.config.rated
        losses = (None, None) if rated else (own.loss, own.without)
        for fact in order.tolist():
            before, without = (None if it is None else float(np.exp(-it[fact])) for it in losses)
            yield SuspiciousFact(
                **describe_fact(self.data, fact),
                suspicion=float(values[fact]),
                probability=before,
                probability_without=without,
                predicted_rating=float(own.score[fact]) if rated else None,
            )

    @cached_property
    def goals(self) -> list[tuple[Goal, bool]]:
        """The goal for every held-out fact, and whether the model answers it wrongly."""
        facts = getattr(self.data, self.split)
        if note := self._split_note(len(facts)):
            self.notes.append(note)
        if not len(facts):
            return []
        self.chosen, limit = np.arange(len(facts)), self.options.limit
        if limit is None:
            limit = "all" if len(facts) * self.data.n_facts <= _FEW_PAIRS else _LIMIT
        if limit != "all" and len(facts) > int(limit):
            self.chosen = np.linspace(0, len(facts) - 1, int(limit)).astype(int)
        if self.trained.config.rated:
            return self._rating_goals(self.chosen)
        sides = ("object", "subject") if self.trained.config.inverse else ("object",)
        triples = facts[self.chosen].tolist()
        asked = (Prediction(s, r, o, asks) for asks in sides for s, r, o in triples)
        return [*self._margin_goals(asked)]

    def _split_note(self, n_facts: int) -> str:
        """What to know of the held-out facts; empty if they are those that were asked for."""
        lacks = f"split {self.options.split or 'test'} has no facts"
        if n_facts and (self.options.split or self.split == SPLITS[0]):
            return ""
        if n_facts:
            return f"{lacks}, so the audit uses the facts of split {self.split}"
        remedy = "train with --test-fraction"
        if others := [split for split in SPLITS if len(getattr(self.data, split))]:
            remedy = f"choose --split {others[0]}"
        return f"{lacks}, so the audit cannot measure which facts help; {remedy}"

    def _margin_goals(self, asked: Iterator[Prediction]) -> Iterator[tuple[Goal, bool]]:
        for prediction in asked:
            scored = self.trained.score(prediction)
            rivals = np.where(scored.splits < 0, scored.plain_scores, -np.inf)  # false answers
            rivals[scored.place] = -np.inf
            if np.isfinite(rivals).any():
                rival = int(rivals.argmax())
                aim = Aim("log_ratio", int(scored.candidates.ids[rival]))
                yield Goal(scored, aim), bool(rivals[rival] > scored.plain_scores[scored.place])

    def _rating_goals(self, chosen: NDArray[np.int64]) -> list[tuple[Goal, bool]]:
        facts, ratings = getattr(self.data, self.split), getattr(self.data.ratings, self.split)
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

    def _totals(self, method: Method) -> Totals:
        """Influences on the margins of wrong answers, and of right ones.

        With a linear method, also influences on the probabilities, for groups of facts.
        """
        groups = [[goal for goal, wrong in self.goals if wrong is side] for side in (True, False)]
        if not is_joint(self.trained) and not self.trained.config.rated:
            groups.append([_probability_goal(goal.scored) for goal, _ in self.goals])
        filled = [group for group in groups if group]
        found = self._stored_total(method, filled)
        sums = np.zeros((len(groups), self.data.n_facts))
        sums[[bool(group) for group in groups]] = found.sums
        return replace(found, sums=sums)

    def _stored_total(self, method: Method, groups: Sequence[Sequence[Goal]]) -> Totals:
        """The totals of a method; if it sweeps through training, the run stores them."""
        if not method.is_linear:
            return method.total(self.trained, groups, self.events)
        how = method.depends_on(self.trained, Context(groups[0][0].aim))
        asked = [
            [(goal.scored.prediction, goal.aim, goal.weight) for goal in group] for group in groups
        ]
        digest = blake2b(repr((asked, how)).encode(), digest_size=8).hexdigest()

        def make() -> Arrays:
            return {"sums": method.total(self.trained, groups, self.events).sums}

        fits = like(sums=((len(groups), self.data.n_facts), "float64"))
        key = f"audit-{method.name}-{digest}"
        return Totals(self.trained.store.get(key, make, fits, self.events)["sums"])

    def _blamed(self, totals: Totals) -> Iterator[BlamedFact]:
        """The facts that lower the margins of wrong answers most."""
        blame, every = -totals.sums[0], totals.sums[:2].sum(axis=0)
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

    def _held_out(self, quality: HeldOutQuality) -> HeldOut:
        rated = self.trained.config.rated
        return HeldOut(
            split=self.split,
            n_facts=len(self.chosen),
            n_all=len(getattr(self.data, self.split)),
            n_predictions=len(self.goals),
            n_wrong=sum(wrong for _, wrong in self.goals),
            mean_probability=None if rated else quality.value,
            mrr=quality.mrr,
        )

    def _group_method(self) -> Method | None:
        return joint_method() if is_joint(self.trained) else self.method

    def _dropped(self, totals: Totals | None) -> DroppedFacts:
        facts, sums = None, None
        if self.goals:
            asked, ratings = [goal.scored.prediction for goal, _ in self.goals], None
            if self.trained.config.rated:
                ratings = getattr(self.data.ratings, self.split)[self.chosen]
            facts = HeldOutFacts(self.trained, Predictions.of(self.trained, asked), ratings)
        if totals is not None:
            sums = totals.sums[-1] if len(totals.sums) > 2 else totals.sums.sum(axis=0)
        return DroppedFacts(self.trained, facts, sums, self.most, self.case, self.events)

    def _as_retrained(self, fact: SuspiciousFact, dropped: DroppedFacts) -> SuspiciousFact:
        """The fact with what the model says of it after retraining, if it was retrained."""
        value = dropped.retrained.get(fact.fact_id)
        if self.trained.config.rated:
            return replace(fact, actual_rating=value)
        return replace(fact, actual_probability=value)


def _name(method: Method | None) -> str | None:
    return None if method is None else method.name


def _probability_goal(scored: ScoredPrediction) -> Goal:
    """The probability among new answers, by the log-odds: p (1 - p) is its derivative."""
    aim = Aim("new_probability")
    probability = 1 / (1 + float(np.exp(-log_odds(scored, aim))))
    return Goal(scored, aim, probability * (1 - probability))
