"""Records that kernels take as arguments: named arrays and numbers."""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from whereof._jit import inlined

NEGATIVE, OWN_OBJECT, OWN_VECTOR = 0, 1, 2
"""How a fact touches a row: as a negative, as its object, or as its subject or relation."""


class Ledgers(IntEnum):
    """Which records of parameter changes training keeps; none if only the rows are needed."""

    NONE = 0
    SHARES = 1
    """All that a run reports; the share of the negatives is the rest."""
    ALL = 2


class RowTable(NamedTuple):
    """The rows of all entities or of all relations, with the optimizer's state for each.

    The four ledgers sum up, row by row, what changed the rows, separately for each cause. A ledger
    that is not kept has no rows.
    """

    state: Any  # (n, width * (1 + moments)) each row, followed by its moments
    touched: Any  # (n,) int64 count at which the row was last up to date; only for `adam`
    tails: Any  # (n, 4) float64 its future drift from that count on; only for `adam`
    owned: Any  # (n, width) changes in steps of facts that own the row
    negatives: Any  # (n, width) changes in steps in which the row was only a negative
    drift: Any  # (n, width) momentum drift in steps that did not touch the row
    projection: Any  # (n, width) changes by the norm constraint


class Rule(NamedTuple):
    """The settings of a step, as numbers for kernels."""

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
    relation_parts: int  # 0 for angles: they have no norm
    constrained: bool
    constrained_relations: bool


class Draw(NamedTuple):
    """How negatives are drawn."""

    seed: Any  # uint64
    distinct: bool
    redraw: bool
    objects: tuple[int, int, int]  # first id, number of ids, number of negatives per step
    subjects: tuple[int, int, int]


class Block(NamedTuple):
    """A block of one epoch, with its learning rates and Adam's drift computed in advance."""

    epoch: int
    order: Any  # (n,) int64 fact ids
    rates: Any  # (updates,) float64 one for every update, including removed ones
    first_count: int
    tails: Any  # (live updates + 1, 4) float64 future drift after each count
    powers: Any  # (horizon, 4) float64 beta1^n * beta2^(i n / 2)
    fades: Any  # (horizon,) float64 beta2^n


class Touched(NamedTuple):
    """The touched rows of one table, each with a list of how facts touch it.

    The first touch of a row has the number of the row's slot. Further touches are numbered from the
    capacity on.
    """

    sizes: Any  # (2,) number of rows, number of further touches
    slot_of: Any  # (n,) int32 position of a row in `ids`, or -1
    ids: Any  # (capacity,) int32
    following: Any  # (2 * capacity,) int32 next touch of the same row, or -1
    fact: Any  # (2 * capacity,) int32 position in the batch
    kind: Any  # (2 * capacity,) int8
    weight: Any  # (2 * capacity,) d loss / d score


class StepScratch(NamedTuple):
    """Working memory for one batch."""

    facts: Any  # (batch, 3) subject, relation, object in the current direction
    fact_ids: Any  # (batch,) int64
    query: Any  # (batch, query width)
    d_subject: Any  # (batch, entity width)
    d_relation: Any  # (batch, relation width)
    candidates: Any  # (most candidates,) int32
    scores: Any  # (most candidates,)
    d_query: Any  # (query width,)
    gradient: Any  # (widest row,), like the next five
    own: Any
    rest: Any
    share: Any
    scale: Any
    carry: Any
    credits: Any  # (batch, trace width)
    entities: Touched
    relations: Touched


class Work(NamedTuple):
    """Everything that the kernels of a training run read and write."""

    entities: RowTable
    relations: RowTable
    rule: Rule
    draw: Draw
    scratch: StepScratch
    targets: Any  # (n_facts,) targets of the squared loss; else empty


class Side(NamedTuple):
    """One table during an update."""

    table: RowTable
    touched: Touched
    vectors: Any  # (batch, width) gradients with respect to the facts' subject or relation rows
    width: int
    parts: int
    constrained: bool
    subject_start: int  # start of the row's slot in the trace
    object_start: int


def allocate_scratch(
    rule: Rule, draw: Draw, tables: tuple[RowTable, RowTable], trace_width: int, dtype: Any
) -> StepScratch:
    """Allocate working memory for a batch."""
    batch, widest = rule.batch_size, max(rule.entity_width, rule.relation_width)
    entities, relations = (len(table.state) for table in tables)
    n_candidates = 1 + max(draw.objects[2], draw.subjects[2])
    vectors = ("gradient", "own", "rest", "share", "scale", "carry")
    return StepScratch(
        facts=np.zeros((batch, 3), np.int64),
        fact_ids=np.zeros(batch, np.int64),
        query=np.zeros((batch, rule.query_width), dtype),
        d_subject=np.zeros((batch, rule.entity_width), dtype),
        d_relation=np.zeros((batch, rule.relation_width), dtype),
        candidates=np.zeros(n_candidates, np.int32),
        scores=np.zeros(n_candidates, dtype),
        d_query=np.zeros(rule.query_width, dtype),
        **{name: np.zeros(widest, dtype) for name in vectors},
        credits=np.zeros((batch, trace_width), dtype),
        entities=allocate_touched(entities, batch * (n_candidates + 1), dtype),
        relations=allocate_touched(relations, batch, dtype),
    )


def allocate_touched(n_rows: int, capacity: int, dtype: Any) -> Touched:
    """Allocate memory for as many touches as a batch can make."""
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
    """Record that fact f touches some rows; a negative that it drew twice counts twice."""
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
    """Whether a row is touched once, as a negative; nearly all rows are."""
    return touched.following[slot] < 0 and touched.kind[slot] == NEGATIVE
