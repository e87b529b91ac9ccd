"""A prediction explained: the facts that matter, ranked and named."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whereof.errors import WhereofError
from whereof.explain._adjacent import filter_facts, find_adjacent
from whereof.explain._describing import Describer
from whereof.explain._explanation import Contrast, ExplainedFact, Explanation, Joint
from whereof.explain._graph import find_graph
from whereof.explain._joint import roll_back_jointly
from whereof.explain._methods import METHODS
from whereof.explain._naming import find_aim, find_facts, find_situation
from whereof.explain._options import ExplainOptions
from whereof.explain._retraining import rank_retrained
from whereof.explain._rollback import Rollback
from whereof.explain._search import Ranked, rank, search
from whereof.explain._sets import Sets
from whereof.explain._situation import Situation
from whereof.explain._trained import Trained
from whereof.types import FactIds

_STEPS = (1, 3, 10)
"""Supporters taken away for the stability of a prediction."""


def explain(trained: Trained, names: Sequence[Any], options: ExplainOptions) -> Explanation:
    """Explain the prediction that names spell."""
    start = time.perf_counter()
    return explain_situation(find_situation(trained, names, options), options, start)


def explain_situation(
    situation: Situation, options: ExplainOptions, start: float | None = None
) -> Explanation:
    """Explain one answer of a contest; `start` is when the asking began."""
    start = time.perf_counter() if start is None else start
    return _Explaining(situation, options).explanation(start)


@dataclass(frozen=True, eq=False)
class RankedFacts:
    """An explanation by the ids of its facts alone."""

    fact_ids: FactIds
    notes: tuple[str, ...]


def rank_situation(situation: Situation, options: ExplainOptions) -> RankedFacts:
    """The facts of an explanation, unnamed: to name them takes longer than to rank them."""
    return _Explaining(situation, options).ranking()


def describe_facts(
    situation: Situation, options: ExplainOptions, fact_ids: FactIds
) -> tuple[ExplainedFact, ...]:
    """These facts, whatever they share with the prediction, as an explanation lists them."""
    return _Explaining(situation, options).describe(np.sort(fact_ids))


class _Explaining:
    """One explanation in the making."""

    def __init__(self, situation: Situation, options: ExplainOptions) -> None:
        self.situation, self.options = situation, options
        self.aim = find_aim(situation, options)
        self.of, self.rival = self.aim.of, self.aim.rival
        self.rollback = Rollback(situation, self.of, self.aim.rival_place(situation))
        self.describer = Describer(situation, self.rival)

    def explanation(self, start: float) -> Explanation:
        options, adjacent = self.options, self._adjacent()
        group = find_facts(self.situation.trained, options.without)
        wanted = group if len(group) else self._filtered(adjacent)
        top = None if len(group) else options.top
        ranked = self._rank(wanted, top, opposing=options.opposing)
        return Explanation(
            prediction=self.describer.prediction(),
            method=options.method,
            of=self.of,
            n_adjacent=len(adjacent),
            facts=self.describer.facts(wanted[ranked.chosen], ranked),
            contrast=self._contrast(),
            without=roll_back_jointly(self.rollback, group) if len(group) else None,
            stability=self._stability(adjacent) if options.stability else None,
            graph=find_graph(self.rollback, self.describer) if options.graph else None,
            notes=(*self._notes(), *ranked.notes),
            seconds=time.perf_counter() - start,
        )

    def ranking(self) -> RankedFacts:
        wanted = self._filtered(self._adjacent())
        ranked = self._rank(wanted, self.options.top, opposing=self.options.opposing)
        return RankedFacts(wanted[ranked.chosen], (*self._notes(), *ranked.notes))

    def describe(self, fact_ids: FactIds) -> tuple[ExplainedFact, ...]:
        ranked = self._rank(fact_ids, None)
        return self.describer.facts(fact_ids[ranked.chosen], ranked)

    def _adjacent(self) -> FactIds:
        adjacent = find_adjacent(self.situation, self.rival)
        if not len(adjacent):
            raise WhereofError("no training fact shares an entity or the relation with it")
        return adjacent

    def _filtered(self, adjacent: FactIds) -> FactIds:
        wanted = filter_facts(self.situation, adjacent, self.options, self.rival)
        if not len(wanted):
            raise WhereofError(
                f"none of the {len(adjacent)} adjacent facts is left; ask for other ones"
            )
        return wanted

    def _rank(self, fact_ids: FactIds, top: int | str | None, *, opposing: bool = False) -> Ranked:
        method = METHODS[self.options.method]
        if method.rolls_back:
            exhaustive = self.options.exhaustive
            sets = Sets.each(fact_ids)
            return search(self.rollback, sets, top, opposing=opposing, exhaustive=exhaustive)
        if method.retrains:
            return rank_retrained(self.situation, self.aim, fact_ids, top, opposing=opposing)
        influences = method.estimate(self.situation, self.aim, fact_ids, self.options)
        return rank(influences, top, opposing=opposing)

    def _stability(self, adjacent: FactIds) -> tuple[Joint, ...]:
        """The prediction without its strongest supporters, of those that were asked for."""
        fact_ids = self._filtered(adjacent)
        best = fact_ids[self._rank(fact_ids, max(_STEPS)).chosen]
        sizes = [size for size in _STEPS if size <= len(best)]
        return tuple(roll_back_jointly(self.rollback, best[:size]) for size in sizes)

    def _contrast(self) -> Contrast | None:
        if self.rival is None:
            return None
        other = Situation(self.situation.contest, self.rival)
        entities, stands = self.situation.trained.dataset.entities, other.standing
        return Contrast(
            answer=entities.name(self.rival),
            label=entities.label(self.rival),
            probability=stands.probability,
            rank=stands.rank,
            score=stands.score,
            log_ratio=self.situation.standing.score - stands.score,
        )

    def _notes(self) -> tuple[str, ...]:
        method, loss, notes = self.options.method, self.situation.trained.config.loss, []
        if method == "criage" and loss != "sigmoid":
            notes.append(f"criage supposes the sigmoid loss; this run was trained with {loss}")
        asked = [name for name in ("without", "stability") if getattr(self.options, name)]
        if asked and not METHODS[method].rolls_back:
            notes.append(f"{' and '.join(asked)}: worked out by rollback")
        return tuple(notes)
