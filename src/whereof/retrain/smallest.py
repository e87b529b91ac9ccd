"""The fewest facts whose removal changes the top answer: found by estimates, proven by retraining.

A model gives an answer while its score is above those of all rivals. The search predicts how far
sets of facts lower these margins. It retrains without the most promising single facts, then without
growing sets until the top answer changes, and then without ever smaller ones.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice
from typing import Any

import numpy as np

from whereof.errors import WhereofError
from whereof.explain.copies import find_copies
from whereof.explain.explain import describe_fact, filter_facts, find_scored, name_prediction
from whereof.explain.explanation import NamedFact, NamedPrediction
from whereof.explain.method import (
    N_RIVALS,
    Method,
    Sets,
    able_method,
    get_method,
    standings_without,
)
from whereof.explain.options import ExplainOptions, RetrainingBudget
from whereof.predict.predictions import stand_alike
from whereof.predict.scored import ScoredPrediction, Standing, Standings, Trained, name_standings
from whereof.records import as_plain
from whereof.registry import render
from whereof.retrain._margins import FactSet, Margins
from whereof.retrain.allowance import Allowance
from whereof.retrain.engine import Job
from whereof.retrain.methods.verified import find_nominators, interleave
from whereof.retrain.options import SmallestOptions
from whereof.retrain.retrainer import Case, control_differs
from whereof.retrain.verify import STARTS, TopAnswer, estimate_from_control, find_top_answers
from whereof.types import OBJECT, SUBJECT, Numbers

_RIVALS, _FOLLOWED = 5, 20
"""Numbers of other answers: those whose margins are followed, and those that are scored."""
_SINGLES = 3
"""One in this many retrainings of the budget is for single facts, before larger sets."""
_BATCH = 8
"""Number of single facts to retrain at a time, and half of it for sets; more on a larger engine."""
_FAR_MORE = 1.5
"""Facts replace each other if together they do this many times the sum of each alone."""
_MANY = 40
"""Of sets that are smaller than a set of more facts, only this many sizes are considered."""
_COPIES = 3
"""Number of groups of facts that say nearly the same to remove as a whole."""
_SPARE = 4
"""Facts that may take the place of one in a set."""


@dataclass(frozen=True, kw_only=True)
class MemberFact(NamedFact):
    """A fact of the set, and what its own removal does."""

    alone: Standing | None
    """After retraining without this fact alone; None if the budget did not allow it."""
    kept: Standing | None
    """After retraining with this fact and without the others of the set."""


@dataclass(frozen=True)
class InterchangeableFacts:
    """Facts that replace each other: together they do far more than the sum of each alone.

    Both numbers are falls of the margin: the score of the answer minus that of its strongest rival.
    """

    fact_ids: tuple[int, ...]
    fall: float
    """After retraining without all of them."""
    sum_of_single: float
    """After retraining without each of them alone."""


@dataclass(frozen=True)
class Smallest:
    """The fewest facts that were found whose removal changes the top answer.

    docs/smallest.md describes the fields.
    """

    prediction: NamedPrediction
    found: bool
    removed: tuple[int, ...]
    before: Standing
    predicted: Standing | None
    actual: Standing
    top_answers: tuple[TopAnswer, ...]
    minimal: bool
    limit_reached: bool
    control_matches_run: bool
    facts: tuple[MemberFact, ...]
    interchangeable: tuple[InterchangeableFacts, ...]
    n_retrainings: int
    n_known: int
    method: str
    engine: str
    seconds: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof smallest --json` prints."""
        return dict(as_plain(self))

    def __str__(self) -> str:
        """The result in words."""
        return str(render("smallest-words", self))

    def _repr_html_(self) -> str:
        return str(render("smallest-html", self))


