"""The plain records that kernels take: arrays and numbers under names."""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from whereof.training._touched import Touched, allocate_touched


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
