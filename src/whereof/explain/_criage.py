"""CRIAGE: how the answer's row moves when one of its facts goes."""

import numpy as np

from whereof.errors import WhereofError
from whereof.explain._options import ExplainOptions
from whereof.explain._situation import Aim, Situation
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Numbers

DAMPING = 0.01
"""Added to the diagonal of the curvature, as a share of its mean."""


def estimate_criage(
    situation: Situation, aim: Aim, fact_ids: FactIds, options: ExplainOptions
) -> Numbers:
    """(n,) slope of what is explained times what the answer's score loses without the fact.

    All rows but the answer's stay; its facts i have queries z_i, scores z_i . e + b_i and
    probabilities phi_i = sigmoid(score). Its row e minimises the sum of -log phi_i and whatever
    else holds it in place, so that the whole gradient is 0. Without fact j the term
    -(1 - phi_j) z_j is missing from it, and one Newton step to the new minimum, with the curvature
    H = sum of phi_i (1 - phi_i) z_i z_i^T, moves e by -H^-1 (1 - phi_j) z_j. The score of the
    prediction, whose query is z, then falls by (1 - phi_j) z^T H^-1 z_j.

    H is damped: a row with fewer facts than coordinates has no inverse of it.
    """
    trained, contest = situation.trained, situation.contest
    if trained.scorer.model.match != "dot":
        raise WhereofError(
            f"method criage needs a model of dot products and {trained.scorer.model.name} is one "
            "of distances; choose another method, such as rollback"
        )
    column = SUBJECT if contest.asks == "subject" else OBJECT
    own = trained.adjacency.facts_of_entity(situation.target)
    own = own[trained.dataset.train[own, column] == situation.target]
    z, misses = _queries(situation, own)
    curvature = (z * (misses * (1 - misses))[:, None]).T @ z
    mean = np.trace(curvature) / len(curvature)
    curvature += max(DAMPING * mean, np.finfo(float).tiny) * np.eye(len(curvature))
    query = trained.scorer.queries(np.array([contest.given]), np.array([contest.relation_row]))
    through = np.linalg.solve(curvature, query[0, : z.shape[1]].astype(np.float64))
    z, misses = _queries(situation, fact_ids)
    slope = aim.slopes(situation)[situation.place] * trained.scorer.scale
    return np.asarray(slope * misses * (z @ through))


def _queries(situation: Situation, fact_ids: FactIds) -> tuple[Numbers, Numbers]:
    """Queries of facts with the answer asked for, without offsets, and 1 - phi of each."""
    trained, asks = situation.trained, situation.contest.asks
    facts, scorer = trained.dataset.train[fact_ids], trained.scorer
    given = np.ascontiguousarray(facts[:, OBJECT if asks == "subject" else SUBJECT])
    relations = facts[:, RELATION] + situation.contest.relation_row - situation.relation
    queries = scorer.queries(given, relations).astype(np.float64)
    row = scorer.entity_rows[situation.target].astype(np.float64)
    z, offsets = queries[:, : len(row)], queries[:, len(row) :].sum(axis=1)
    return z, np.exp(-np.logaddexp(0, z @ row + offsets))
