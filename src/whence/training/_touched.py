"""Which rows the facts of a batch touch, and by what."""

from typing import Any, NamedTuple

import numpy as np

from whence._jit import inlined

NEGATIVE, OWN_OBJECT, OWN_VECTOR = 0, 1, 2
"""How a fact touches a row: as a negative; as its object; as its subject or its relation."""


class Plain(NamedTuple):
    """Rows that are touched once, as a negative: nearly all of them."""

    ids: Any  # (capacity,) int32
    fact: Any  # (capacity,) int32
    weight: Any  # (capacity,)


class Touched(NamedTuple):
    """The touched rows of one table, each with a linked list of its touches."""

    sizes: Any  # (2,) rows, touches
    slot_of: Any  # (n,) int32 position of a row in `ids`, or -1
    ids: Any  # (capacity,) int32
    head: Any  # (capacity,) int32 a row's newest touch, or -1 when it is done with
    following: Any  # (capacity,) int32
    fact: Any  # (capacity,) int32 position in the batch
    kind: Any  # (capacity,) int8
    weight: Any  # (capacity,) d loss / d score
    plain: "Plain"


def allocate_touched(n_rows: int, capacity: int, dtype: Any) -> Touched:
    """Room for as many touches as a batch can make."""
    ints = (np.zeros(capacity, np.int32) for _ in range(6))
    ids, head, following, fact, plain_ids, plain_fact = ints
    return Touched(
        sizes=np.zeros(2, np.int64),
        slot_of=np.full(n_rows, -1, np.int32),
        ids=ids,
        head=head,
        following=following,
        fact=fact,
        kind=np.zeros(capacity, np.int8),
        weight=np.zeros(capacity, dtype),
        plain=Plain(plain_ids, plain_fact, np.zeros(capacity, dtype)),
    )


@inlined
def touch_rows(touched, rows, f, kind, weights):
    """List that fact f touches some rows; a negative that it drew twice counts double."""
    sizes, slot_of, ids, head = touched.sizes, touched.slot_of, touched.ids, touched.head
    n_rows, n_touches = sizes
    for j in range(rows.shape[0]):
        row = rows[j]
        slot = slot_of[row]
        if slot < 0:
            slot = n_rows
            n_rows += 1
            slot_of[row], ids[slot], head[slot] = slot, row, -1
        newest = head[slot]
        if kind == NEGATIVE and newest >= 0 and touched.fact[newest] == f:
            touched.weight[newest] += weights[j]
            continue
        touched.following[n_touches] = newest
        touched.fact[n_touches] = f
        touched.kind[n_touches] = kind
        touched.weight[n_touches] = weights[j]
        head[slot] = n_touches
        n_touches += 1
    sizes[0], sizes[1] = n_rows, n_touches


@inlined
def take_plain(touched):
    """Move the plain rows into arrays of their own; say how many there are."""
    head, following, kind = touched.head, touched.following, touched.kind
    n_plain = 0
    for slot in range(touched.sizes[0]):
        touch = head[slot]
        if kind[touch] == NEGATIVE and following[touch] < 0:
            head[slot] = -1
            touched.plain.ids[n_plain] = touched.ids[slot]
            touched.plain.fact[n_plain] = touched.fact[touch]
            touched.plain.weight[n_plain] = touched.weight[touch]
            n_plain += 1
    return n_plain
