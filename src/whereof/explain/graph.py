"""The explanation graph of the paper: facts that connect a prediction's entities.

It has (i) facts between the same two entities, (ii) facts with the same relation, and (iii) pairs
of facts that connect the two entities through a third, ranked by their joint influence.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whereof.explain.explanation import ExplainedFact, Graph, Path
from whereof.explain.method import Context, Method, Ranked, Sets
from whereof.predict.scored import ScoredPrediction, name_standings
from whereof.types import OBJECT, SUBJECT, FactIds

Name = Callable[[Ranked], tuple[ExplainedFact, ...]]
"""Makes records of ranked facts."""
_SHOWN = 5
"""Number of facts or pairs of each kind."""


def find_graph(scored: ScoredPrediction, method: Method, context: Context, name: Name) -> Graph:
    """The supporting facts of each kind, strongest first, by a method that removes groups."""
    context = replace(context, top=_SHOWN, opposing=False, exhaustive=False)
    subject, relation, object_ = scored.prediction.triple
    trained, ends = scored.trained, {subject, object_}
    index = trained.adjacency
    adjacent = index.adjacent(ends, relation)
    facts = trained.dataset.train[adjacent]
    joins = np.isin(facts[:, [SUBJECT, OBJECT]], [*ends]).all(axis=1)
    # A self-loop of one entity does not connect the two.
    joins &= (facts[:, SUBJECT] != facts[:, OBJECT]) | (len(ends) == 1)
    same_relation = index.facts_of_relation(relation).astype(np.int64)

    def strongest(fact_ids: FactIds) -> tuple[ExplainedFact, ...]:
        ranked = method.rank(scored, Sets.each(fact_ids), context)
        return name(replace(ranked, chosen=fact_ids[ranked.chosen], totals=None))

    pairs = _find_pairs(scored)
    ranked = method.rank(scored, Sets.of(pairs), context)
    assert ranked.standings is not None
    chosen, entities = pairs[ranked.chosen], trained.dataset.entities
    alone = method.remove(scored, Sets.each(chosen.ravel()), context)
    singles = name(Ranked(chosen.ravel(), alone.influences, standings=alone.standings))
    middles = _other_ends(scored, chosen[:, 0], subject).tolist()
    together = name_standings(trained, ranked.standings)
    rows = zip(middles, ranked.influences.tolist(), together, strict=True)
    paths = [
        Path(
            entity=entities.name(middle),
            label=entities.label(middle),
            facts=(
                replace(singles[2 * place], rank=1),
                replace(singles[2 * place + 1], rank=2),
            ),
            influence=influence,
            probability_without=stands.probability,
        )
        for place, (middle, influence, stands) in enumerate(rows)
    ]
    return Graph(
        between=strongest(adjacent[joins]),
        same_relation=strongest(same_relation),
        paths=tuple(paths),
    )


def _find_pairs(scored: ScoredPrediction) -> FactIds:
    """(n_pairs, 2) pairs of a subject's and an object's fact that share a third entity."""
    subject, _, object_ = scored.prediction.triple
    if subject == object_:
        return np.empty((0, 2), np.int64)
    ends, sides = [subject, object_], []
    for entity in ends:
        ids = scored.trained.adjacency.facts_of_entity(entity).astype(np.int64)
        others = _other_ends(scored, ids, entity)
        away = ~np.isin(others, ends)
        order = np.argsort(others[away], kind="stable")
        sides.append((ids[away][order], others[away][order]))
    (first, meets), (second, met) = sides
    starts, stops = np.searchsorted(met, meets, "left"), np.searchsorted(met, meets, "right")
    counts = stops - starts
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack([np.repeat(first, counts), second[np.repeat(starts, counts) + within]])


def _other_ends(scored: ScoredPrediction, fact_ids: FactIds, entity: int) -> NDArray[np.int64]:
    """The entity at the other end of each fact of an entity."""
    facts = scored.trained.dataset.train[fact_ids].astype(np.int64)
    return np.where(facts[:, SUBJECT] == entity, facts[:, OBJECT], facts[:, SUBJECT])
