"""Candidates of several methods, each retrained alone and ranked by what really happened."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

import numpy as np

from whereof.errors import WhereofError
from whereof.events import Events
from whereof.explain.explain import find_adjacent, with_same_answer
from whereof.explain.method import Context, Method, Ranked, Sets, get_method, is_prepared, prepare
from whereof.explain.options import RetrainingBudget
from whereof.predict.scored import ScoredPrediction, Trained
from whereof.registry import METHODS, names
from whereof.retrain.allowance import Allowance
from whereof.retrain.methods.retrain import SingleRemovals
from whereof.types import FactIds
from whereof.units import seconds


class Verified(Method):
    """The strongest facts by several methods, ranked by their true influence."""

    name = "verified"
    title = "Candidates of several methods, retrained"
    phrase = "the top facts, retrained one by one"
    citation = (
        "Rossi et al., Explaining Link Prediction Systems based on Knowledge Graph Embeddings, "
        "SIGMOD 2022"
    )
    needs = frozenset({"recipe", "retraining"})
    can = frozenset({"contrast", "standings", "non-adjacent facts", "budget"})
    ranks_all = True

    def trainings(self, n_facts: int, n_predictions: int = 1) -> float:
        return n_predictions * (RetrainingBudget().n_retrainings or 0)

    def check(self, trained: Trained) -> None:
        super().check(trained)
        find_nominators(trained)

    def rank(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Ranked:
        removals = SingleRemovals.of(self, scored, context)
        retrainer = removals.case.retrainer

        def is_ready(method: Method) -> bool:
            stores = method.prepares is not None
            return stores and is_prepared(method, scored.trained, scored.prediction, context)

        nominators = find_nominators(scored.trained)
        allowance = Allowance(context.budget, retrainer, nominators, is_ready=is_ready)
        lists = [
            Nominations.of(each, scored, sets.fact_ids, context, allowance.left, retrainer.events)
            for each in allowance.methods
        ]
        candidates = list(interleave([each.fact_ids.tolist() for each in lists]))
        if context.top is None:  # every fact is asked for, also one that no method has a number for
            candidates = list(dict.fromkeys([*candidates, *sets.fact_ids.tolist()]))
        n_done = 0
        while n_next := allowance.take(len(candidates) - n_done):
            removals.retrain(candidates[n_done : n_done + n_next])
            n_done += n_next
        fact_ids = np.sort(np.array(candidates[:n_done], np.int64))
        ranked = removals.rank(fact_ids)
        chosen = fact_ids[ranked.chosen]
        predictor = find_predictor([each.method for each in lists])
        note = (
            f"{n_done:,} of {len(candidates):,} candidates retrained in {seconds(allowance.spent)};"
            f" nominated by {', '.join(each.method.name for each in lists)}"
        )
        predicted = None
        if predictor is not None:
            by = Nominations.of(predictor, scored, chosen, context, None, retrainer.events)
            predicted = np.array([by.estimates.get(fact, np.nan) for fact in chosen.tolist()])
            note += f"; estimates by {predictor.name}"
        return replace(
            ranked,
            chosen=np.searchsorted(sets.fact_ids, chosen),
            totals=None,  # other facts support the prediction too
            predicted=predicted,
            nominated_by=tuple(
                tuple(each.method.name for each in lists if fact in each.estimates)
                for fact in chosen.tolist()
            ),
            notes=(*ranked.notes, *allowance.notes, note),
        )


VERIFIED = Verified()


def find_nominators(trained: Trained) -> list[Method]:
    """The methods that nominate candidates, without those that lack something in this run."""
    methods = map(get_method, names(METHODS))
    asked = (each for each in methods if each.nominates and not each.draws and not each.retrains)
    found = [each for each in asked if each.fits(trained)]
    if not found:
        raise WhereofError("no method can nominate facts in this run; choose method retrain")
    return found


def find_predictor(methods: Sequence[Method]) -> Method | None:
    """The method whose influences are falls, as the true ones are; best for facts of any kind."""
    able = [method for method in methods if "standings" in method.can]
    return max(able, key=lambda method: "non-adjacent facts" in method.can, default=None)


@dataclass(frozen=True, eq=False)
class Nominations:
    """The strongest facts by one method, strongest first."""

    method: Method
    fact_ids: FactIds
    estimates: dict[int, float]
    """Influence by fact."""

    @classmethod
    def of(
        cls,
        method: Method,
        scored: ScoredPrediction,
        fact_ids: FactIds,
        context: Context,
        most: int | None,
        events: Events,
    ) -> "Nominations":
        """The strongest of these facts; at most some, or with None all that it has numbers for."""
        trained, asked, rival = scored.trained, scored.prediction, context.aim.rival
        if "non-adjacent facts" not in method.can:
            fact_ids = np.intersect1d(fact_ids, find_adjacent(trained, asked, rival))
        if method.same_answer:
            fact_ids = with_same_answer(trained, asked, fact_ids)
        fact_ids = np.sort(fact_ids)
        context = replace(context, top=None if context.top is None else most)
        prepared = prepare(method, trained, [asked], context, events)[asked]
        context = replace(context, prepared=prepared)
        ranked = method.rank(scored, Sets.each(fact_ids), context)
        chosen = fact_ids[ranked.chosen]
        return cls(
            method, chosen, dict(zip(chosen.tolist(), ranked.influences.tolist(), strict=True))
        )


def interleave(lists: Sequence[Sequence[int]]) -> Iterator[int]:
    """The first of every list, then the second of every list, and so on; each number once."""
    in_turn = chain.from_iterable(zip_longest(*lists))
    return iter(dict.fromkeys(each for each in in_turn if each is not None))
