"""Score removals against all candidates on the GPU, in double precision.

Written for CuPy with functions that NumPy also has, so it can be tested without a GPU. The CPU uses
the precision of the rows; on a GPU, double precision costs little.
"""

from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from whereof.explain.methods.rollback import Changes, Rescored
from whereof.predict.scored import Candidates, ScoredPrediction
from whereof.retrain.cuda.card import open_card

_MEMORY = 1 << 29  # maximum bytes of a block of removals on the GPU
_ARRAYS = 3  # number of score arrays of a block that exist at a time
_KEPT = 4  # number of candidate lists whose rows stay on the GPU
_FALLS_FAR = -0.5  # below this, 1 + y is a difference of similar numbers and loses digits


def open_backing(task: str) -> "CardBacking":
    """The GPU of this machine; the error for a missing one names the `task`."""
    card = open_card(task)
    return CardBacking(card.xp, min(_MEMORY, card.free_bytes() // 4))


class CardBacking:
    """Prepares predictions for scoring on the GPU, which handles one at a time."""

    def __init__(self, xp: Any, memory: int = _MEMORY) -> None:
        self.xp, self.memory, self.lock = xp, memory, Lock()
        self._kept: dict[Candidates, Any] = {}

    def __call__(self, scored: ScoredPrediction) -> "CardScoring":
        return CardScoring(self, scored)

    def rows(self, candidates: Candidates) -> Any:
        """Rows of candidates on the GPU; the last ones are cached there."""
        if candidates not in self._kept:
            if len(self._kept) == _KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[candidates] = self.xp.asarray(np.asarray(candidates.rows, np.float64))
        return self._kept[candidates]


class CardScoring:
    """Scores all candidates of one prediction on the GPU; threads take turns."""

    dtype = np.dtype(np.float64)
    is_quick = True

    def __init__(self, backing: CardBacking, scored: ScoredPrediction) -> None:
        self._backing, self._xp, self._scored = backing, backing.xp, scored
        self._match = scored.trained.scorer.model.match

    def after(self, changes: Changes) -> Rescored:
        n_sets = len(changes.moved)
        found = Rescored(np.empty(n_sets), np.empty(n_sets, np.int64), np.empty(n_sets, np.int64))
        # Blocks of removals that fit into memory.
        size = max(self._backing.memory // (_ARRAYS * 8 * len(self._scored.candidates.ids)), 1)
        with self._backing.lock:
            for start in range(0, n_sets, size):
                block = slice(start, min(start + size, n_sets))
                for mine, array in zip(found, self._after(changes, block), strict=True):
                    mine[block] = array.get() if hasattr(array, "get") else array
        return found

    def _after(self, changes: Changes, block: slice) -> tuple[Any, Any, Any]:
        """Log sums, top answers and ranks of a block, on the GPU."""
        xp, x = self._xp, self._changed_scores(changes, block)
        log_sums = self._log_sums(x)
        x *= self._scored.trained.scorer.scale
        x += xp.asarray(self._scored.contenders)
        xp.fmax(x, -np.inf, out=x)  # NaN is never the top answer
        mine = x[:, self._scored.place, None]
        return log_sums, x.argmax(axis=1), 1 + (x > mine).sum(axis=1)

    def _changed_scores(self, changes: Changes, block: slice) -> Any:
        """(n, n_candidates) change of every candidate's score for each removal of a block."""
        asarray, width = self._xp.asarray, self._rows.shape[1]
        queries = asarray(changes.queries[block, :width])
        if self._match == "dot":
            x = queries @ self._rows.T
        else:
            x = self._distances_before - self._distances(queries)
        x[asarray(np.flatnonzero(~changes.moved[block]))] = 0
        # For each removal, the candidates whose own rows change.
        removals, own = np.nonzero(np.arange(changes.own.shape[1]) < changes.n_own[block, None])
        places, values = changes.own[block][removals, own], changes.own_changes[block]
        x[asarray(removals), asarray(places)] = asarray(values[removals, own])
        x[:, self._scored.place] = asarray(changes.target[block])
        return x

    def _distances(self, queries: Any) -> Any:
        """(n, n_candidates) distances from queries to rows, computed in chunks."""
        xp, (n_candidates, width) = self._xp, self._rows.shape
        out, ones = xp.empty((len(queries), n_candidates)), xp.ones(width)
        size = max(self._backing.memory // (2 * 8 * n_candidates * width), 1)
        for start in range(0, len(queries), size):
            chunk = slice(start, start + size)
            gaps = xp.asarray(queries[chunk])[:, None] - self._rows
            if self._match == "l1":
                xp.abs(gaps, out=gaps)
            else:
                gaps *= gaps
            out[chunk] = (gaps.reshape(-1, width) @ ones).reshape(-1, n_candidates)
        return out if self._match == "l1" else xp.sqrt(out)

    def _log_sums(self, x: Any) -> Any:
        """(n,) log of sum p e^x over sum p, with log1p to keep digits of small changes."""
        xp, probabilities = self._xp, self._xp.asarray(self._scored.probabilities)
        total = probabilities.sum()
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            excess = xp.expm1(x) @ probabilities / total
            out = xp.log1p(excess)
        far = xp.flatnonzero(~((excess > _FALLS_FAR) & xp.isfinite(excess)))
        if len(far):  # the same for large changes, where probabilities may underflow
            logs = xp.asarray(self._scored.log_probabilities) + x[far]
            tops = logs.max(axis=1)
            sums = xp.exp(logs - tops[:, None]).sum(axis=1)
            out[far] = tops + xp.log(sums) - xp.log(total)
        return out

    @cached_property
    def _distances_before(self) -> Any:
        return self._distances(self._scored.query[None])

    @property
    def _rows(self) -> Any:
        return self._backing.rows(self._scored.candidates)
