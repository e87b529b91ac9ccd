"""Retraining without some facts, for the rows only: no trace, no ledgers, no validation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from whereof.errors import Diverged, Interrupted
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.tables import Ledgers
from whereof.training.trainer import Trainer
from whereof.types import FactIds

_STRETCH = 1 << 16
"""Number of facts between two checks whether to stop."""


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
            done += trainer.advance(min(self.n_facts - done, _STRETCH))
        rows = trainer.parameters()
        if not (np.isfinite(rows.entity_rows).all() and np.isfinite(rows.relation_rows).all()):
            raise Diverged(f"training without {len(removed)} facts diverged; choose a lower rate")
        return rows

    def probe(self, n_facts: int) -> int:
        """Train on a few facts to measure the time; return their number.

        The first call may load or compile kernels.
        """
        return self._trainer(np.zeros(0, np.int64)).advance(min(n_facts, self.n_facts))

    def _trainer(self, removed: FactIds) -> Trainer:
        mask = np.zeros(len(self.problem.facts) if len(removed) else 0, np.bool_)
        mask[removed] = True
        return Trainer(self.problem, removed=mask, ledgers=Ledgers.NONE)
