"""What explanations are made from: a trained model, its facts and its trace."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whereof.data import Adjacency, Dataset
from whereof.errors import WhereofError
from whereof.models import Widths
from whereof.models.scoring import Scorer
from whereof.training.config import TrainConfig
from whereof.training.results import Checkpoint
from whereof.types import Numbers, Rows

if TYPE_CHECKING:
    from whereof.explain._backing import Backing
    from whereof.explain._retraining import LeaveOut


@dataclass(frozen=True, eq=False)
class Candidates:
    """The entities that compete for the answer, and what bounds need to know of their rows."""

    ids: NDArray[np.int64]
    """(n_candidates,) ascending."""
    rows: Rows
    """(n_candidates, width)"""
    places: NDArray[np.int32]
    """(n_entities,) where each entity stands among the candidates, or -1."""

    @cached_property
    def squares(self) -> Numbers:
        """(n_candidates,) squared norms of the rows."""
        return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows, dtype=np.float64))

    @property
    def reach(self) -> float:
        """The largest norm of a row."""
        return float(np.sqrt(self.squares.max()))

    @cached_property
    def radius(self) -> float:
        """The farthest that a row lies from the mean of all."""
        centre = self._centre
        squares = self.squares - 2 * (self.rows @ centre) + centre @ centre
        # Squares taken apart lose some digits: a bound must not be too small.
        return float(np.sqrt(squares.max() + 1e-6 * self.squares.max()))

    @cached_property
    def scatter(self) -> Numbers:
        """(width, width) sum over rows of (e - mean)(e - mean)^T, and a little more."""
        centred = self.rows - self._centre.astype(self.rows.dtype)
        scatter = (centred.T @ centred).astype(np.float64)
        # Rounding must not make a bound too small.
        return np.asarray(scatter + 1e-5 * np.trace(scatter) * np.eye(len(scatter)))

    @cached_property
    def _centre(self) -> Numbers:
        return np.asarray(self.rows.mean(axis=0, dtype=np.float64))


class Kept:
    """Numbers that take long to work out, under the key last asked for; threads wait for them."""

    def __init__(self) -> None:
        self._lock, self._key = Lock(), object()
        self._numbers: Numbers = np.empty(0)

    def get(self, key: object, make: Callable[[], Numbers]) -> Numbers:
        with self._lock:
            if key != self._key:
                self._numbers, self._key = make(), key
            return self._numbers


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model with its facts, its trace and the index of which fact touches what."""

    scorer: Scorer
    dataset: Dataset
    config: TrainConfig
    adjacency: Adjacency
    trace: NDArray[Any] | None
    """(n_facts, trace width); None where none was kept."""
    read_checkpoints: Callable[[], Sequence[Checkpoint]] = tuple
    """The moments of training that were kept."""
    leave_out: "LeaveOut | None" = None
    """Trains the model again without each of some facts; None where nobody may."""
    backing: "Backing | None" = None
    """Who scores removals against all candidates; None for the cores of this machine."""
    hessian: Kept = field(init=False, repr=False, default_factory=Kept)
    """By the seed of the facts that it is taken from; other rows have another."""

    def __post_init__(self) -> None:
        if self.trace is None:
            return
        wanted = (self.dataset.n_facts, self.slots[-1].stop)
        if self.trace.shape != wanted:
            raise WhereofError(
                f"the trace is of shape {self.trace.shape} and these facts need {wanted}: "
                "it is of other data or another model"
            )

    @property
    def widths(self) -> Widths:
        return self.scorer.model.widths(self.config.dim)

    @property
    def slots(self) -> tuple[slice, ...]:
        """Where a fact's rows stand in the trace: subject, relation, object, inverse relation."""
        return self.widths.slots(1 + self.config.inverse)

    @property
    def learned_ratings(self) -> bool:
        """Whether scores are ratings, so that probabilities mean nothing."""
        return self.config.loss == "squared"

    def need_trace(self) -> NDArray[Any]:
        """The trace, or what to do without one."""
        if self.trace is None:
            raise WhereofError(
                "rollback needs a trace and this run has none; train it without "
                "--no-trace, or choose another method, such as gradient-dot"
            )
        return self.trace

    def all_candidates(self, asks: str) -> Candidates:
        """Every entity that can stand in the place that is asked for."""
        return self._subjects if asks == "subject" else self._objects

    @cached_property
    def _objects(self) -> Candidates:
        return self.candidates(self.dataset.objects)

    @cached_property
    def _subjects(self) -> Candidates:
        return self.candidates(self.dataset.subjects)

    def candidates(self, ids: range | NDArray[np.int64]) -> Candidates:
        """These entities as candidates; a range takes no copy of its rows."""
        rows = self.scorer.entity_rows
        places = np.full(len(rows), -1, np.int32)
        listed = np.unique(np.asarray(ids, np.int64))
        places[listed] = np.arange(len(listed), dtype=np.int32)
        mine = rows[ids.start : ids.stop] if isinstance(ids, range) else rows[listed]
        return Candidates(listed, mine, places)
