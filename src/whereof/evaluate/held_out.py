"""How well parameters answer held-out facts, whatever the size of their scores."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from whereof.explain.suspicion import score_candidates
from whereof.predict.predictions import Predictions
from whereof.predict.scored import Trained
from whereof.training.results import Parameters
from whereof.types import Numbers

_CELLS = 1 << 22
"""Number of scores to keep in memory at a time."""


class HeldOutQuality(NamedTuple):
    """How well parameters answer held-out facts: higher is better."""

    value: float
    """The mean probability of the true answers among new answers, those that neither training nor
    validation gives; for ratings, minus the mean absolute error."""
    mrr: float | None
    """Mean reciprocal rank; None for ratings."""


@dataclass(frozen=True, eq=False)
class HeldOutFacts:
    """Held-out facts of a run, to be answered under any parameters of its model."""

    trained: Trained
    asked: Predictions
    ratings: Numbers | None
    """(n,) the true ratings, for a rating model."""

    def measure(self, rows: Parameters | None = None) -> HeldOutQuality:
        """The quality of some parameters, or of those of the run."""
        rows = rows or self.trained.parameters
        if self.ratings is not None:
            scorer = replace(self.trained.scorer, **rows._asdict())
            predicted = scorer.fact_scores(self.asked.places.astype(np.int32))
            return HeldOutQuality(-float(np.abs(self.ratings - predicted).mean()), None)
        probabilities, ranks = self._answer(Parameters(*(np.asarray(it, "f8") for it in rows)))
        return HeldOutQuality(float(probabilities.mean()), float((1 / ranks).mean()))

    def _answer(self, rows: Parameters) -> tuple[Numbers, Numbers]:
        """(n,) probabilities among new answers and ranks, both without known answers."""
        asked, scorer = self.asked, replace(self.trained.scorer, **rows._asdict())
        ((first, last),) = np.unique(asked.candidates, axis=0).tolist()  # the same for both sides
        size, n = max(_CELLS // (last - first), 1), len(asked)
        probabilities, ranks = np.empty(n), np.empty(n)
        for start in range(0, n, size):
            part = slice(start, start + size)
            given, relations, targets = asked.places[part].T
            each, known = np.arange(len(given)), asked.known[part]
            queries = scorer.queries(given, relations)
            scores = score_candidates(queries, rows.entity_rows[first:last], scorer.model)
            mine = scores[each, targets - first]
            sizes = [len(answers) for answers in known]
            scores[np.repeat(each, sizes), np.concatenate(known)[:, 0]] = -np.inf
            top = scores.max(axis=1)
            totals = np.exp(scores - top[:, None]).sum(axis=1)
            probabilities[part] = np.exp(mine - top) / totals
            ranks[part] = 1 + (scores > mine[:, None]).sum(axis=1)
        return probabilities, ranks
