"""The interface of methods: how they estimate influence, what they need and what they can do."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Events
from whereof.explain.options import RetrainingBudget
from whereof.predict.prediction import Prediction
from whereof.predict.scored import ScoredPrediction, Standings, Trained
from whereof.registry import METHODS, add, load, names
from whereof.run.files import Arrays
from whereof.run.reliability import Claims
from whereof.types import FactIds, Numbers

NEEDS = {
    "trace", "checkpoints", "formula", "recipe", "retraining", "sigmoid loss", "history",
}  # fmt: skip
ABILITIES = {"groups", "contrast", "device", "standings", "non-adjacent facts", "budget", "sweep"}
"""What a method can need, and be able to do; docs/add-a-method.md says what each means."""
N_RIVALS = 3
"""Default number of other answers to follow for one prediction."""
_CHUNK = 1 << 15
"""Number of facts whose changes are kept in memory at a time."""


@dataclass(frozen=True)
class Aim:
    """The quantity that influence is measured on."""

    of: str
    """probability, score or loss of the prediction; log_ratio of a contrast; new_probability among
    the answers that neither training nor validation gives, for methods that are linear."""
    rival: int | None = None
    """The entity that is the other answer of a contrast."""

    @classmethod
    def of_options(
        cls, scored: ScoredPrediction, of: str | None = None, instead_of: str | None = None
    ) -> "Aim":
        """The quantity that options name: `of`, or the log ratio to another answer."""
        data = scored.trained.dataset
        if instead_of is not None:
            rival = data.entities.find(instead_of, scored.prediction.candidates(data))
            if rival == scored.target:
                raise WhereofError(f"{instead_of!r} is the prediction itself; name another answer")
            return cls("log_ratio", scored.answered(rival).target)
        if not scored.trained.config.rated:
            return cls(of or "probability")
        if of in ("probability", "loss"):
            raise WhereofError(f"this run predicts ratings, which have no {of}; set of to score")
        return cls("score")

    def slopes(self, scored: ScoredPrediction) -> Numbers:
        """(n_candidates,) derivative of the quantity by every candidate's score."""
        place, slopes = scored.place, np.zeros(len(scored.scores))
        slopes[place] = 1
        if self.rival is not None:
            slopes[scored.candidates.places[self.rival]] -= 1
        elif self.of == "loss" and scored.trained.config.loss == "sigmoid":
            slopes[place] = 1 / (1 + np.exp(scored.scores[place]))
        elif self.of != "score":
            slopes -= scored.probabilities
            slopes *= scored.probability if self.of == "probability" else 1.0
        return slopes


