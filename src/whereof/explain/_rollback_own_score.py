"""Rollback for a model with a scoring function of its own, which no kernel knows.

Every removal is scored against all candidates: there are no bounds.
"""

import numpy as np

from whereof.explain.method import Aim, Removed, Sets
from whereof.predict.scored import STANDING, ScoredPrediction
from whereof.types import OBJECT, RELATION, SUBJECT, Numbers

_CELLS = 1 << 22
"""Number of scores to keep in memory at a time."""


def roll_back_own_score(scored: ScoredPrediction, sets: Sets, aim: Aim) -> Removed:
    """Influence of each set of facts, and the standing of the prediction without it."""
    size = max(_CELLS // len(scored.candidates.ids), 1)
    parts = [np.arange(start, min(start + size, len(sets))) for start in range(0, len(sets), size)]
    found = [_stand(scored, _scores_without(scored, sets.take(part)), aim) for part in parts]
    found = found or [Removed(np.zeros(0), np.empty(0, STANDING))]
    return Removed(*map(np.concatenate, zip(*found, strict=True)))


def _scores_without(scored: ScoredPrediction, sets: Sets) -> Numbers:
    """(n_sets, n_candidates) scores of all candidates after each set is rolled back."""
    trained, asked, places = scored.trained, scored.prediction, scored.candidates.places
    trace, score, n = trained.trace, trained.scorer.model.score, len(sets)
    assert trace is not None, "see Method.check"
    assert score is not None
    facts, slots = trained.dataset.train[sets.fact_ids], trained.slots
    changes = np.asarray(trace[sets.fact_ids], np.float64)  # (n_facts, trace width)
    which = np.repeat(np.arange(n), np.diff(sets.bounds))  # the set of each fact
    rows = trained.parameters
    given = np.repeat(rows.entity_rows[[asked.given]].astype(np.float64), n, axis=0)
    relation = np.repeat(rows.relation_rows[[scored.relation_row]].astype(np.float64), n, axis=0)
    own, own_changes = [], []  # (set, place) of candidates whose own rows change
    for column in (SUBJECT, OBJECT):
        change = changes[:, slots[column]]
        mine = facts[:, column] == asked.given
        np.subtract.at(given, which[mine], change[mine])
        at = places[facts[:, column]]
        own.append(np.column_stack([which, at])[at >= 0])
        own_changes.append(change[at >= 0])
    slot = slots[3 if asked.asks == "subject" else 1]
    same = facts[:, RELATION] == asked.relation
    np.subtract.at(relation, which[same], changes[same, slot])
    candidates = scored.candidates.rows.astype(np.float64)
    scores = score(given, relation, candidates)
    pairs, back = np.unique(np.concatenate(own), axis=0, return_inverse=True)
    if len(pairs):
        changed = candidates[pairs[:, 1]]
        np.subtract.at(changed, back.ravel(), np.concatenate(own_changes))
        the_set, place = pairs.T
        scores[the_set, place] = score(given[the_set], relation[the_set], changed[:, None])[:, 0]
    return scores


def _stand(scored: ScoredPrediction, scores: Numbers, aim: Aim) -> Removed:
    """Influences and standings from (n, n_candidates) scores after removals."""
    place, scale, offset = scored.place, scored.trained.scorer.scale, scored.trained.scorer.offset
    shifted = scores - scores.max(axis=1, keepdims=True)
    logs = shifted[:, place] - np.log(np.exp(shifted).sum(axis=1))
    contenders = np.where(np.isfinite(scored.contenders), scores, -np.inf)
    out = np.empty(len(scores), STANDING)
    out["probability"], out["score"] = np.exp(logs), scores[:, place] * scale + offset
    out["rank"] = 1 + (contenders > scores[:, [place]]).sum(axis=1)
    out["top"] = out["top_released"] = scored.candidates.ids[contenders.argmax(axis=1)]
    before, after = scored.plain_scores[place], scores[:, place]
    if aim.rival is not None:
        rival = int(scored.candidates.places[aim.rival])
        fall = before - scored.plain_scores[rival] - (after - scores[:, rival])
        return Removed(scale * fall, out)
    if aim.of == "score":
        return Removed(scale * (before - after), out)
    if aim.of == "probability":
        return Removed(scored.probability - out["probability"], out)
    if scored.trained.config.loss == "sigmoid":
        return Removed(np.logaddexp(0, -after) - np.logaddexp(0, -before), out)
    return Removed(scored.log_probabilities[place] - logs, out)
