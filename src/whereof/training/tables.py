"""The plain records that kernels take: arrays and numbers under names."""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from whereof._jit import inlined

NEGATIVE, OWN_OBJECT, OWN_VECTOR = 0, 1, 2
"""How a fact touches a row: as a negative; as its object; as its subject or its relation."""


class Ledgers(IntEnum):
    """Which ledgers a training run keeps: none where only the rows are wanted."""

    NONE = 0
    SHARES = 1
    """All that a run reports, whose rest is what negatives did."""
    ALL = 2


class Table(NamedTuple):
    """The rows of all entities or of all relations, with what the optimizer keeps of each.

    The four ledgers add up, row by row, what changed the rows, under the name of the cause.
    One that is not kept has no rows.
    """

    state: Any  # (n, width * (1 + moments)) row, then its moments, side by side
    touched: Any  # (n,) int64 count at which a row was last up to date; deferred Adam only
    tails: Any  # (n, 4) float64 what is left of its drift from there on; deferred Adam only
    owned: Any  # (n, width) steps of facts that own the row
    negatives: Any  # (n, width) steps in which the row was only a negative
    drift: Any  # (n, width) momentum of steps that did not touch the row
    projection: Any  # (n, width) the norm constraint


class Rule(NamedTuple):
    """What a step does, as numbers."""

    loss: int
    match: int
    optimizer: int
    deferred: bool
    beta1: float
    beta2: float
    epsilon: float
    constraint: int
    max_norm: float
    l2: float
    n3: float
    source_credit: bool
    batch_size: int
    n_directions: int
    entity_width: int
    relation_width: int
    query_width: int
    entity_parts: int
    relation_parts: int  # 0 for angles, which have no norm
    constrained: bool
    constrained_relations: bool


class Draw(NamedTuple):
    """Where negatives come from."""

    seed: Any  # uint64
    distinct: bool
    redraw: bool
    objects: tuple[int, int, int]  # first id, how many ids, how many negatives a step
    subjects: tuple[int, int, int]


class Block(NamedTuple):
    """A stretch of one epoch, with what depends on time worked out ahead."""

    epoch: int
    order: Any  # (n,) int64 fact ids
    rates: Any  # (updates,) float64 one for every update, removed or not
    first_count: int
    tails: Any  # (live updates + 1, 4) float64 drift still to come after each count
    powers: Any  # (horizon, 4) float64 beta1^n * beta2^(i n / 2)
    fades: Any  # (horizon,) float64 beta2^n


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


class Scratch(NamedTuple):
    """Room for one batch."""

    facts: Any  # (batch, 3) subject, relation, object of the direction
    fact_ids: Any  # (batch,) int64
    query: Any  # (batch, query width)
    d_subject: Any  # (batch, entity width)
    d_relation: Any  # (batch, relation width)
    candidates: Any  # (most candidates,) int32
    scores: Any  # (most candidates,)
    d_query: Any  # (query width,)
    gradient: Any  # (widest row,) and so are the next five
    own: Any
    rest: Any
    share: Any
    scale: Any
    carry: Any
    credits: Any  # (batch, trace width)
    entities: Touched
    relations: Touched


_VECTORS = ("gradient", "own", "rest", "share", "scale", "carry")


class Work(NamedTuple):
    """All that a training run works on and by."""

    entities: Table
    relations: Table
    rule: Rule
    draw: Draw
    scratch: Scratch
    targets: Any  # (n_facts,) what the squared loss takes scores to; else empty


class Side(NamedTuple):
    """One table in an update."""

    table: Table
    touched: Touched
    vectors: Any  # (batch, width) gradients of the facts' subject or relation rows
    width: int
    parts: int
    constrained: bool
    subject_start: int  # of the row's slot in the trace
    object_start: int


def allocate_scratch(
    rule: Rule, draw: Draw, tables: tuple[Table, Table], trace_width: int, dtype: Any
) -> Scratch:
    """Room for a batch of a rule's size."""
    batch, widest = rule.batch_size, max(rule.entity_width, rule.relation_width)
    entities, relations = (len(table.state) for table in tables)
    n_candidates = 1 + max(draw.objects[2], draw.subjects[2])
    return Scratch(
        facts=np.zeros((batch, 3), np.int64),
        fact_ids=np.zeros(batch, np.int64),
        query=np.zeros((batch, rule.query_width), dtype),
        d_subject=np.zeros((batch, rule.entity_width), dtype),
        d_relation=np.zeros((batch, rule.relation_width), dtype),
        candidates=np.zeros(n_candidates, np.int32),
        scores=np.zeros(n_candidates, dtype),
        d_query=np.zeros(rule.query_width, dtype),
        **{name: np.zeros(widest, dtype) for name in _VECTORS},
        credits=np.zeros((batch, trace_width), dtype),
        entities=allocate_touched(entities, batch * (n_candidates + 1), dtype),
        relations=allocate_touched(relations, batch, dtype),
    )


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
