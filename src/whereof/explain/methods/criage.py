"""CRIAGE: how the answer's row moves when one of its facts is removed."""

import numpy as np

from whereof.errors import WhereofError
from whereof.explain.method import Context, Method, able_method
from whereof.predict.scored import ScoredPrediction, Trained
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Numbers

DAMPING = 0.01
"""Damping: share of the curvature's mean diagonal that is added to the diagonal."""


class CriageMethod(Method):
    """One Newton step of the answer's row, as if it alone were trained again without the fact.

    All other rows stay. The facts i of the answer have queries z_i, scores z_i . e + b_i and
    probabilities phi_i = sigmoid(score). The row e minimises the sum of -log phi_i and whatever
    else holds it in place, so the whole gradient is 0. Without fact j the term -(1 - phi_j) z_j
    is missing from it. One Newton step to the new minimum, with the curvature
    H = sum of phi_i (1 - phi_i) z_i z_i^T, moves e by -H^-1 (1 - phi_j) z_j. The score of the
    prediction, whose query is z, then falls by (1 - phi_j) z^T H^-1 z_j.

    Facts with a weight count as often in the sum and in H. H is damped, because it has no inverse
    if there are fewer facts than coordinates.
    """

    name = "criage"
    title = "CRIAGE"
    phrase = "quick estimate, facts with the same answer only"
    citation = (
        "Pezeshkpour, Tian and Singh, Investigating Robustness and Interpretability of Link "
        "Prediction via Adversarial Modifications, NAACL 2019"
    )
    needs = frozenset({"formula", "sigmoid loss"})
    can = frozenset({"contrast"})
    same_answer = True

    def check(self, trained: Trained) -> None:
        super().check(trained)
        if trained.scorer.model.match != "dot":
            raise WhereofError(
                f"method criage requires a dot-product model, and {trained.scorer.model.name} is "
                f"a distance model; choose another method, such as {able_method('groups').name}"
            )

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        """(n_facts,) slope of the quantity times the drop of the answer's score."""
        trained = scored.trained
        column = SUBJECT if scored.prediction.asks == "subject" else OBJECT
        own = trained.adjacency.facts_of_entity(scored.target)
        own = own[trained.dataset.train[own, column] == scored.target]
        z, misses = _queries(scored, own)
        weights = trained.dataset.weights_of(own)
        curvature = (z * (weights * misses * (1 - misses))[:, None]).T @ z
        mean = np.trace(curvature) / len(curvature)
        curvature += max(DAMPING * mean, np.finfo(float).tiny) * np.eye(len(curvature))
        through = np.linalg.solve(curvature, scored.query[: z.shape[1]])
        z, misses = _queries(scored, fact_ids)
        slope = context.aim.slopes(scored)[scored.place] * trained.scorer.scale
        return np.asarray(slope * trained.dataset.weights_of(fact_ids) * misses * (z @ through))


CRIAGE = CriageMethod()


def _queries(scored: ScoredPrediction, fact_ids: FactIds) -> tuple[Numbers, Numbers]:
    """Queries of the facts with the same answer, without offsets, and 1 - phi of each."""
    trained, asks = scored.trained, scored.prediction.asks
    facts, scorer = trained.dataset.train[fact_ids], trained.scorer
    given = np.ascontiguousarray(facts[:, OBJECT if asks == "subject" else SUBJECT])
    relations = facts[:, RELATION] + scored.relation_row - scored.prediction.relation
    queries = scorer.queries(given, relations).astype(np.float64)
    row = scorer.entity_rows[scored.target].astype(np.float64)
    z, offsets = queries[:, : len(row)], queries[:, len(row) :].sum(axis=1)
    return z, np.exp(-np.logaddexp(0, z @ row + offsets))
