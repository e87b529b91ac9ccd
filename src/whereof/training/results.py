"""What training hands on, and to whom: plain records and two protocols, free of kernels."""

from dataclasses import dataclass, field, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.types import Rows


@dataclass(frozen=True)
class Parameters:
    """Trained rows: (n_entities, width) and (n_relation_rows, width)."""

    entity_rows: Rows
    relation_rows: Rows


@dataclass(frozen=True)
class Checkpoint:
    """Parameters at one moment of training, kept for good."""

    parameters: Parameters
    facts: int
    """Facts trained on up to there, over all epochs."""
    updates: int


@dataclass(frozen=True)
class Bookkeeping:
    """Parts of final minus initial parameters, each measured along the whole; they add up to 1.

    With credit by step the remainder is rounding; with credit by source it is the momentum that
    the facts' own steps carried over from each other. Without a trace it is all their steps did.
    """

    trace: float
    negatives: float
    drift: float
    projection: float
    remainder: float


@dataclass(frozen=True)
class Validation:
    """How good a model is on the validation facts: an epoch of higher gain is better."""

    metric: str
    value: float
    gain: float


@dataclass
class Progress:
    """How far training is; kept in every checkpoint."""

    history: list[dict[str, Any]] = field(default_factory=list)
    """One entry an epoch; the last may be of an epoch that the time budget cut."""
    best_epoch: int = 0
    best_facts: int = 0
    """Facts trained on up to there, over all epochs."""
    best_gain: float | None = None
    facts: int = 0
    """Facts trained on so far, over all epochs."""
    updates: int = 0
    seconds: float = 0.0
    """Of steps alone."""
    elapsed: float = 0.0
    """With validation and all, as the time budget counts."""
    validation_seconds: float = 0.0
    """Of the last one."""
    stopped: str = ""
    """Why training ended: epochs, patience or time."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Progress":
        """Progress as a checkpoint holds it."""
        if values.keys() != {item.name for item in fields(cls)}:
            raise WhereofError(
                "the checkpoint was written by another version of whereof: train the run anew"
            )
        return cls(**values)

    kept: int = 0


@dataclass(frozen=True)
class BestEpoch:
    """What a run keeps of its best epoch, beside the trace."""

    parameters: Parameters
    epoch: int
    norms: dict[str, float]
    bookkeeping: Bookkeeping


class Store(Protocol):
    """Where training keeps what must outlive it; a run folder is one."""

    def allocate_trace(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]: ...
    def save_checkpoint(
        self, arrays: dict[str, NDArray[Any]], progress: dict[str, Any], trace: NDArray[Any] | None
    ) -> None: ...
    def load_checkpoint(
        self, trace: NDArray[Any] | None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None: ...
    def keep_best(self, best: BestEpoch, trace: NDArray[Any] | None) -> None: ...
    def keep_checkpoint(
        self, index: int, parameters: Parameters, about: dict[str, Any]
    ) -> None: ...
