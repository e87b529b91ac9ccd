"""Where the change of the parameters went: the shares of the book-keeping identity."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.training._trainer import Training
from whereof.training.results import Bookkeeping
from whereof.types import OBJECT, RELATION, SUBJECT

_CHUNK = 1 << 12


def bookkeeping(trainer: Training) -> Bookkeeping:
    """The shares of a training run as it stands."""
    tables = trainer.read()
    changes = [
        np.asarray(table.state[:, : rows.shape[1]], np.float64) - rows
        for table, rows in zip(tables, trainer.problem.initial_rows(), strict=True)
    ]
    whole = sum(float(np.vdot(change, change)) for change in changes) or 1.0
    owned, drift, projection = (
        sum(
            _along(getattr(table, name), change)
            for table, change in zip(tables, changes, strict=True)
        )
        for name in ("owned", "drift", "projection")
    )
    trace = _trace_along(trainer, changes)
    negatives = whole - owned - drift - projection
    parts = (trace, negatives, drift, projection, owned - trace)
    return Bookkeeping(*(part / whole for part in parts))


def _along(ledger: NDArray[Any], change: NDArray[np.float64]) -> float:
    """Inner product of a ledger with the whole change; 0 where it is not kept."""
    return float(np.vdot(np.asarray(ledger, np.float64), change)) if len(ledger) else 0.0


def _trace_along(trainer: Training, changes: list[NDArray[np.float64]]) -> float:
    """Inner product of the sum of all traces with the whole change, a chunk of facts at a time."""
    problem, (entities, relations) = trainer.problem, changes
    slots = problem.widths.slots(problem.n_directions)
    rows_of = (
        (entities, SUBJECT, 0),
        (relations, RELATION, 0),
        (entities, OBJECT, 0),
        (relations, RELATION, problem.n_relation_rows // 2),
    )
    total = 0.0
    for start in range(0, len(trainer.trace), _CHUNK):
        facts = problem.facts[start : start + _CHUNK]
        chunk = np.asarray(trainer.trace[start : start + _CHUNK], np.float64)
        for slot, (change, place, shift) in zip(slots, rows_of, strict=False):
            total += float(np.einsum("fk,fk->", chunk[:, slot], change[facts[:, place] + shift]))
    return total