def find_smallest(case: Case, names: Sequence[Any], options: SmallestOptions) -> Smallest:
    """Search for the fewest facts whose removal changes the top answer to a prediction."""
    start = time.perf_counter()
    case = replace(case, retrainer=replace(case.retrainer, counts=Counter()))
    methods = find_search_methods(case.trained, options.method)
    asked = find_scored(case.trained, names, ExplainOptions(asks=options.asks))
    search = Search(case, asked, methods, RetrainingBudget.of(options.budget), options.role)
    search.run()
    removed, scored, method = search.best or search.closest, search.scored, search.margins.method
    fact_ids = sorted(removed, key=lambda fact: -search.strength(fact))
    predicted, notes = _predict(scored, method, fact_ids)
    before, actual = name_standings(case.trained, np.array([search.control, search.after(removed)]))
    limit_reached, counts = search.limit_reached, case.retrainer.counts
    top_answers = find_top_answers(case.trained, *search.stand_with_top(removed))
    stored = name_prediction(scored)
    same = stand_alike(case.stand(search.predictions), search.control_all)
    if not same:
        predicted = predicted and estimate_from_control(predicted, stored, before)
        notes = (control_differs(case.trained), STARTS, *notes)
    return Smallest(
        prediction=stored,
        found=search.best is not None,
        removed=tuple(fact_ids),
        before=before,
        predicted=predicted,
        actual=actual,
        top_answers=top_answers,
        minimal=search.best is not None and search.is_minimal,
        limit_reached=limit_reached,
        control_matches_run=same,
        facts=tuple(search.describe(fact, removed) for fact in fact_ids),
        interchangeable=tuple(search.find_interchangeable(removed)),
        n_retrainings=search.allowance.n_used,
        n_known=search.allowance.n_used - counts["retrained"],
        method=method.name,
        engine=case.retrainer.engine.identity.split()[0],
        seconds=time.perf_counter() - start,
        notes=(*_notes(search, asked, options.role), *notes),
    )


def _notes(search: "Search", asked: ScoredPrediction, role: str | None) -> Iterator[str]:
    """What was searched, if it is not what was asked for."""
    if role is not None:
        yield _tried(asked.trained, role)
    if search.scored.target != asked.target:
        name = asked.trained.dataset.entities.label(asked.target)
        yield f"{name} is not the top answer; the search is about the top answer"
    yield from search.allowance.notes


def _tried(trained: Trained, role: str) -> str:
    """What a search that is limited to a role may remove."""
    noun = "ratings" if trained.config.rated else "facts"
    whose = {"subject": f"the user's own {noun}", "object": f"{noun} of the item"}
    shared = f"{noun} that share the {role} with the prediction"
    return f"only {whose.get(role, shared) if trained.dataset.two_way else shared} were tried"


def find_search_methods(trained: Trained, name: str | None) -> list[Method]:
    """The method with this name, or all whose influences are falls, as the true ones are."""
    nominators = find_nominators(trained)
    if name is None:
        return [each for each in nominators if "standings" in each.can] or nominators[:1]
    method = get_method(name)
    method.check(trained)
    if method.draws or method.retrains:
        allowed = ", ".join(each.name for each in nominators)
        raise WhereofError(f"method {name} cannot rank facts to try; choose from {allowed}")
    return [method]


def _predict(
    scored: ScoredPrediction, method: Method, fact_ids: Sequence[int]
) -> tuple[Standing | None, tuple[str, ...]]:
    """The joint estimate for a set, by the method or by one that removes groups; and notes."""
    remover = able_method("groups", method.name)
    if not remover.fits(scored.trained):
        return None, (f"{remover.name} cannot estimate the set in this run",)
    sets = Sets.of([np.array(fact_ids, np.int64)])
    (found,) = name_standings(
        scored.trained, standings_without(remover, scored, sets, rivals=N_RIVALS)
    )
    note = f"{method.name} ranked the facts; the estimate is by {remover.name}"
    return found, () if remover is method else (note,)


