"""Who scores removals against all candidates: the cores, unless a run is given somebody else.

With x_c the change of candidate c's score and p the probabilities before, what is asked for is
log S, where S = sum over c of p_c e^(x_c), and who stands where among the candidates.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whereof.explain._changes import Changes
from whereof.explain._scores_after import log_sums, score_after, score_queries, stand_after
from whereof.explain._situation import Situation
from whereof.models.match import DOT, MATCH_IDS
from whereof.types import Numbers

_BLOCK, _SCORES = 16, 1 << 18
"""Removals that are scored against all candidates at a time, more if that makes few scores."""


@dataclass(frozen=True, eq=False)
class After:
    """What becomes of all candidates after each of some removals."""

    log_sums: Numbers
    """(n,) log S; exactly 0 where no score changes."""
    tops: NDArray[np.int64]
    """(n,) where the top answer stands among the candidates."""
    ranks: NDArray[np.int64]
    """(n,) of the prediction's own answer."""


class Scoring(Protocol):
    """Scores all candidates of one prediction after removals."""

    @property
    def dtype(self) -> "np.dtype[np.floating]":
        """Of the queries that it is given in changes."""

    @property
    def is_quick(self) -> bool:
        """Whether scoring every removal takes less time than bounds that rule some out."""

    def after(self, changes: Changes) -> After:
        """What becomes of the candidates after each removal."""


Backing = Callable[[Situation], Scoring]
"""Gets a prediction ready for scoring."""


class CoreScoring:
    """On a core of this machine; threads may each have a prediction of their own."""

    is_quick = False

    def __init__(self, situation: Situation) -> None:
        self._situation, self._contest = situation, situation.contest
        self._kind = MATCH_IDS[situation.trained.scorer.model.match]
        self._rows = self._contest.candidates.rows

    @property
    def dtype(self) -> "np.dtype[np.floating]":
        """Differences of distances ask for more digits than their rows have."""
        return self._rows.dtype if self._kind == DOT else np.dtype(np.float64)

    def after(self, changes: Changes) -> After:
        situation, n_sets = self._situation, len(changes.moved)
        log_sum, scale = np.empty(n_sets), situation.trained.scorer.scale
        tops, ranks = np.empty(n_sets, np.int64), np.empty(n_sets, np.int64)
        place, contenders = situation.place, situation.contenders
        for block, x in self._scored(changes):
            log_sums(x, *self._weights, log_sum[block])
            stand_after(
                x, contenders, place, scale, changes.target[block], tops[block], ranks[block]
            )
        return After(log_sum - self._log_sum_before, tops, ranks)

    def _scored(self, changes: Changes) -> Iterator[tuple[slice, Any]]:
        """Blocks of removals with the change of every candidate's score by each of them."""
        n_sets, n_candidates = len(changes.moved), len(self._rows)
        size = min(max(_SCORES // n_candidates, _BLOCK), n_sets)
        room = np.empty((size, n_candidates), self.dtype)
        for start in range(0, n_sets, max(size, 1)):
            block = slice(start, min(start + size, n_sets))
            x = room[: block.stop - start]
            chosen = np.arange(block.start, block.stop)
            score_after(self._kind, self._rows, self._scores_before, chosen, changes, x)
            yield block, x

    @property
    def _weights(self) -> tuple[Numbers, Numbers]:
        """(n_candidates,) each: probabilities and their logarithms."""
        return self._contest.probabilities, self._contest.log_probabilities

    @cached_property
    def _scores_before(self) -> Numbers:
        """(n_candidates,) distances, rounded like those after a change; dot products ask for none.

        So what does not change has a change of exactly 0.
        """
        rows, query = self._rows, self._contest.query
        x, nothing = np.zeros((1, len(rows))), np.zeros(len(rows))
        if self._kind != DOT:
            score_queries(self._kind, rows, nothing, query[None], np.zeros(1, np.int64), x)
        return np.asarray(x[0])

    @cached_property
    def _log_sum_before(self) -> float:
        """The log of the sum of all probabilities, as near to 0 as rounding lets it."""
        out = np.empty(1)
        log_sums(np.zeros((1, len(self._rows)), self.dtype), *self._weights, out)
        return float(out[0])
