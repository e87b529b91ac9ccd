"""The explanation graph of the paper: what ties a prediction's entities to each other.

(i) Facts between the same two entities, (ii) facts of the same relation, (iii) pairs of facts that
join the two entities through a third, ranked by what both together do.
"""

import numpy as np
from numpy.typing import NDArray

from whereof.explain._adjacent import find_adjacent
from whereof.explain._describing import Describer
from whereof.explain._explanation import ExplainedFact, Graph, Path
from whereof.explain._rollback import Outcomes, Rollback
from whereof.explain._search import Ranked, search
from whereof.explain._sets import Sets
from whereof.explain._situation import Situation
from whereof.types import OBJECT, SUBJECT, FactIds

_SHOWN = 5
"""Facts or pairs of each kind."""


def find_graph(rollback: Rollback, describer: Describer) -> Graph:
    """The supporters of each kind, strongest first."""
    situation = rollback.situation
    adjacent = find_adjacent(situation)
    facts = situation.trained.dataset.train[adjacent]
    ends = {situation.subject, situation.object}
    joins = np.isin(facts[:, [SUBJECT, OBJECT]], [*ends]).all(axis=1)
    # A self-loop of one of two entities does not join them.
    joins &= (facts[:, SUBJECT] != facts[:, OBJECT]) | (len(ends) == 1)
    same_relation = situation.trained.adjacency.facts_of_relation(situation.relation)
    return Graph(
        between=_strongest(rollback, describer, adjacent[joins]),
        same_relation=_strongest(rollback, describer, same_relation.astype(np.int64)),
        paths=_paths(rollback, describer),
    )


def _strongest(
    rollback: Rollback, describer: Describer, fact_ids: FactIds
) -> tuple[ExplainedFact, ...]:
    ranked = search(rollback, Sets.each(fact_ids), _SHOWN)
    return describer.facts(fact_ids[ranked.chosen], ranked)


def _paths(rollback: Rollback, describer: Describer) -> tuple[Path, ...]:
    pairs = _find_pairs(rollback.situation)
    sets = Sets(pairs.ravel(), np.arange(0, 2 * len(pairs) + 1, 2))
    ranked = search(rollback, sets, _SHOWN)
    assert ranked.outcomes is not None
    return tuple(
        _path(rollback, describer, pair, ranked.outcomes.take(np.array([index])))
        for index, pair in enumerate(pairs[ranked.chosen])
    )


def _path(rollback: Rollback, describer: Describer, pair: FactIds, together: Outcomes) -> Path:
    situation = rollback.situation
    data = situation.trained.dataset
    alone = rollback.outcomes(Sets.each(pair))
    ranked = Ranked(np.arange(2), alone.influences, alone)
    first, second = describer.facts(pair, ranked)
    middle = int(_other_ends(situation, pair[:1], situation.subject)[0])
    return Path(
        entity=data.entities.name(middle),
        label=data.entities.label(middle),
        facts=(first, second),
        influence=float(together.influences[0]),
        probability_without=situation.shown(together.probabilities[0]),
    )


def _find_pairs(situation: Situation) -> FactIds:
    """(n_pairs, 2) facts of the subject and of the object that meet in a third entity."""
    ends = [situation.subject, situation.object]
    sides = []
    for entity in ends:
        ids = situation.trained.adjacency.facts_of_entity(entity).astype(np.int64)
        others = _other_ends(situation, ids, entity)
        away = ~np.isin(others, ends)
        order = np.argsort(others[away], kind="stable")
        sides.append((ids[away][order], others[away][order]))
    (first, meets), (second, met) = sides
    if situation.subject == situation.object:
        return np.empty((0, 2), np.int64)
    starts, stops = np.searchsorted(met, meets, "left"), np.searchsorted(met, meets, "right")
    counts = stops - starts
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack([np.repeat(first, counts), second[np.repeat(starts, counts) + within]])


def _other_ends(situation: Situation, fact_ids: FactIds, entity: int) -> NDArray[np.int64]:
    """The entity at the other end of each fact of an entity."""
    facts = situation.trained.dataset.train[fact_ids].astype(np.int64)
    return np.where(facts[:, SUBJECT] == entity, facts[:, OBJECT], facts[:, SUBJECT])
