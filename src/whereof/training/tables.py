"""Records that kernels take as arguments: named arrays and numbers."""

from collections import namedtuple
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from whereof._jit import inlined

if TYPE_CHECKING:
    from whereof.training.problem import Problem

N_TAILS = 4
"""Number of sums from which the drift of a row is computed."""
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

    Four ledgers sum up, row by row, what changed the rows, separately for each cause. A ledger
    that is not kept has no rows.
    """

    state: Any  # (n, width * (1 + moments)) each row, followed by its moments
    touched: Any  # (n,) int64 count at which the row was last up to date; only for `adam`
    tails: Any  # (n, 4) float64 its future drift from that count on; only for `adam`
    owned: Any  # (n, width) changes in steps of facts that own the row
    negatives: Any  # (n, width) changes in steps in which the row was only a negative
    drift: Any  # (n, width) momentum drift in steps that did not touch the row
    projection: Any  # (n, width) changes by the norm constraint
    retained: Any  # (n, width) share of earlier changes that steps have left; see `_forget`


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
    least_retained: float
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
    rates: Any  # (updates,) float64 one for every update, including skipped ones
    first_count: int
    tails: Any  # (live updates + 1, 4) float64 future drift after each count
    powers: Any  # (horizon, 4) float64 beta1^n * beta2^(i n / 2)
    fades: Any  # (horizon,) float64 beta2^n


class Side(NamedTuple):
    """One table, with what the facts of a batch do to its rows."""

    table: RowTable
    touched: Any
    vectors: Any  # (batch, width) gradients with respect to the facts' subject or relation rows
    bends: Any  # (batch, width) curvature of the facts' losses along these rows
    width: int
    parts: int
    constrained: bool


class Log(NamedTuple):
    """The rows before each update of a segment of training, for the way back; or empty."""

    entities: Any  # (n, state width) update after update, each row once
    relations: Any
    entity_times: Any  # (n, 1 + 4) `touched` and `tails` of the rows; only for `adam`
    relation_times: Any
    starts: Any  # (updates + 1, 2) where the rows of an update start
    updates: Any  # (updates, 3) first position in the block, direction, count before the update
    size: Any  # (1,) number of updates
    seen_entities: Any  # (n_entities,) the last update that touched a row, plus 1
    seen_relations: Any


class Work(NamedTuple):
    """Everything that the kernels of a training run read and write."""

    entities: Side
    relations: Side
    rule: Rule
    draw: Draw
    scratch: Any
    facts: Any  # (n_facts, 3)
    weights: Any  # (n_facts,), or empty if all are 1
    targets: Any  # (n_facts,) targets of the squared loss; else empty
    log: Log
    slopes: Any  # (n_facts, n_directions) to be measured, see `leverage`; or empty


_NONE = np.zeros((0, 0), np.float32)
_Scratch = namedtuple(
    "_Scratch",
    "facts fact_ids weights bent query candidates scores d_query spread mean credits undone "
    "gradient own rest share scale carry bend reach before",
)
_Touched = namedtuple("_Touched", "sizes slot_of ids following fact kind weight")


def allocate_work(problem: "Problem", tables: tuple[RowTable, RowTable], weights: Any) -> Work:
    """Allocate working memory for the batches of a problem."""
    rule, draw, dtype = problem.rule, problem.draw, np.dtype(problem.config.precision)
    batch, n_candidates = rule.batch_size, 1 + max(draw.objects[2], draw.subjects[2])
    widest = max(rule.entity_width, rule.relation_width)
    vectors = ("gradient", "own", "rest", "share", "scale", "carry", "bend", "reach", "before")
    scratch = _Scratch(
        facts=np.zeros((batch, 3), np.int64),  # subject, relation, object in the current direction
        fact_ids=np.zeros(batch, np.int64),
        weights=np.ones(batch, dtype),
        bent=np.zeros(batch, np.bool_),
        query=np.zeros((batch, rule.query_width), dtype),
        candidates=np.zeros(n_candidates, np.int32),
        scores=np.zeros(n_candidates, dtype),
        d_query=np.zeros(rule.query_width, dtype),
        spread=np.zeros(rule.query_width, dtype),
        mean=np.zeros(rule.query_width, dtype),
        credits=np.zeros((batch, problem.trace_width), dtype),
        undone=np.ones((batch, problem.trace_width), dtype),
        **{name: np.zeros(widest, dtype) for name in vectors},
    )

    def side(table: RowTable, most: int, width: int, parts: int, constrained: bool) -> Side:
        touched = _allocate_touched(len(table.state), batch * most, dtype)
        vectors, bends = np.zeros((2, batch, width), dtype)
        return Side(table, touched, vectors, bends, width, parts, constrained)

    entities, relations = (
        side(tables[0], n_candidates + 1, rule.entity_width, rule.entity_parts, rule.constrained),
        side(tables[1], 1, rule.relation_width, rule.relation_parts, rule.constrained_relations),
    )
    targets = np.asarray(problem.targets if problem.config.rated else (), dtype)
    facts, log = problem.facts, allocate_log(problem, tables, 0)
    return Work(entities, relations, rule, draw, scratch, facts, weights, targets, log, _NONE)


def allocate_log(problem: "Problem", tables: tuple[RowTable, RowTable], n_facts: int) -> Log:
    """Allocate a log for a segment of this number of facts; empty if there are none."""
    rule, draw = problem.rule, problem.draw
    n_updates = -(-n_facts // rule.batch_size) * rule.n_directions
    n_touched = n_updates * rule.batch_size
    most = (n_touched * (2 + max(draw.objects[2], draw.subjects[2])), n_touched)
    entities, relations = (
        np.zeros((n, table.state.shape[1]), table.state.dtype)
        for n, table in zip(most, tables, strict=True)
    )
    entity_times, relation_times = (np.zeros((n * rule.deferred, 1 + N_TAILS)) for n in most)
    seen = [np.zeros(len(table.state) if n_facts else 0, np.int64) for table in tables]
    return Log(
        entities,
        relations,
        entity_times,
        relation_times,
        starts=np.zeros((n_updates + 1, 2), np.int64),
        updates=np.zeros((n_updates, 3), np.int64),
        size=np.zeros(min(n_facts, 1), np.int64),
        seen_entities=seen[0],
        seen_relations=seen[1],
    )


def _allocate_touched(n_rows: int, capacity: int, dtype: Any) -> _Touched:
    """Memory for the touched rows of one table, each with a list of how facts touch it.

    The first touch of a row has the number of the row's slot. Further touches are numbered from the
    capacity on.
    """
    return _Touched(
        sizes=np.zeros(2, np.int64),  # number of rows, number of further touches
        slot_of=np.full(n_rows, -1, np.int32),  # position of a row in `ids`, or -1
        ids=np.zeros(capacity, np.int32),
        following=np.zeros(2 * capacity, np.int32),  # next touch of the same row, or -1
        fact=np.zeros(2 * capacity, np.int32),  # position in the batch
        kind=np.zeros(2 * capacity, np.int8),
        weight=np.zeros(2 * capacity, dtype),  # d loss / d score
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
