"""Sufficient facts, as in Kelpie: the fewest that give other entities the same answer.

The facts of the prediction's entity are copied to other entities, for which the model has another
answer. The copies are appended to the training facts, and each retraining leaves out those that are
not given. All other facts keep their negatives and their order.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whereof.errors import WhereofError
from whereof.explain.explain import describe_fact, find_scored, name_prediction
from whereof.explain.explanation import NamedFact, NamedPrediction
from whereof.explain.method import Aim, Context, Method
from whereof.explain.options import ExplainOptions, RetrainingBudget
from whereof.predict.prediction import Prediction
from whereof.predict.predictions import Predictions
from whereof.predict.scored import ScoredPrediction, Standing, Standings, Trained, name_standings
from whereof.records import as_plain
from whereof.registry import render
from whereof.retrain._margins import FactSet
from whereof.retrain.allowance import Allowance
from whereof.retrain.engine import Job
from whereof.retrain.methods.verified import Nominations
from whereof.retrain.options import SmallestOptions
from whereof.retrain.retrainer import Case
from whereof.retrain.smallest import find_search_methods, without_one
from whereof.training.sampling import RANDOM_STREAM, shuffled
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Facts

_CANDIDATES = 20
"""Number of facts that may be given: those with the strongest influence on the prediction."""
_RECEIVERS, _SHARE = 10, 5
"""Number of entities that get the facts, and at most one in this many of all."""


@dataclass(frozen=True)
class Receiver:
    """An entity that gets the facts, and the standing of the answer for it."""

    entity: str
    label: str
    before: Standing
    actual: Standing


@dataclass(frozen=True)
class Sufficient:
    """The fewest facts that were found which give other entities the same answer.

    docs/smallest.md describes the fields.
    """

    prediction: NamedPrediction
    found: bool
    given: tuple[int, ...]
    minimal: bool
    n_converted: int
    n_possible: int
    facts: tuple[NamedFact, ...]
    receivers: tuple[Receiver, ...]
    n_retrainings: int
    n_known: int
    method: str
    engine: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof smallest --sufficient --json` prints."""
        return dict(as_plain(self))

    def __str__(self) -> str:
        """The result in words."""
        return str(render("sufficient-words", self))


@dataclass(frozen=True, eq=False)
class Gifts:
    """Which facts of a prediction's entity may be given to which other entities."""

    scored: ScoredPrediction
    method: Method
    fact_ids: FactIds
    """(n_candidates,) strongest first."""
    receivers: tuple[int, ...]
    facts: Facts
    """(n_copies, 3) what the receivers get."""
    origins: FactIds
    """(n_copies,) the fact that each is a copy of."""

    @classmethod
    def of(cls, case: Case, names: Sequence[Any], options: SmallestOptions) -> "Gifts":
        """The strongest facts of the prediction's entity, and entities with another answer."""
        if options.role is not None:
            raise WhereofError("role does not work with sufficient; leave it out")
        trained = case.trained
        scored = find_scored(trained, names, ExplainOptions(asks=options.asks))
        method, asked = find_search_methods(trained, options.method)[-1], scored.prediction
        own = trained.adjacency.facts_of_entity(asked.given)
        own = own[(trained.dataset.train[own] != asked.triple).any(axis=1)].astype(np.int64)
        context = Context(Aim.of_options(scored))
        ranked = Nominations.of(method, scored, own, context, None, case.retrainer.events)
        fact_ids = ranked.fact_ids[:_CANDIDATES]
        if not len(fact_ids):
            name = trained.dataset.entities.label(asked.given)
            raise WhereofError(
                f"{name} has no other training fact to give to other entities; name another"
            )
        receivers = _find_receivers(case, asked, fact_ids)
        copies = [
            (*copy, fact)
            for receiver in receivers
            for fact, copy in _copies(trained, asked.given, receiver, fact_ids)
        ]
        table = np.array(copies, np.int64).reshape(-1, 4)
        facts = table[:, :3].astype(trained.dataset.train.dtype)
        return cls(scored, method, fact_ids, receivers, facts, table[:, 3])

    def predictions(self, case: Case) -> Predictions:
        """The same answer for every receiver."""
        return _asked_of(case, self.scored.prediction, self.receivers, self.fact_ids)

    def job(self, given: FactSet, n_facts: int) -> Job:
        """A retraining in which the receivers get these facts; n_facts: without copies."""
        left_out = np.flatnonzero(~np.isin(self.origins, sorted(given)))
        return Job.of(n_facts + left_out, range(len(self.receivers)))