@dataclass(frozen=True, eq=False)
class Context:
    """What a method gets in addition to the prediction and the facts."""

    aim: Aim
    seed: int = 0
    """Seed for random draws of the method."""
    top: int | str | None = None
    """Number of facts to rank, "all" with the right sign, or None for any."""
    opposing: bool = False
    """Whether to rank opposing facts first."""
    exhaustive: bool = False
    """Whether to score every fact against every candidate, without bounds."""
    prepared: Arrays = field(default_factory=dict)
    """What `prepare` returned."""
    retrainer: Any = None
    """A `whereof.retrain` Case, for a method that needs retraining."""
    budget: RetrainingBudget = field(default_factory=RetrainingBudget)
    """How much to retrain, for a method with the ability `budget`."""
    rivals: int = 0
    """Number of other answers to follow, for a method that needs work to say which would win."""
    sweep_epochs: int | None = None
    """Epochs to sweep, from the end of training, for a method with the ability `sweep`."""
    sweep_memory: float = 1.0
    """Gigabytes for a sweep on the CPU; on a GPU it uses half of the free memory."""


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of facts to be removed together: set i is fact_ids[bounds[i]:bounds[i + 1]]."""

    fact_ids: FactIds
    bounds: NDArray[np.int64]

    @classmethod
    def each(cls, fact_ids: FactIds) -> "Sets":
        """Every fact alone."""
        return cls(fact_ids, np.arange(len(fact_ids) + 1))

    @classmethod
    def of(cls, sets: Iterable[FactIds]) -> "Sets":
        """These sets, in order; an array (n_sets, size) has sets of one size."""
        if isinstance(sets, np.ndarray) and sets.ndim == 2:
            n_sets, size = sets.shape
            return cls(sets.ravel(), np.arange(n_sets + 1) * size)
        each = [np.zeros(0, np.int64), *sets]
        return cls(np.concatenate(each), np.cumsum([len(ids) for ids in each]))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def are_single(self) -> bool:
        """Whether every set has one fact."""
        return len(self) == len(self.fact_ids) and bool((np.diff(self.bounds) == 1).all())

    def take(self, chosen: NDArray[np.int64]) -> "Sets":
        """Some of the sets, in that order."""
        starts, sizes = self.bounds[chosen], np.diff(self.bounds)[chosen]
        bounds = np.append(0, np.cumsum(sizes))
        within = np.arange(bounds[-1]) - np.repeat(bounds[:-1], sizes)
        return Sets(self.fact_ids[np.repeat(starts, sizes) + within], bounds)

    def parts(self) -> Iterator["Sets"]:
        """The sets in order, split into parts that fit into memory; at least one part."""
        size = max(_CHUNK * len(self) // max(len(self.fact_ids), 1), 1)
        for start in range(0, max(len(self), 1), size):
            bounds = self.bounds[start : start + size + 1]
            yield Sets(self.fact_ids[bounds[0] : bounds[-1]], bounds - bounds[0])


class Removed(NamedTuple):
    """The effect of each removal."""

    influences: Numbers
    """(n,)"""
    standings: Standings
    """(n,) of the prediction after each."""


class Goal(NamedTuple):
    """A quantity of one prediction with a weight, for influences added up over many predictions."""

    scored: ScoredPrediction
    aim: Aim
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Totals:
    """The influence of every fact on many predictions."""

    sums: Numbers
    """(n_groups, n_facts) added up over the goals of each group."""
    largest: Numbers | None = None
    """(n_facts,) the largest influence on any of the goals; None if not known."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """The strongest facts, or sets of facts, strongest first."""

    chosen: NDArray[np.int64]
    """(n,) their positions among the sets that were given, or ids of facts."""
    influences: Numbers
    """(n,)"""
    totals: tuple[float, float] | None = None
    """The sums of all supporting and of all opposing influences; None if some were skipped."""
    standings: Standings | None = None
    """(n,) standing of the prediction without each, if the method computes it."""
    top_before: int | None = None
    """The top answer with all facts; None if it is that of the run."""
    predicted: Numbers | None = None
    """(n,) estimates of the influences that were measured; NaN if there is none."""
    nominated_by: tuple[tuple[str, ...], ...] | None = None
    """(n,) names of the methods that chose each fact for retraining."""
    notes: tuple[str, ...] = ()

    def take(self, places: NDArray[np.int64]) -> "Ranked":
        """Those at some places, in that order; the totals are still those of all."""
        by = self.nominated_by
        return replace(
            self,
            chosen=self.chosen[places],
            influences=self.influences[places],
            standings=None if self.standings is None else self.standings[places],
            predicted=None if self.predicted is None else self.predicted[places],
            nominated_by=None if by is None else tuple(by[place] for place in places.tolist()),
        )

    def followed_by(self, other: "Ranked") -> "Ranked":
        """These estimates, then those of other facts of the same prediction."""
        both, totals, after, said, by = (self, other), None, None, None, None
        if self.totals is not None and other.totals is not None:
            totals = (self.totals[0] + other.totals[0], self.totals[1] + other.totals[1])
        if self.standings is not None and other.standings is not None:
            after = np.concatenate([self.standings, other.standings])
        if self.predicted is not None and other.predicted is not None:
            said = np.concatenate([self.predicted, other.predicted])
        if self.nominated_by is not None and other.nominated_by is not None:
            by = (*self.nominated_by, *other.nominated_by)
        return replace(
            self,
            chosen=np.concatenate([each.chosen for each in both]),
            influences=np.concatenate([each.influences for each in both]),
            totals=totals,
            standings=after,
            predicted=said,
            nominated_by=by,
            notes=tuple(dict.fromkeys((*self.notes, *other.notes))),
        )


class Method:
    """A way to estimate influence. Subclasses set the attributes and define `estimate`."""

    name: str
    title: str
    phrase: str = ""
    """What it does, in a few plain words, for those who choose a method. Empty: its title."""
    citation: str
    needs: frozenset[str] = frozenset()
    """Some of NEEDS."""
    can: frozenset[str] = frozenset()
    """Some of ABILITIES."""
    draws: bool = False
    """Whether its numbers are random, not influences."""
    same_answer: bool = False
    """Whether it considers only facts with the same answer in the same place."""
    ranks_all: bool = False
    """Whether it ranks all facts, not only adjacent ones."""
    nominates: bool = True
    """Whether `verified` retrains its strongest facts. False if it is slow or adds no new facts."""
    version: int = 1
    """Raise it whenever what it prepares changes: what a run has stored is prepared again."""
    prepares: str | None = None
    """Whether `prepare` has work to do: once a `run`, or for each of the `predictions`."""

    is_linear: bool = False
    """Whether its influences are close to the true ones if training responds linearly to a fact.
    The influence of a set is then the sum over its facts."""

    def trainings(self, n_facts: int, n_predictions: int = 1) -> float:
        """The cost of explanations with n adjacent facts each, in trainings on one core.

        0 if it is far less than a training.
        """
        return 0.0

    def cost(self, trained: Trained, n_facts: int, context: Context) -> float:
        """The cost of one explanation with n adjacent facts, in trainings on one core.

        It includes what the run has yet to measure. The context has the aim, rivals and epochs.
        """
        return self.trainings(n_facts)

    @property
    def in_words(self) -> str:
        """Its phrase, or its title."""
        return self.phrase or self.title

    @property
    def retrains(self) -> bool:
        """Whether its influences are measured by retraining; those of others are estimates."""
        return "retraining" in self.needs

    def prepare(
        self,
        trained: Trained,
        predictions: Sequence[Prediction],
        events: Events,
        context: Context,
    ) -> Arrays:
        """Arrays that estimates share. They are stored in the run and passed in the context.

        If `prepares` is `predictions`, array[i] belongs to prediction i, and an estimate gets
        only its own part.
        """
        return {}

    def depends_on(self, trained: Trained, context: Context) -> tuple[object, ...]:
        """What the result of `prepare` depends on, apart from the prediction."""
        return context.aim, context.rivals, context.sweep_epochs, trained.on_card, self.version

    def accepts(
        self, trained: Trained, prediction: Prediction, context: Context, prepared: Arrays
    ) -> bool:
        """Whether arrays of the run's folder, which may be crafted, fit what `prepare` returns."""
        return True

    def claims(self, trained: Trained) -> Claims | None:
        """How often its estimates are right, if `prepare` has measured this by retraining."""
        return None

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        """(n_facts,) influence of each fact on the quantity that `context.aim` names."""
        raise NotImplementedError

    def rank(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Ranked:
        """The strongest facts; with the ability `groups`, the strongest sets of facts."""
        if "groups" in self.can:
            influences, standings = self.remove(scored, sets, context)
            return rank_influences(influences, context, standings)
        return rank_influences(self.estimate(scored, sets.fact_ids, context), context)

    def remove(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Removed:
        """The effect of removing each set of facts; only methods with the ability `groups`."""
        raise NotImplementedError

    def total(self, trained: Trained, groups: Sequence[Sequence[Goal]], events: Events) -> Totals:
        """Influences added up over groups of goals. A fact counts 0 where it shares nothing."""
        sums = np.zeros((len(groups), trained.dataset.n_facts))
        largest, n_done, n_all = np.zeros(sums.shape[1]), 0, sum(map(len, groups))
        for group, its_sums in zip(groups, sums, strict=True):
            for scored, aim, weight in group:
                asked, context = scored.prediction, Context(aim)
                ends = [it for it in (asked.subject, asked.object, aim.rival) if it is not None]
                near = trained.adjacency.adjacent(ends, asked.relation)
                prepared = prepare(self, trained, [asked], context, events)[asked]
                found = self.estimate(scored, near, replace(context, prepared=prepared))
                its_sums[near] += weight * found
                largest[near] = np.maximum(largest[near], weight * found)
                n_done += 1
                events.emit(Advanced(n_done, n_all, "predictions"))
                if events.should_stop():
                    raise Interrupted("interrupted; the audit was not stored")
        return Totals(sums, largest)

    def check_groups(self, trained: Trained) -> None:
        """As `check`, for tasks that remove groups of facts: suggest a method that can do this."""
        if lacks := self._lacks(trained):
            other = next((each.name for each in group_methods() if each.fits(trained)), None)
            raise WhereofError(f"{lacks}, or choose method {other}" if other else lacks)
        self.check(trained)

    def check(self, trained: Trained) -> None:
        """Raise an error if the run lacks what the method needs."""
        if lacks := self._lacks(trained):
            other = next(each.name for each in plain_methods() if not each._lacks(trained))
            raise WhereofError(f"{lacks}, or choose another method, such as {other}")

    def _lacks(self, trained: Trained) -> str:
        """What the run lacks, and how to train one that has it; empty if it lacks nothing."""
        if "trace" in self.needs and trained.trace is None:
            remedy = "train it without --no-trace"
            if trained.n_trained is None:
                remedy = "other software trained it: record a trace there"
            return f"{self.name} needs a trace and this run has none; {remedy}"
        if "checkpoints" in self.needs and not trained.read_checkpoints():
            lacks, remedy = "this run kept none", "train it with --keep-checkpoints N"
            if trained.n_trained is None:
                lacks, remedy = "runs of other software have none", "train a run with whereof"
            return f"method {self.name} needs checkpoints and {lacks}; {remedy}"
        if "formula" in self.needs and trained.scorer.model.score is not None:
            return (
                f"method {self.name} needs the formula of the score, and this run has a scoring "
                "function of its own; use a model of whereof"
            )
        return ""

    def fits(self, trained: Trained) -> bool:
        """Whether the run has what the method needs."""
        try:
            self.check(trained)
        except WhereofError:
            return False
        return True

    def notes(self, trained: Trained) -> tuple[str, ...]:
        """What a reader of its explanations should know."""
        loss = trained.config.loss
        note = f"{self.name} is made for the sigmoid loss, and this run was trained with {loss}"
        return (note,) if "sigmoid loss" in self.needs and loss != "sigmoid" else ()


def register(method: Method) -> None:
    """Add a method for this process, as an entry point does for an installed package."""
    add(METHODS, method.name, method)


def get_method(name: str) -> Method:
    """The method with this name."""
    method: Method = load(METHODS, name, Method)
    return method


def able_method(ability: str, name: str | None = None) -> Method:
    """The method with this name if it has an ability, otherwise the first method that has it."""
    wanted = names(METHODS) if name is None else (name, *names(METHODS))
    return next(method for method in map(get_method, wanted) if ability in method.can)


def plain_methods() -> Iterator[Method]:
    """The methods that explain any prediction, and do not draw at random."""
    methods = map(get_method, names(METHODS))
    return (each for each in methods if not each.draws and "history" not in each.needs)


def group_methods() -> Iterator[Method]:
    """The methods that estimate the effect of removing a group of facts."""
    return (each for each in plain_methods() if "groups" in each.can and not each.retrains)


def joint_method() -> Method:
    """The first method that estimates a set of facts as a whole, not as a sum."""
    able = (each for each in map(get_method, names(METHODS)) if "groups" in each.can)
    return next(each for each in able if not each.is_linear)


def standings_without(
    method: Method, scored: ScoredPrediction, sets: Sets, **given: Any
) -> Standings:
    """(n_sets,) standings of a prediction without each set, by a method that removes groups.

    given: fields of the context.
    """
    method.check(scored.trained)
    context = Context(Aim.of_options(scored), **given)
    prepared = prepare(method, scored.trained, [scored.prediction], context)[scored.prediction]
    return method.remove(scored, sets, replace(context, prepared=prepared)).standings


def prepare(
    method: Method,
    trained: Trained,
    predictions: Sequence[Prediction],
    context: Context,
    events: Events | None = None,
) -> dict[Prediction, Arrays]:
    """What a method prepares for each prediction; read from the run's store if it is there."""
    listener, distinct = events or Events(), list(dict.fromkeys(predictions))
    if method.prepares is None:
        return {prediction: {} for prediction in distinct}
    keys = _store_keys(method, trained, distinct, context)
    fits = [partial(method.accepts, trained, each, context) for each in distinct]
    if method.prepares == "run":
        shared = trained.store.get(
            keys[0], lambda: method.prepare(trained, distinct, listener, context), fits[0], listener
        )
        return dict.fromkeys(distinct, shared)

    def make(missing: list[int]) -> list[Arrays]:
        wanted = [distinct[i] for i in missing]
        found = method.prepare(trained, wanted, listener, context)
        return [{name: array[i] for name, array in found.items()} for i in range(len(wanted))]

    return dict(zip(distinct, trained.store.get_many(keys, make, fits, listener), strict=True))


def is_prepared(method: Method, trained: Trained, prediction: Prediction, context: Context) -> bool:
    """Whether a method has nothing to prepare for a prediction, or the run has it stored."""
    return all(key in trained.store for key in _store_keys(method, trained, [prediction], context))


def _store_keys(
    method: Method, trained: Trained, predictions: Sequence[Prediction], context: Context
) -> list[str]:
    """The keys under which a run stores what a method prepares."""
    if method.prepares != "predictions":
        return [f"{method.name}-run"] if method.prepares == "run" else []
    how = method.depends_on(trained, context)
    digests = (blake2b(repr((it, how)).encode(), digest_size=8).hexdigest() for it in predictions)
    return [f"{method.name}-{digest}" for digest in digests]


def quantity_of(of: str, standings: Standings, sigmoid: bool) -> Any:
    """What is explained, from standings (..., n_predictions)."""
    scores, probabilities = standings["score"], standings["probability"][..., 0]
    if of == "log_ratio":
        return scores[..., 0] - scores[..., 1]
    if of in ("score", "probability"):
        return standings[of][..., 0]
    if sigmoid:
        return -np.logaddexp(0, -scores[..., 0])
    return np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))


def check_finite(influences: Numbers) -> None:
    """Refuse influences that are too large to be computed."""
    if not np.isfinite(influences).all():
        raise WhereofError(
            "influences are not finite: the parameters or the trace contain NaN, infinity or "
            "numbers that are too large"
        )


def rank_influences(
    influences: Numbers, context: Context, standings: Standings | None = None
) -> Ranked:
    """Order of influences, as the context asks for it; standings: without each.

    Facts are in the order of their ids, so ties go to the lower id.
    """
    check_finite(influences)
    signed = -influences if context.opposing else influences
    order = np.argsort(-signed, kind="stable")
    if context.top is not None:
        order = order[signed[order] > 0]
    if isinstance(context.top, int):
        order = order[: context.top]
    supports = influences > 0
    totals = float(influences[supports].sum()), float(influences[~supports].sum())
    after = None if standings is None else standings[order]
    return Ranked(order, influences[order], totals, after)
