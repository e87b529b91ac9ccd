"""Results of training as plain records, and where they are stored. No kernels."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.types import SUBJECT, Rows

if TYPE_CHECKING:
    from whereof.data.dataset import Dataset
    from whereof.events import Events


UNLEARNED = "unlearned"
"""Why the training of a run ended that facts were removed from."""
FEW_CASES = 50
"""A validation metric that is a mean of fewer facts or users changes mostly by chance."""


class Parameters(NamedTuple):
    """The rows of (n_entities, width) and (n_relation_rows, width): trained, or their changes."""

    entity_rows: Rows
    relation_rows: Rows


@dataclass(frozen=True)
class Checkpoint:
    """The parameters at one point of training."""

    parameters: Parameters
    facts: int
    """Facts trained on up to this point, over all epochs."""
    updates: int


@dataclass(frozen=True)
class Bookkeeping:
    """What moved the parameters, as shares of final minus initial parameters; they add up to 1.

    Each part is projected onto the whole change. With credit=step the remainder is rounding. With
    credit=source it is the momentum that the steps of facts carried over from each other, and with
    credit=forget also what later steps undid. Without a trace it is everything that the steps of
    facts did.
    """

    trace: float
    negatives: float
    drift: float
    projection: float
    remainder: float


@dataclass(frozen=True)
class Validation:
    """The quality of a model on the validation facts. A higher gain is better."""

    metric: str
    value: float
    gain: float
    n_cases: int
    """Number of facts or users that the metric is a mean of."""

    @staticmethod
    def count_cases(dataset: "Dataset", *, rated: bool) -> int:
        """Number of cases in the validation facts: users if the metric ranks their items."""
        by_user = dataset.two_way and not rated
        return len(np.unique(dataset.valid[:, SUBJECT]) if by_user else dataset.valid)


@dataclass
class Progress:
    """The state of training; every checkpoint has it."""

    history: list[dict[str, Any]] = field(default_factory=list)
    """One entry per epoch. The time budget may have cut the last epoch."""
    best_epoch: int = 0
    best_facts: int = 0
    best_gain: float | None = None
    facts: int = 0
    """Number of facts trained on so far, over all epochs."""
    updates: int = 0
    seconds: float = 0.0
    """Time of the steps alone."""
    elapsed: float = 0.0
    """Time of everything, which the time budget limits."""
    validation_seconds: float = 0.0
    """Time of the last validation."""
    stopped: str = ""
    """Why training ended: epochs, patience or time."""
    kept: int = 0

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Progress":
        """Progress from a checkpoint."""
        if values.keys() != {item.name for item in fields(cls)}:
            raise WhereofError(
                "the checkpoint was written by another version of whereof: train the run again"
            )
        return cls(**values)


@dataclass(frozen=True)
class BestEpoch:
    """What a run keeps of its best epoch, besides the trace."""

    parameters: Parameters
    epoch: int
    norms: dict[str, float]
    bookkeeping: Bookkeeping
    state: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """What training needs to go on: the optimizer's state and the ledgers."""


class RunStore(Protocol):
    """Where training stores its results, such as a run folder."""

    def allocate_trace(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]: ...
    def save_checkpoint(
        self, arrays: dict[str, NDArray[Any]], progress: dict[str, Any], trace: NDArray[Any] | None
    ) -> None: ...
    def load_checkpoint(
        self, trace: NDArray[Any] | None, events: "Events"
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None: ...
    def keep_best(self, best: BestEpoch, trace: NDArray[Any] | None) -> None: ...
    def keep_checkpoint(
        self, index: int, parameters: Parameters, about: dict[str, Any]
    ) -> None: ...