def _find_receivers(case: Case, asked: Prediction, fact_ids: FactIds) -> tuple[int, ...]:
    """Entities with another answer, drawn at random; first those with facts of the relation."""
    data = case.trained.dataset
    given, target = (SUBJECT, OBJECT) if asked.asks == "object" else (OBJECT, SUBJECT)
    every = np.concatenate([data.train, data.valid, data.test])
    answered = every[(every[:, RELATION] == asked.relation) & (every[:, target] == asked.target)]
    place = data.subjects if asked.asks == "object" else data.objects
    pool = np.array(place)[shuffled(np.uint64(0), len(place), 0, RANDOM_STREAM)]
    pool = pool[~np.isin(pool, [asked.given, asked.target, *answered[:, given]])]
    seen = np.isin(pool, data.train[data.train[:, RELATION] == asked.relation, given])
    pool = np.concatenate([pool[seen], pool[~seen]])[: 4 * _RECEIVERS]
    tops = case.stand(_asked_of(case, asked, pool.tolist(), fact_ids))["top"]
    others = pool[tops != asked.target].tolist()
    if not others:
        name = data.entities.label(int(asked.target or 0))
        raise WhereofError(f"{name} is the answer for all other entities, or known for them")
    return tuple(others[: max(min(_RECEIVERS, len(place) // _SHARE), 1)])


def _asked_of(
    case: Case, asked: Prediction, entities: Sequence[int], fact_ids: FactIds
) -> Predictions:
    """The same question about other entities. Answers that may be given to them count as known."""
    places: list[dict[str, Any]] = [
        {"subject" if asked.asks == "object" else "object": entity} for entity in entities
    ]
    found = case.predictions(replace(asked, **place) for place in places)
    facts, (given, target) = case.trained.dataset.train[fact_ids], (SUBJECT, OBJECT)
    if asked.asks == "subject":
        given, target = target, given
    same = (facts[:, RELATION] == asked.relation) & (facts[:, given] == asked.given)
    answers = facts[same & (facts[:, target] != asked.target), target]
    first = asked.candidates(case.trained.dataset).start
    more = np.column_stack([answers - first, np.full(len(answers), -1)]).astype(np.int64)
    return replace(found, known=tuple(np.concatenate([each, more]) for each in found.known))


def _copies(
    trained: Trained, given: int, receiver: int, fact_ids: FactIds
) -> list[tuple[int, tuple[int, ...]]]:
    """The facts with the receiver in place of the entity, without those that it has already."""
    facts, has = trained.dataset.train, trained.adjacency.facts_of_entity(receiver)
    known, found = set(map(tuple, facts[has].tolist())), []
    for fact in fact_ids.tolist():
        subject, relation, object_ = facts[fact].tolist()
        copy = tuple(
            receiver if place != RELATION and each == given else each
            for place, each in enumerate((subject, relation, object_))
        )
        loops = copy[SUBJECT] == copy[OBJECT] and subject != object_
        if copy not in known and not loops:
            found.append((fact, copy))
    return found


def find_sufficient(case: Case, gifts: Gifts, options: SmallestOptions) -> Sufficient:
    """Search for the fewest facts that give the answer to as many receivers as all facts do.

    case: with the recipe that has the copies.
    """
    start = time.perf_counter()
    case = replace(case, retrainer=replace(case.retrainer, counts=Counter()))
    search = _GiftSearch(case, gifts, RetrainingBudget.of(options.budget))
    search.run()
    trained, entities = case.trained, case.trained.dataset.entities
    given = sorted(search.best, key=gifts.fact_ids.tolist().index)
    before, actual = (
        name_standings(trained, search.standings[each]) for each in (frozenset(), search.best)
    )
    return Sufficient(
        prediction=name_prediction(gifts.scored),
        found=search.goal > 0,
        given=tuple(given),
        minimal=search.is_minimal,
        n_converted=search.converted(search.best),
        n_possible=search.goal,
        facts=tuple(NamedFact(**describe_fact(trained.dataset, fact)) for fact in given),
        receivers=tuple(
            Receiver(entities.name(each), entities.label(each), first, last)
            for each, first, last in zip(gifts.receivers, before, actual, strict=True)
        ),
        n_retrainings=search.allowance.n_used,
        n_known=search.allowance.n_used - case.retrainer.counts["retrained"],
        method=gifts.method.name,
        engine=case.retrainer.engine.identity.split()[0],
        seconds=time.perf_counter() - start,
    )


class _GiftSearch:
    """Searches the fewest facts that convert as many receivers as all of them do."""

    def __init__(self, case: Case, gifts: Gifts, budget: RetrainingBudget) -> None:
        self.case, self.gifts, self.allowance = case, gifts, Allowance(budget, case.retrainer)
        self._predictions, self._n_facts = gifts.predictions(case), case.trained.dataset.n_facts
        self.best: FactSet = frozenset(gifts.fact_ids.tolist())
        control = case.retrainer.ask(self._predictions, []).control  # with all facts given
        self.standings: dict[FactSet, Standings] = {self.best: control}
        self.goal = self.converted(self.best)
        if not self._test([frozenset()]):
            raise WhereofError("budget is too small; give 3 retrainings or more")

    def run(self) -> None:
        """Try single facts, then growing sets of the best of them, then leave facts out."""
        facts, n_singles = self.gifts.fact_ids.tolist(), max(self.allowance.left // 2, 1)
        if not self.goal:
            return
        self._test(frozenset([fact]) for fact in facts[:n_singles])
        alone = {fact: self._outcome(frozenset([fact])) for fact in facts[:n_singles]}
        order = sorted(alone, key=lambda fact: alone[fact], reverse=True)
        order += [fact for fact in facts if fact not in alone]
        low = 1
        while len(self.best) - low > 1:  # between these sizes is the shortest prefix that suffices
            middle = frozenset(order[: (low + len(self.best)) // 2])
            if middle not in self.standings and not self._test([middle]):
                return
            low = low if middle == self.best else len(middle)
        while len(whole := self.best) > 1 and self._test(without_one(whole)):
            spare = [fact for fact in sorted(whole) if self._is_enough(whole - {fact})]
            spare.sort(key=lambda fact: self._outcome(whole - {fact}), reverse=True)
            n_out = len(spare)
            while n_out > 1:  # leave out several at a time, as many as possible
                smaller = whole - {*spare[:n_out]}
                self._test([smaller] if smaller else [])
                if self._is_enough(smaller):
                    break
                n_out //= 2

    @property
    def is_minimal(self) -> bool:
        """Whether retraining showed that no fact of the set can be left out."""
        return self.goal > 0 and all(it in self.standings for it in without_one(self.best))

    def converted(self, given: FactSet) -> int:
        """The number of receivers that have the answer."""
        return int((self.standings[given]["top"] == self.gifts.scored.target).sum())

    def _is_enough(self, given: FactSet) -> bool:
        """Whether a set was retrained, and converts as many receivers as all facts do."""
        return bool(given) and given in self.standings and self.converted(given) >= self.goal

    def _outcome(self, given: FactSet) -> tuple[int, float]:
        """How far a set gets: converted receivers, then the mean log-probability or rating."""
        if given not in self.standings:
            return -1, 0.0
        found = self.standings[given]
        rated = self.case.trained.config.rated
        values = found["score"] if rated else np.log(np.maximum(found["probability"], 1e-300))
        return self.converted(given), float(values.mean())

    def _test(self, sets: Any) -> bool:
        """Retrain with sets that are new, as far as the budget allows; whether it did."""
        new = [each for each in dict.fromkeys(sets) if each not in self.standings]
        new = new[: self.allowance.take(len(new))]
        if not new:
            return False
        jobs = [self.gifts.job(each, self._n_facts) for each in new]
        self.standings |= zip(
            new, self.case.retrainer.ask(self._predictions, jobs).jobs, strict=True
        )
        enough = filter(self._is_enough, new)
        self.best = min([self.best, *enough], key=lambda it: (len(it), -self._outcome(it)[1]))
        return True
