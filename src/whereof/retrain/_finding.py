"""The facts that a verdict removes."""

from dataclasses import dataclass, replace

from whereof.errors import WhereofError
from whereof.explain import (
    METHODS,
    ExplainedFact,
    ExplainOptions,
    Situation,
    describe_facts,
    explain_situation,
    find_facts,
)
from whereof.explain._describing import name_fact
from whereof.retrain._options import VerifyOptions
from whereof.retrain._verdict import RemovedFact
from whereof.types import FactIds


@dataclass(frozen=True)
class Found:
    """Facts to remove, strongest first, and what is to be said of how they were found."""

    facts: tuple[RemovedFact, ...]
    notes: tuple[str, ...] = ()


def find_removed(situation: Situation, asked: ExplainOptions, options: VerifyOptions) -> Found:
    """The facts that were named, or those that the method finds."""
    if options.facts is not None:
        return Found(_named(situation, asked, find_facts(situation.trained, options.facts)))
    explanation = explain_situation(situation, asked.replace(top=options.top))
    if not explanation.facts:
        raise WhereofError(f"{asked.method} finds no fact that supports it; name facts to remove")
    facts = tuple(map(_as_removed, explanation.facts))
    if asked.method == "random":  # what it draws is no influence
        facts = tuple(replace(fact, influence=None) for fact in facts)
    return Found(facts, explanation.notes)


def _named(
    situation: Situation, asked: ExplainOptions, fact_ids: FactIds
) -> tuple[RemovedFact, ...]:
    trained = situation.trained
    if not len(fact_ids):
        raise WhereofError("no fact to remove is named; give ids or names, or leave out facts")
    if trained.trace is not None or not METHODS[asked.method].rolls_back:
        return tuple(map(_as_removed, describe_facts(situation, asked, fact_ids)))
    data = trained.dataset
    return tuple(
        RemovedFact(fact, **name_fact(data, data.train[fact]), influence=None)
        for fact in fact_ids.tolist()
    )


def _as_removed(fact: ExplainedFact) -> RemovedFact:
    return RemovedFact(
        fact.fact_id,
        fact.subject,
        fact.relation,
        fact.object,
        {place: fact.labels[place] for place in ("subject", "relation", "object")},
        fact.influence,
        fact.probability_without,
    )
