"""Estimated margins of an answer over its rivals after facts are removed together."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whereof.errors import WhereofError
from whereof.events import Events
from whereof.explain.method import Aim, Context, Method, Sets, prepare
from whereof.predict.scored import ScoredPrediction
from whereof.retrain.methods.verified import Nominations
from whereof.types import FactIds, Numbers

FactSet = frozenset[int]

_NOISE = 0.1
"""Variance of a measured effect for every removed fact, relative to that of a fact's own effect."""
_FACTORS = 0.02, 2.0
"""Limits of the factor between estimated and measured effects."""


class Margins:
    """Predicts how far removing facts lowers the margins: score of the answer minus a rival's.

    The effect of a set S is c * J(S) + sum over its facts of e_i. J is the method's estimate, of
    all facts together if it can. The factor c and the corrections e_i are fitted to the sets that
    were retrained: e is the mean of a Gaussian process whose covariance is the number of common
    facts.
    """

    def __init__(
        self,
        scored: ScoredPrediction,
        method: Method,
        rivals: Sequence[int],
        pool: FactIds,
        events: Events,
    ) -> None:
        """pool: the facts that may be removed."""
        self.method, context = method, Context(Aim("score"))
        self._scored = [scored, *map(scored.answered, rivals)]
        asked = [each.prediction for each in self._scored]
        prepared = prepare(method, scored.trained, asked, context, events)  # in one sweep, if any
        self._contexts = [replace(context, prepared=prepared[each]) for each in asked]
        scores = np.zeros((scored.trained.dataset.n_facts, len(asked)))
        known = np.zeros(len(scores), np.bool_)
        for number, (each, its) in enumerate(zip(self._scored, self._contexts, strict=True)):
            found = Nominations.of(method, each, pool, its, None, events)
            scores[found.fact_ids, number] = [*found.estimates.values()]
            known[found.fact_ids] = True
        if not known.any():
            raise WhereofError(
                "no training fact shares an entity or the relation with the prediction"
            )
        self.fact_ids = np.flatnonzero(known)  # (n_pool,) those with an estimate
        self._estimates = _margins(scores)
        self._sets, self._measured = list[FactSet](), list[Numbers]()
        self._factor, self._corrections = 1.0, np.zeros_like(self._estimates)
        self.misfit = 0.0
        """Sum of squared differences between estimated and measured effects of single facts."""

    def effects(self) -> Numbers:
        """(n_pool, n_rivals) how far each fact alone lowers each margin."""
        both = self._factor * self._estimates + self._corrections
        return np.asarray(both[self.fact_ids])

    def predict(self, sets: Sequence[FactSet]) -> Numbers:
        """(n_sets, n_rivals) how far removing each set lowers each margin."""
        corrections = [self._corrections[[*each]].sum(axis=0) for each in sets]
        return np.asarray(self._factor * self._joint(sets) + np.array(corrections))

    def observe(self, sets: Sequence[FactSet], lowered: Sequence[Numbers]) -> None:
        """Learn how far the margins really fell, (n_rivals,) for each set."""
        self._sets += sets
        self._measured += lowered
        joint, measured = self._joint(self._sets), np.array(self._measured)
        alone = [number for number, each in enumerate(self._sets) if len(each) == 1]
        if (square := (joint[alone] ** 2).sum()) > 0:
            self._factor = float(
                np.clip((joint[alone] * measured[alone]).sum() / square, *_FACTORS)
            )
        self.misfit = float(np.square(measured[alone] - self._factor * joint[alone]).sum())
        common = np.array([[len(a & b) for b in self._sets] for a in self._sets], np.float64)
        common[np.diag_indices_from(common)] *= 1 + _NOISE
        weights = np.linalg.solve(common, measured - self._factor * joint)
        self._corrections[:] = 0
        for each, weight in zip(self._sets, weights, strict=True):
            self._corrections[[*each]] += weight

    def _joint(self, sets: Sequence[FactSet]) -> Numbers:
        """(n_sets, n_rivals) the method's own estimates."""
        if "groups" not in self.method.can:
            return np.array([self._estimates[[*each]].sum(axis=0) for each in sets])
        whole = Sets.of(np.array(sorted(each), np.int64) for each in sets)
        scores = np.empty((len(sets), len(self._scored)))
        for number, (each, its) in enumerate(zip(self._scored, self._contexts, strict=True)):
            ranked = self.method.rank(each, whole, its)
            scores[ranked.chosen, number] = ranked.influences
        return _margins(scores)


def _margins(scores: Numbers) -> Numbers:
    """(n, n_rivals) changes of the margins, from changes of the scores of the answer and rivals."""
    return np.asarray(scores[:, :1] - scores[:, 1:])
