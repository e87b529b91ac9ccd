"""What an engine is, and what it is given."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from whereof.predict.standing import Predictions, Standings
from whereof.retrain.recipe import Recipe
from whereof.training.results import Parameters
from whereof.types import FactIds


def removed_key(removed: FactIds) -> str:
    """Tells a set of removed facts from every other."""
    return blake2b(np.sort(removed).astype("<i8").tobytes(), digest_size=16).hexdigest()


@dataclass(frozen=True, eq=False)
class Job:
    """One retraining, and which predictions are looked at under its rows."""

    removed: FactIds
    """Distinct, ascending; none for the control."""
    which: NDArray[np.int64]
    """(n,) positions among the predictions."""

    @classmethod
    def of(
        cls, removed: Sequence[int] | FactIds, which: Sequence[int] | NDArray[np.int64]
    ) -> "Job":
        return cls(np.unique(np.asarray(removed, np.int64)), np.asarray(which, np.int64))

    @classmethod
    def control(cls, n_predictions: int) -> "Job":
        """Nothing removed, all predictions looked at."""
        return cls.of([], np.arange(n_predictions))

    @property
    def key(self) -> str:
        return removed_key(self.removed)

    def result(self, rows: Parameters, predictions: Predictions | None) -> Standings | Parameters:
        """What is wanted of its rows: how its predictions stand or, with None, the rows."""
        if predictions is None:
            return rows
        return predictions.stand(rows, self.which, self.removed)


class Engine(Protocol):
    """Somewhere to retrain."""

    @property
    def identity(self) -> str:
        """Retrainings of equal identity, and only those, may be compared to the bit."""

    @property
    def at_once(self) -> int:
        """How many retrainings run at a time."""

    @property
    def device(self) -> str:
        """Where to train and to explain beside it: cpu, or cuda."""

    def describe(self) -> str:
        """The machine in a few words, for people: its processor and cores, or its card."""

    def seconds_for(self, recipe: Recipe, n_retrainings: int) -> float:
        """What so many retrainings will take, from a short probe."""

    def retrain(
        self,
        recipe: Recipe,
        jobs: Sequence[Job],
        predictions: Predictions | None,
        should_stop: Callable[[], bool],
    ) -> Generator[tuple[int, Standings | Parameters], None, None]:
        """Train a model for every job, in the order they finish: its number, and what is wanted.

        That is how the job's predictions stand or, with None, all rows. Once `should_stop` says
        so, `Interrupted` is raised. However it ends, also when closed, nothing goes on running.
        """

    def close(self) -> None:
        """End what was started for it, such as a cluster; it cannot be used after that."""
