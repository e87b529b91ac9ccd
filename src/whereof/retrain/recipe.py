"""Retraining without some facts, for the rows only: no trace, no ledgers, no validation."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from whereof.errors import Diverged, Interrupted
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.tables import Ledgers
from whereof.training.trainer import Trainer
from whereof.types import FactIds

_FACTS_PER_CHECK = 1 << 16
"""Number of facts between two checks whether to stop."""
_FACTS_PER_PROBE = 1000


@dataclass(frozen=True)
class Recipe:
    """What every retraining repeats: a problem and the number of facts to train on.

    The number counts over all epochs, up to the epoch that the run kept.
    """

    problem: Problem
    n_facts: int

    def retrain(
        self, removed: FactIds, should_stop: Callable[[], bool] = lambda: False
    ) -> Parameters:
        """Train rows from scratch without some facts, with the same seed, negatives and order."""
        trainer = self._trainer(removed)
        done = 0
        while done < self.n_facts:
            if should_stop():
                raise Interrupted("retraining was interrupted")
            done += trainer.advance(min(self.n_facts - done, _FACTS_PER_CHECK))
        rows = trainer.parameters()
        if not (np.isfinite(rows.entity_rows).all() and np.isfinite(rows.relation_rows).all()):
            raise Diverged(f"training without {len(removed)} facts diverged; choose a lower rate")
        return rows

    def probe(self, seconds: float) -> float:
        """Estimated seconds of one retraining, measured by training for a short time."""
        trainer = self._trainer(np.zeros(0, np.int64))
        trainer.advance(1)  # which also loads kernels and memory: not counted
        before, done, left = time.perf_counter(), 0, max(self.n_facts - 1, 1)
        spent = 0.0
        while not done or (done < left and spent < seconds):
            done += trainer.advance(min(left - done, _FACTS_PER_PROBE))
            spent = time.perf_counter() - before
        return spent * self.n_facts / done

    def _trainer(self, removed: FactIds) -> Trainer:
        mask = np.zeros(len(self.problem.facts) if len(removed) else 0, np.bool_)
        mask[removed] = True
        return Trainer(self.problem, removed=mask, ledgers=Ledgers.NONE)
