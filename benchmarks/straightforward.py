"""Rollback without search: all facts by matrix products, or one by one in a loop."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import whereof

_BLOCK = 512
"""Number of facts whose scores are in memory together."""


@dataclass(frozen=True)
class Prediction:
    """A prediction of a DistMult run, with everything that both functions need."""

    subject: int
    relation: int
    object: int
    entity_rows: NDArray[np.float32]
    relation_rows: NDArray[np.float32]
    facts: NDArray[np.int32]
    trace: NDArray[np.float32]
    adjacent: NDArray[np.int64]
    """Found beforehand, since the index of facts is not compared."""

    @classmethod
    def of(cls, run: whereof.Run, prediction: Any) -> "Prediction":
        data = run.dataset
        ends = [data.entities.find(prediction.subject), data.entities.find(prediction.object)]
        relation = data.relations.find(prediction.relation)
        s, r, o = data.train.T
        adjacent = np.isin(s, ends) | np.isin(o, ends) | (r == relation)
        return cls(
            ends[0],
            relation,
            ends[1],
            run.entity_rows,
            run.relation_rows,
            data.train,
            run.trace,
            np.flatnonzero(adjacent),
        )


def explain_all(prediction: Prediction, top: int) -> list[int]:
    """Score every entity without each fact of a block, in one matrix product."""
    ids = prediction.adjacent
    blocks = [ids[start : start + _BLOCK] for start in range(0, len(ids), _BLOCK)]
    without = np.concatenate([_probabilities_without(prediction, block) for block in blocks])
    return ids[np.argsort(without, kind="stable")[:top]].tolist()


def _probabilities_without(p: Prediction, ids: NDArray[np.int64]) -> NDArray[np.float32]:
    facts, width = p.facts[ids], p.entity_rows.shape[1]
    changes = p.trace[ids].reshape(len(ids), 3, width)
    subjects = np.repeat(p.entity_rows[p.subject][None], len(ids), axis=0)
    relations = np.repeat(p.relation_rows[p.relation][None], len(ids), axis=0)
    for column in (0, 2):
        mine = facts[:, column] == p.subject
        subjects[mine] -= changes[mine, column]
    mine = facts[:, 1] == p.relation
    relations[mine] -= changes[mine, 1]
    queries = subjects * relations
    scores = queries @ p.entity_rows.T
    which = np.arange(len(ids))
    for column in (0, 2):
        scores[which, facts[:, column]] -= np.einsum("ij,ij->i", queries, changes[:, column])
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    return scores[:, p.object] / scores.sum(axis=1)


def explain_in_a_loop(prediction: Prediction, top: int) -> list[int]:
    """For every fact: copy its rows, subtract its trace, score all entities, restore the rows."""
    p, width = prediction, prediction.entity_rows.shape[1]
    entities, relations = p.entity_rows.copy(), p.relation_rows.copy()
    without = {}
    for fact in p.adjacent.tolist():
        s, r, o = p.facts[fact]
        changes = p.trace[fact].reshape(3, width)
        kept = entities[s].copy(), relations[r].copy(), entities[o].copy()
        entities[s] -= changes[0]
        relations[r] -= changes[1]
        entities[o] -= changes[2]
        scores = entities @ (entities[p.subject] * relations[p.relation])
        exp = np.exp(scores - scores.max())
        without[fact] = exp[p.object] / exp.sum()
        entities[s], relations[r], entities[o] = kept
    return sorted(without, key=lambda fact: (without[fact], fact))[:top]
