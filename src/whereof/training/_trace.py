"""The trace: a step's credit is added to its fact's row, and the shares of all change it explains.

A trace is in double, single or half precision. Compiled code does not support half precision: it
gets a half-precision trace as bits (uint16).
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whereof._jit import kernel
from whereof.training.results import Bookkeeping
from whereof.types import OBJECT, RELATION, SUBJECT

if TYPE_CHECKING:
    from whereof.training.trainer import Training

_CHUNK = 1 << 12


@kernel
def record(row, credit):
    """row += credit, where row (width,) contains floats or the bits of half-precision numbers."""
    if row.itemsize == 2:
        for k in range(row.shape[0]):
            row[k] = to_half(from_half(int(row[k])) + credit[k])
    else:
        for k in range(row.shape[0]):
            row[k] += credit[k]


@kernel
def from_half(bits):
    """The number with these IEEE 754 half-precision bits."""
    sign = -1.0 if bits & 0x8000 else 1.0
    exponent, fraction = (bits >> 10) & 31, bits & 1023
    if exponent == 31:
        return sign * (math.nan if fraction else math.inf)
    if exponent == 0:
        return sign * math.ldexp(float(fraction), -24)
    return sign * math.ldexp(float(1024 + fraction), exponent - 25)


@kernel
def to_half(number):
    """The bits of the nearest half-precision number, ties to even; infinity if it is too large."""
    sign = 0x8000 if math.copysign(1.0, number) < 0 else 0
    size = abs(number)
    if math.isnan(size):
        return np.uint16(0x7E00)
    if size == 0:
        return np.uint16(sign)
    if size >= 65520.0:
        return np.uint16(sign | 0x7C00)
    exponent = max(math.frexp(size)[1] - 1, -14)
    # If the fraction rounds up to the next power of two, the carry increases the exponent.
    steps = int(np.rint(math.ldexp(size, 10 - exponent)))
    return np.uint16(sign | (((exponent + 14) << 10) + steps))


def bookkeeping(trainer: "Training") -> Bookkeeping:
    """Shares of the change of all parameters: by the trace, negatives, drift and projection."""
    tables = trainer.read()
    changes = [
        np.asarray(table.state[:, : rows.shape[1]], np.float64) - rows
        for table, rows in zip(tables, trainer.problem.initial_rows(), strict=True)
    ]
    whole = sum(float(np.vdot(change, change)) for change in changes) or 1.0

    def along(*ledgers: NDArray[Any]) -> float:
        """Inner product of ledgers with the whole change; one that is not kept counts 0."""
        kept = [pair for pair in zip(ledgers, changes, strict=True) if len(pair[0])]
        return sum(float(np.vdot(np.asarray(it, np.float64), change)) for it, change in kept)

    owned = along(*(table.owned for table in tables))
    drift = along(*(table.drift for table in tables))
    projection = along(*(table.projection for table in tables))
    trace = _trace_along(trainer, changes)
    negatives = whole - owned - drift - projection
    parts = (trace, negatives, drift, projection, owned - trace)
    return Bookkeeping(*(part / whole for part in parts))


def _trace_along(trainer: "Training", changes: list[NDArray[np.float64]]) -> float:
    """Inner product of the sum of all traces with the whole change, computed in chunks of facts."""
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