class Search:
    """Searches the fewest facts whose removal changes the top answer, within a budget."""

    def __init__(
        self,
        case: Case,
        asked: ScoredPrediction,
        methods: Sequence[Method],
        budget: RetrainingBudget,
        role: str | None = None,
    ) -> None:
        """role: what the facts that may be removed share with the prediction."""
        self.case = case
        self.allowance = Allowance(budget, case.retrainer, methods, 1 + _RIVALS)
        self.best: FactSet | None = None
        self._standings = dict[FactSet, Standings]()
        self._errors = list[float]()
        # The prediction, and the best other answers, in the stored run.
        answers = self.answers = asked.strongest(_FOLLOWED + 1)
        if len(answers) < 2:
            raise WhereofError("no other answer is possible, so no removal changes the top answer")
        self.predictions = case.predictions(asked.prediction.answered(each) for each in answers)
        self.control_all = case.retrainer.ask(self.predictions, []).control
        # The retrained control decides which answer is on top.
        top = int(self.control_all["top"][0])
        self._top = answers.index(top) if top in answers else 0
        self.scored = asked.answered(answers[self._top])
        rivals = [each for each in answers if each != self.scored.target][:_RIVALS]
        self._rivals = [answers.index(each) for each in rivals]
        self.control = self.control_all[self._top]
        self._start = self._margins_of(self.control_all)
        every, only = np.arange(case.trained.dataset.n_facts), ExplainOptions(role=role)
        pool = filter_facts(case.trained, self.scored.prediction, every, only)
        if not len(pool):
            raise WhereofError(f"no training fact has the role {role}; choose another, or none")
        self._models = [
            Margins(self.scored, method, rivals, pool, case.retrainer.events)
            for method in self.allowance.methods
        ]
        self.margins = self._models[0]

    def run(self) -> None:
        """Search until one fact is enough or the budget is used."""
        self._try_singles()
        if self.best is None:
            self._grow()
        while self.best is not None and len(self.best) > 1 and self._shrink(self.best):
            pass

    @property
    def closest(self) -> FactSet:
        """The retrained set that came closest to a change of the top answer."""
        return min(self._standings, key=self._closeness)

    @property
    def is_minimal(self) -> bool:
        """Whether retraining showed that no fact of the set can be left out."""
        return self.best is not None and all(
            not each or each in self._standings for each in without_one(self.best)
        )

    @property
    def limit_reached(self) -> bool:
        """Whether the budget ended the search: with more, a smaller set might be found."""
        is_single = self.best is not None and len(self.best) == 1
        return not is_single and self.allowance.left < 1

    def after(self, removed: FactSet) -> Any:
        """The standing of the top answer after retraining without some facts."""
        return self.after_all(removed)[self._top]

    def after_all(self, removed: FactSet) -> Standings:
        """The standings of all answers that are followed, after retraining without some facts."""
        return self._standings[removed]

    def stand_with_top(self, removed: FactSet) -> tuple[list[int], Standings, Standings]:
        """The answers that are followed, and the new top answer; with all facts, and without some.

        A new top answer that is not followed takes two more retrainings, if the budget allows.
        """
        after, top = self.after_all(removed), int(self.after(removed)["top"])
        if top in self.answers or self.allowance.left < 2:
            return self.answers, self.control_all, after
        self.allowance.n_used += 2
        asked = self.case.predictions([self.scored.prediction.answered(top)])
        found = self.case.retrainer.ask(asked, [Job.of(sorted(removed), [0])])
        both = (self.control_all, found.control), (after, found.jobs[0])
        control, without = (np.concatenate(each) for each in both)
        return [*self.answers, top], control, without

    def strength(self, fact: int) -> float:
        """How far a fact lowers the margin to the rival that comes closest to the answer."""
        margins = self._margins_of(self._standings[self.best or self.closest])
        (effects,) = self.margins.predict([frozenset([fact])])
        return float(effects[margins.argmin()])

    def describe(self, fact: int, removed: FactSet) -> MemberFact:
        """A fact of the set, with what is known of it."""
        sets = {"alone": frozenset([fact]), "kept": removed - {fact}}
        known = {name: self._standings.get(each) for name, each in sets.items()}
        standings: dict[str, Any] = {
            name: None if each is None else name_standings(self.case.trained, each[[self._top]])[0]
            for name, each in known.items()
        }
        return MemberFact(**describe_fact(self.case.trained.dataset, fact), **standings)

    def _try_singles(self) -> None:
        """Retrain without the facts that alone come closest to a change, until one changes it.

        If there are several methods, the one that predicts this best is used from then on.
        """
        orders = [it.fact_ids[self._lowest(it.effects())].tolist() for it in self._models]
        order = islice(interleave(orders), max(self.allowance.left // _SINGLES, 1))
        singles = iter([frozenset([fact]) for fact in order])
        while self.best is None and (batch := [*islice(singles, self._at_once(_BATCH))]):
            if not self._test(batch):
                break
        self.margins = min(self._models, key=lambda it: it.misfit)
        self._models = [self.margins]

    def _grow(self) -> None:
        """Retrain without growing sets until the top answer changes, the smallest first.

        For each rival, sets of the facts that lower its margin most grow until the estimate says
        that the answer changes. Related facts are tried as soon as they are not larger.
        """
        reached = dict.fromkeys(range(len(self._rivals)), 1)
        while self.best is None and self.allowance.left:
            offers = []
            for rival, size in reached.items():
                sets = [*self._prefixes(rival, size)]
                if sets:
                    lowered = self.margins.predict(sets)
                    flips = (self._start - lowered).min(axis=1) < 0
                    n_first = int(flips.argmax()) if flips.any() else min(2, len(sets) - 1)
                    offers.append((len(sets[n_first]), rival, sets[n_first : n_first + 2]))
            chosen = sorted(offers)[:2]
            reached |= {rival: max(map(len, sets)) for _, rival, sets in chosen}
            grown = [each for _, _, sets in chosen for each in sets]
            most = max(map(len, grown), default=self.case.trained.dataset.n_facts)
            related = [each for each in self._related if len(each) <= most]
            if not self._test(sorted([*related, *grown], key=len)) and not grown:
                return

    def _shrink(self, best: FactSet) -> bool:
        """Retrain without smaller sets that may change the answer too; False at the end."""
        untested, spare = self._untested(best), self.allowance.left
        if spare >= sum(len(each) == len(best) - 1 for each in untested):
            spare = max(spare - len(untested), 0)  # keep enough to prove that all are needed
        sets = [each for each in self._smaller(best) if each and each not in self._standings]
        if not spare or not sets:
            return self._test(untested)
        margins = (self._start - self.margins.predict(sets)).min(axis=1)
        scale = np.sqrt(np.mean(np.square(self._errors[-2 * _BATCH :]))) + 1e-12
        chances = 1 / (1 + np.exp(np.clip(margins / scale, -50, 50)))
        gains = chances * [len(best) - len(each) for each in sets]
        order = np.argsort(-gains, kind="stable")
        most = min(self._at_once(_BATCH // 2), spare)
        return self._test([sets[number] for number in order[:most]])

    def find_interchangeable(self, removed: FactSet) -> Iterator[InterchangeableFacts]:
        """The facts of the set that replace each other, as far as they were retrained."""
        rival = self._margins_of(self._standings[removed]).argmin()
        falls = {
            each: float((self._start - self._margins_of(standings))[rival])
            for each, standings in self._standings.items()
        }
        for group in dict.fromkeys([removed, *self._between_two(removed)]):
            alone = [falls.get(frozenset([fact])) for fact in group]
            known = [fall for fall in alone if fall is not None]
            if len(group) > 1 and group in falls and len(known) == len(group):
                together, most = falls[group], max(_FAR_MORE * sum(known), 2 * max(known))
                if together > max(most, 0):
                    yield InterchangeableFacts(tuple(sorted(group)), together, sum(known))

    def _between_two(self, removed: FactSet) -> Iterator[FactSet]:
        """The groups of facts of a set that are between the same two entities."""
        facts, groups = self.case.trained.dataset.train, defaultdict[FactSet, set[int]](set)
        for fact in sorted(removed):
            groups[frozenset(facts[fact, [SUBJECT, OBJECT]].tolist())].add(fact)
        return (frozenset(group) for group in groups.values() if len(group) > 1)

    def _untested(self, removed: FactSet) -> list[FactSet]:
        """What proves that no fact can be left out, and shows facts that replace each other."""
        alone = (frozenset([fact]) for fact in sorted(removed))
        wanted = (*without_one(removed), *alone, *self._between_two(removed))
        return [each for each in dict.fromkeys(wanted) if each and each not in self._standings]

    def _smaller(self, best: FactSet) -> Iterator[FactSet]:
        """Sets that are smaller than the best one, each once."""
        effects, found, sizes = self.margins.effects(), dict[FactSet, None](), range(1, len(best))
        if len(best) > _MANY:
            sizes = np.unique(np.geomspace(1, len(best) - 1, _MANY).astype(int)).tolist()
        for rival in range(len(self._rivals)):
            order = self.margins.fact_ids[np.argsort(-effects[:, rival], kind="stable")].tolist()
            inside = [fact for fact in order if fact in best]
            for size in sizes:
                found[frozenset(inside[:size])] = None
                found[frozenset(order[:size])] = None
            first = order[: len(best) - 1 + _SPARE]
            more = combinations(first, len(best) - 1)
            found |= dict.fromkeys(map(frozenset, islice(more, 500)))
        if len(best) == 2:
            found |= {frozenset([fact]): None for fact in self.margins.fact_ids.tolist()}
        for group in (*self._related, *self._between_two(best)):
            found |= dict.fromkeys([best & group, best - group])
        found |= dict.fromkeys(without_one(best))
        return (each for each in found if len(each) < len(best))

    @cached_property
    def _related(self) -> list[FactSet]:
        """Sets whose facts may hide each other's influence, the smallest first.

        They are the strongest groups of copies, the facts between the two entities of the answer,
        and all facts of either entity.
        """
        trained, asked = self.case.trained, self.scored.prediction
        order = self.margins.fact_ids[self._lowest(self.margins.effects())]
        ends = trained.dataset.train[order][:, [SUBJECT, OBJECT]]
        of_given, of_answer = (
            (ends == each).any(axis=1) for each in (asked.given, self.scored.target)
        )
        whole = [order[each] for each in (of_given & of_answer, of_given, of_answer)]
        copies = islice(find_copies(trained, whole[1]), _COPIES)
        pool = frozenset(order.tolist())  # copies may be facts that must not be removed
        found = dict.fromkeys(pool.intersection(each.tolist()) for each in (*copies, *whole))
        most = trained.dataset.n_facts - 1
        return sorted((each for each in found if 1 < len(each) <= most), key=len)

    def _prefixes(self, rival: int, reached: int) -> Iterator[FactSet]:
        """Growing sets of the facts that lower one margin most, each a quarter larger.

        They go on to facts that do not lower it alone: together with others, these may do so.
        """
        effects = self.margins.effects()[:, rival]
        order = self.margins.fact_ids[np.argsort(-effects, kind="stable")]
        most = min(len(order), self.case.trained.dataset.n_facts - 1)
        size = reached
        while size < most:
            size = min(max(size + 1, round(1.25 * size)), most)
            yield frozenset(order[:size].tolist())

    def _test(self, sets: Iterable[FactSet]) -> bool:
        """Retrain without the sets that are new, as far as the budget allows; whether it did."""
        new = [each for each in dict.fromkeys(sets) if each not in self._standings]
        new = new[: self.allowance.take(len(new))]
        if not new:
            return False
        which = range(len(self.predictions))
        found = self.case.retrainer.ask(
            self.predictions, [Job.of(sorted(each), which) for each in new]
        )
        lowered = [self._start - self._margins_of(standings) for standings in found.jobs]
        errors = (self._start - lowered).min(axis=1) - (
            self._start - self.margins.predict(new)
        ).min(axis=1)
        self._errors += errors.tolist()
        self._standings |= dict(zip(new, found.jobs, strict=True))
        for model in self._models:
            model.observe(new, lowered)
        changing = [each for each in new if self.after(each)["top"] != self.control["top"]]
        self.best = min(
            filter(None, [self.best, *changing]), key=self._closeness_by_size, default=None
        )
        return True

    def _closeness(self, removed: FactSet) -> float:
        return float(self._margins_of(self._standings[removed]).min())

    def _closeness_by_size(self, removed: FactSet) -> tuple[int, float]:
        return len(removed), self._closeness(removed)

    def _margins_of(self, standings: Standings) -> Numbers:
        """(n_rivals,) score of the answer minus those of its rivals."""
        scores = standings["score"]
        return np.asarray(scores[self._top] - scores[self._rivals])

    def _lowest(self, lowered: Numbers) -> Any:
        """Order of removals by the smallest margin that is left, lowest first."""
        return np.argsort((self._start - lowered).min(axis=1), kind="stable")

    def _at_once(self, least: int) -> int:
        return max(least, self.case.retrainer.engine.at_once)


def without_one(removed: FactSet) -> list[FactSet]:
    """The set without each of its facts."""
    return [removed - {fact} for fact in sorted(removed)]
