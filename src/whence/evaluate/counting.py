"""How many retrainings an evaluation rests on, each counted once however often it is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from whence.engines import Job, Outcomes, Retrainer
from whence.engines._journal import removed_key
from whence.predict import Predictions
from whence.types import FactIds

_NOTHING: FactIds = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class CountingRetrainer(Retrainer):
    """A retrainer that remembers what it was asked, and what of it had to be trained."""

    asked: set[str] = field(default_factory=set)
    trained: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, retrainer: Retrainer) -> "CountingRetrainer":
        return cls(retrainer.recipe, retrainer.engine, retrainer.journal, retrainer.watch)

    def ask(self, predictions: Predictions, jobs: Sequence[Job]) -> Outcomes:
        """See `Retrainer`."""
        control = Job(_NOTHING, np.arange(len(predictions)))
        for job in [control, *jobs]:
            key = removed_key(job.removed)
            self.asked.add(key)
            if self.journal.lacks(job.removed, predictions.places[job.which]):
                self.trained.add(key)
        return super().ask(predictions, jobs)
