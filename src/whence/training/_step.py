"""The training step: the contract of docs/concepts.md, for every model, loss and optimizer.

A batch is worked off in two passes. The first scores the candidates of each fact and lists which
rows it touches by what; no row changes. The second updates every touched row once and credits the
facts that own it.
"""

import numpy as np

from whence._jit import inlined, kernel, prefetch_row
from whence.models._match import (
    AHEAD,
    add_query_gradient,
    add_query_gradients,
    add_row_gradient,
    score_rows,
)
from whence.training._losses import SOFTMAX, sigmoid_loss, softmax_loss
from whence.training._optimizers import catch_up, pace_of
from whence.training._sampling import OBJECT_STREAM, SUBJECT_STREAM, draw_negatives, key_of
from whence.training._touched import NEGATIVE, OWN_OBJECT, OWN_VECTOR, touch_rows
from whence.training._trace import record
from whence.training._update import norm, project, update_table

METER = ("loss", "facts", "entity_norm", "relation_norm", "lipschitz")
LOSS, FACTS, ENTITY_NORM, RELATION_NORM, LIPSCHITZ = range(len(METER))


@kernel
def run_steps(model, facts, removed, tables, rule, draw, block, trace, scratch, count, meter, span):
    """Train on the facts at positions span = (start, stop) of a block.

    model: (query, query_vjp); facts: (n_facts, 3); removed: (n_facts,) bool or empty;
    count: (1,) int64 updates so far; meter: (5,) float64, see METER.
    """
    start, stop = span
    for first in range(start, stop, rule.batch_size):
        last = min(first + rule.batch_size, block.order.shape[0])
        for direction in range(rule.n_directions):
            n_live = _gather(facts, removed, block, first, last, direction, tables, scratch)
            if n_live == 0:
                continue
            rate = block.rates[first // rule.batch_size * rule.n_directions + direction]
            for f in range(n_live):
                _score(model, f, direction, tables, rule, draw, block, scratch, count[0], meter)
            count[0] += 1
            scratch.credits[:n_live] = 0
            pace = pace_of(rule, rate, count[0], scratch.gradient)
            update_table(
                tables[0], scratch.entities, direction, False, rule, pace, block, scratch, count[0]
            )
            update_table(
                tables[1], scratch.relations, direction, True, rule, pace, block, scratch, count[0]
            )
            if trace.shape[0] > 0:
                for f in range(n_live):
                    record(trace[scratch.fact_ids[f]], scratch.credits[f])


@inlined
def _gather(facts, removed, block, first, last, direction, tables, scratch):
    """The batch's facts that are not removed, turned round for the inverse direction."""
    n_live = 0
    n_relations = tables[1].state.shape[0] // 2
    for position in range(first, last):
        fact = block.order[position]
        if removed.shape[0] > 0 and removed[fact]:
            continue
        scratch.fact_ids[n_live] = fact
        scratch.facts[n_live, 0] = facts[fact, 2 * direction]
        scratch.facts[n_live, 1] = facts[fact, 1] + direction * n_relations
        scratch.facts[n_live, 2] = facts[fact, 2 - 2 * direction]
        n_live += 1
    return n_live


@inlined
def _score(model, f, direction, tables, rule, draw, block, scratch, count, meter):
    """First pass over one fact: its loss, its gradients, and the rows it touches."""
    query, query_vjp = model
    entities, relations = tables
    s, r, o = scratch.facts[f]
    width = rule.entity_width
    candidates = _candidates(f, direction, draw, block, scratch)
    scores = scratch.scores[: candidates.shape[0]]
    if rule.deferred:
        _read(tables, s, r, candidates, rule, block, count, scratch.share)
    subject, relation = entities.state[s, :width], relations.state[r, : rule.relation_width]
    q = scratch.query[f]
    query(subject, relation, q)
    _measure(query_vjp, f, subject, relation, entities.state[o, :width], rule, scratch, meter)
    score_rows(rule.match, q, entities.state, candidates, width, scores)
    meter[LOSS] += softmax_loss(scores) if rule.loss == SOFTMAX else sigmoid_loss(scores)
    meter[FACTS] += 1
    scratch.d_query[:] = 0
    add_query_gradients(rule.match, q, entities.state, candidates, scores, width, scratch.d_query)
    touch_rows(scratch.entities, candidates[:1], f, OWN_OBJECT, scores)
    touch_rows(scratch.entities, candidates[1:], f, NEGATIVE, scores[1:])
    query_vjp(subject, relation, scratch.d_query, scratch.d_subject[f], scratch.d_relation[f])
    touch_rows(scratch.entities, scratch.facts[f, :1], f, OWN_VECTOR, scores)
    touch_rows(scratch.relations, scratch.facts[f, 1:2], f, OWN_VECTOR, scores)


@inlined
def _candidates(f, direction, draw, block, scratch):
    """The fact's candidates: its object, then negatives keyed by fact, epoch and direction."""
    epoch = block.epoch if draw.redraw else 0
    stream = SUBJECT_STREAM if direction else OBJECT_STREAM
    key = key_of(draw.seed, stream, np.uint64(scratch.fact_ids[f]), np.uint64(epoch))
    first, count, n_negatives = draw.subjects if direction else draw.objects
    candidates = scratch.candidates[: n_negatives + 1]
    draw_negatives(key, draw.distinct, scratch.facts[f, 2], first, count, candidates)
    return candidates


@inlined
def _read(tables, s, r, candidates, rule, block, count, change):
    """Bring every row that a fact reads up to date; a row is projected whenever it moves."""
    entities, relations = tables
    _read_row(entities, s, rule.entity_width, True, rule, block, count, change)
    width, constrained = rule.relation_width, rule.constrain_relations
    _read_row(relations, r, width, constrained, rule, block, count, change)
    for j in range(candidates.shape[0]):
        if j + AHEAD < candidates.shape[0]:
            prefetch_row(entities.state, candidates[j + AHEAD], entities.state.shape[1])
            prefetch_row(entities.drift, candidates[j + AHEAD], rule.entity_width)
            prefetch_row(entities.tails, candidates[j + AHEAD], 4)
        _read_row(entities, candidates[j], rule.entity_width, True, rule, block, count, change)


@inlined
def _read_row(table, row, width, constrained, rule, block, count, change):
    if table.touched[row] < count:
        catch_up(table, row, width, count, rule, block, change)
        if constrained:
            project(table, row, width, rule)


@kernel
def catch_up_all(table, width, constrained, rule, block, count, change):
    """Bring a whole table up to date, for reading."""
    for row in range(table.state.shape[0]):
        _read_row(table, row, width, constrained, rule, block, count, change)


@inlined
def _measure(query_vjp, f, subject, relation, target, rule, scratch, meter):
    """Keep the largest row norms, and the largest |d score / d row|: the Lipschitz constant.

    For DistMult the three gradients are r * o, s * o and s * r, the products of the paper.
    """
    q, d_query = scratch.query[f], scratch.d_query
    d_subject, d_relation, d_object = (
        scratch.d_subject[f],
        scratch.d_relation[f],
        scratch.own[: rule.entity_width],
    )
    meter[ENTITY_NORM] = max(meter[ENTITY_NORM], norm(subject), norm(target))
    meter[RELATION_NORM] = max(meter[RELATION_NORM], norm(relation))
    d_query[:] = 0
    d_object[:] = 0
    add_query_gradient(rule.match, q, target, 1, rule.entity_width, d_query)
    add_row_gradient(rule.match, q, target, 1, rule.entity_width, d_object)
    query_vjp(subject, relation, d_query, d_subject, d_relation)
    slopes = max(norm(d_subject), norm(d_relation), norm(d_object))
    meter[LIPSCHITZ] = max(meter[LIPSCHITZ], slopes)
