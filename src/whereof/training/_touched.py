"""Which rows the facts of a batch touch, and by what."""

from typing import Any, NamedTuple

import numpy as np

from whereof._jit import inlined

NEGATIVE, OWN_OBJECT, OWN_VECTOR = 0, 1, 2
"""How a fact touches a row: as a negative; as its object; as its subject or its relation."""


class Touched(NamedTuple):
    """The touched rows of one table, each with a list of its touches.

    A row's first touch has the number of the row's slot; others are numbered on from the capacity.
    """

    sizes: Any  # (2,) rows, further touches
    slot_of: Any  # (n,) int32 position of a row in `ids`, or -1
    ids: Any  # (capacity,) int32
    following: Any  # (2 * capacity,) int32 next touch of the same row, or -1
    fact: Any  # (2 * capacity,) int32 position in the batch
    kind: Any  # (2 * capacity,) int8
    weight: Any  # (2 * capacity,) d loss / d score


def allocate_touched(n_rows: int, capacity: int, dtype: Any) -> Touched:
    """Room for as many touches as a batch can make."""
    return Touched(
        sizes=np.zeros(2, np.int64),
        slot_of=np.full(n_rows, -1, np.int32),
        ids=np.zeros(capacity, np.int32),
        following=np.zeros(2 * capacity, np.int32),
        fact=np.zeros(2 * capacity, np.int32),
        kind=np.zeros(2 * capacity, np.int8),
        weight=np.zeros(2 * capacity, dtype),
    )


@inlined
def touch_rows(touched, rows, f, kind, weights):
    """List that fact f touches some rows; a negative that it drew twice counts double."""
    slot_of, ids, following = touched.slot_of, touched.ids, touched.following
    n_rows, n_more = touched.sizes
    for j in range(rows.shape[0]):
        row = rows[j]
        slot = slot_of[row]
        if slot < 0:
            touch = n_rows
            n_rows += 1
            slot_of[row], ids[touch], following[touch] = touch, row, -1
        else:
            newest = following[slot] if following[slot] >= 0 else slot
            if kind == NEGATIVE and touched.fact[newest] == f:
                touched.weight[newest] += weights[j]
                continue
            touch = ids.shape[0] + n_more
            n_more += 1
            following[touch] = following[slot]
            following[slot] = touch
        touched.fact[touch] = f
        touched.kind[touch] = kind
        touched.weight[touch] = weights[j]
    touched.sizes[0], touched.sizes[1] = n_rows, n_more


@inlined
def is_plain(touched, slot):
    """Whether a row is touched once, as a negative: nearly all are."""
    return touched.following[slot] < 0 and touched.kind[slot] == NEGATIVE
