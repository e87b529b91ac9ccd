"""The facts that share something with a prediction, what they share, and which are wanted."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.explain._options import ExplainOptions, as_list
from whereof.explain._situation import Situation
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds

PARTS = ("subject", "relation", "object", "rival")
"""Parts of a prediction that a fact can share; the rival is the answer of a contrast."""

SAME_ANSWER = ("rollback-o", "criage")
"""Methods that look only at facts with the same answer, in the same place."""


def find_adjacent(situation: Situation, rival: int | None = None) -> FactIds:
    """Every fact that has the prediction's subject, relation or object, or the rival."""
    entities = [situation.subject, situation.object] + ([] if rival is None else [rival])
    return situation.trained.adjacency.adjacent(entities, situation.relation)


def shared_parts(
    situation: Situation, fact_ids: FactIds, rival: int | None = None
) -> NDArray[np.bool_]:
    """(n, 4) which of PARTS facts share with a prediction; entities count in either place."""
    data = situation.trained.dataset
    facts = data.train[fact_ids]
    shared = np.zeros((len(facts), len(PARTS)), bool)
    for column, entity in ((0, situation.subject), (2, situation.object), (3, rival)):
        if entity is not None:
            shared[:, column] = (facts[:, SUBJECT] == entity) | (facts[:, OBJECT] == entity)
    shared[:, 1] = not data.two_way and facts[:, RELATION] == situation.relation
    return shared


def role_of(parts: Sequence[str]) -> str:
    """One word for what a fact shares: a part, several, or none."""
    if len(parts) > 1:
        return "several"
    return parts[0] if parts else "none"


def filter_facts(
    situation: Situation, fact_ids: FactIds, options: ExplainOptions, rival: int | None = None
) -> FactIds:
    """The facts that the method, roles, relations and entities ask for."""
    data, contest = situation.trained.dataset, situation.contest
    relations, entities = as_list(options.relation), as_list(options.entity)
    if relations and data.two_way:
        raise WhereofError("two-way data has no relations to choose from; leave out relation")
    if options.method in SAME_ANSWER:
        column = SUBJECT if contest.asks == "subject" else OBJECT
        fact_ids = fact_ids[data.train[fact_ids, column] == situation.target]
    if options.role is not None:
        shared = shared_parts(situation, fact_ids, rival)
        several = options.role == "several"
        keep = shared.sum(axis=1) > 1 if several else shared[:, PARTS.index(options.role)]
        fact_ids = fact_ids[keep]
    if relations:
        ids = [data.relations.find(str(name)) for name in relations]
        fact_ids = fact_ids[np.isin(data.train[fact_ids, RELATION], ids)]
    if entities:
        ids = [data.entities.find(str(name)) for name in entities]
        fact_ids = fact_ids[np.isin(data.train[fact_ids][:, [SUBJECT, OBJECT]], ids).any(axis=1)]
    return fact_ids
