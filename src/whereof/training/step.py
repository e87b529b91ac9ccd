"""The training step, for every model, loss and optimizer.

A batch takes two passes. The first pass scores the candidates of each fact and lists the rows that
it touches; no row changes. The second pass updates every touched row once and credits the facts
that own it.
"""

import numpy as np

from whereof._jit import inlined, kernel
from whereof.models.match import (
    add_query_gradient,
    add_query_gradients,
    add_row_gradient,
    match,
    prefetch_ahead,
    score_rows,
)
from whereof.training._forget import fill_bends, record_retained
from whereof.training._trace import record
from whereof.training._update import norm, project, update_rows
from whereof.training.losses import SOFTMAX, SQUARED, sigmoid_loss, softmax_loss, squared_loss
from whereof.training.optimizers import catch_up, pace_of
from whereof.training.sampling import OBJECT_STREAM, SUBJECT_STREAM, draw_negatives, key_of
from whereof.training.tables import N_TAILS, NEGATIVE, OWN_OBJECT, OWN_VECTOR, touch_rows

STEP_VERSION = 1
"""Raise it whenever a step computes other numbers: what was trained by another step is retrained.

A step is all that training does with a fact: its draw, its loss, the models' queries, the
optimizer, the schedule, the constraint and the first rows.
"""

METER = ("loss", "facts", "entity_norm", "relation_norm", "lipschitz")
LOSS, FACTS, ENTITY_NORM, RELATION_NORM, LIPSCHITZ = range(len(METER))


@kernel
def run_steps(model, work, block, trace, clock, span):
    """Train on the facts at positions span = (start, stop) of a block.

    model: (query, query_vjp); trace: (n_facts, width), or empty; clock: number of updates so far
    (1,) and a meter, see METER, which may lack the norms.
    """
    rule, scratch = work.rule, work.scratch
    forgets = work.entities.table.retained.shape[0] > 0
    for first in range(span[0], span[1], rule.batch_size):
        last = min(first + rule.batch_size, block.order.shape[0])
        for direction in range(rule.n_directions):
            n_live = gather(block.order[first:last], direction, work)
            if n_live == 0:
                continue
            if work.log.size.shape[0] > 0:
                _log_rows(n_live, direction, work, block, first, clock[0][0])
            for f in range(n_live if work.slopes.shape[0] > 0 else 0):
                fact = scratch.fact_ids[f]
                slope = _unlearnt_slope(model, f, direction, work, block, trace[fact])
                work.slopes[fact, direction] = slope
            rate = block.rates[first // rule.batch_size * rule.n_directions + direction]
            update(model, n_live, direction, work, block, clock, rate)
            for f in range(n_live if trace.shape[0] > 0 else 0):
                if forgets:
                    fact = scratch.fact_ids[f]
                    record_retained(trace[fact], scratch.credits[f], scratch.undone[f])
                else:
                    record(trace[scratch.fact_ids[f]], scratch.credits[f])


@inlined
def _log_rows(n_live, direction, work, block, first, count):
    """Log the rows that the gathered facts are about to touch, each once."""
    log, scratch = work.log, work.scratch
    number = log.size[0]
    starts, ends = log.starts[number], log.starts[number + 1]
    ends[0], ends[1] = starts[0], starts[1]
    for f in range(n_live):
        candidates = draw_candidates(f, direction, work.draw, block, scratch)
        for j in range(candidates.shape[0] + 1):
            row = candidates[j] if j < candidates.shape[0] else scratch.facts[f, 0]
            if log.seen_entities[row] <= number:
                log.seen_entities[row] = number + 1
                _log_row(work.entities.table, row, ends[0], log.entities, log.entity_times)
                ends[0] += 1
        row = scratch.facts[f, 1]
        if log.seen_relations[row] <= number:
            log.seen_relations[row] = number + 1
            _log_row(work.relations.table, row, ends[1], log.relations, log.relation_times)
            ends[1] += 1
    log.updates[number, 0], log.updates[number, 1], log.updates[number, 2] = first, direction, count
    log.size[0] = number + 1


@inlined
def _log_row(table, row, place, rows, times):
    for k in range(rows.shape[1]):
        rows[place, k] = table.state[row, k]
    if times.shape[0] > 0:
        times[place, 0] = table.touched[row]
        for i in range(N_TAILS):
            times[place, 1 + i] = table.tails[row, i]


@inlined
def _unlearnt_slope(model, f, direction, work, block, trace):
    """d loss / d score of the object, at the fact's rows minus its trace."""
    rule, scratch, entities, relations = work.rule, work.scratch, work.entities, work.relations
    s, r, o = scratch.facts[f]
    rows, width, q = entities.table.state, rule.entity_width, scratch.query[f]
    across = width + rule.relation_width
    starts = (across, 0) if direction else (0, across)
    subject, target = scratch.own[:width], scratch.share[:width]
    relation = scratch.rest[: rule.relation_width]
    _minus(rows[s], trace[0 if s == o else starts[0] :], entities.table.retained[s], subject)
    _minus(rows[o], trace[0 if s == o else starts[1] :], entities.table.retained[o], target)
    start = width + direction * across
    _minus(relations.table.state[r], trace[start:], relations.table.retained[r], relation)
    candidates = draw_candidates(f, direction, work.draw, block, scratch)
    scores = scratch.scores[: candidates.shape[0]]
    model[0](subject, relation, q)
    score_rows(rule.match, q, rows, candidates, width, scores)
    scores[0] = match(rule.match, q, target, width)
    for j in range(1, scores.shape[0]):
        if candidates[j] == s:
            scores[j] = match(rule.match, q, subject, width)
    loss_of(scores, scratch.fact_ids[f], work)
    return scores[0]


@kernel
def _minus(row, trace, retained, out):
    for k in range(out.shape[0]):
        out[k] = row[k] - trace[k] * retained[k]


@inlined
def update(model, n_live, direction, work, block, clock, rate):
    """One update by the gathered facts."""
    rule, scratch = work.rule, work.scratch
    count, meter = clock
    for f in range(n_live):
        _score(model, f, direction, work, block, count[0], meter)
    count[0] += 1
    pace = pace_of(rule, rate, count[0], scratch.gradient)
    scratch.credits[:n_live] = 0
    scratch.undone[:n_live] = 1
    across = rule.entity_width + rule.relation_width
    start = rule.entity_width + direction * across
    # One loop body for both tables: it compiles in half the time.
    for side, starts in ((work.entities, (0, across)), (work.relations, (start, start))):
        update_rows(side, starts, direction, work, pace, block, count[0])


@inlined
def gather(order, direction, work):
    """Collect a batch's facts in the given direction, without those of weight 0."""
    facts, weights, scratch = work.facts, work.weights, work.scratch
    n_live, n_relations = 0, work.relations.table.state.shape[0] // 2
    for fact in order:
        weight = weights[fact] if weights.shape[0] > 0 else 1.0
        if weight == 0:
            continue
        scratch.fact_ids[n_live] = fact
        scratch.weights[n_live] = weight
        scratch.facts[n_live, 0] = facts[fact, 2 * direction]
        scratch.facts[n_live, 1] = facts[fact, 1] + direction * n_relations
        scratch.facts[n_live, 2] = facts[fact, 2 - 2 * direction]
        n_live += 1
    return n_live


@inlined
def _score(model, f, direction, work, block, count, meter):
    """First pass over one fact: its loss, its gradients, and the rows it touches."""
    query, query_vjp = model
    rule, scratch, entities, relations = work.rule, work.scratch, work.entities, work.relations
    s, r, o = scratch.facts[f]
    rows, width, q = entities.table.state, entities.width, scratch.query[f]
    candidates = draw_candidates(f, direction, work.draw, block, scratch)
    scores = scratch.scores[: candidates.shape[0]]
    if rule.deferred:
        _read(work, s, r, candidates, block, count)
    subject, relation = rows[s, :width], relations.table.state[r, : relations.width]
    query(subject, relation, q)
    if meter.shape[0] > ENTITY_NORM:
        _measure(query_vjp, f, subject, relation, rows[o, :width], work, meter)
    score_rows(rule.match, q, rows, candidates, width, scores)
    weight = scratch.weights[f]
    meter[LOSS] += weight * loss_of(scores, scratch.fact_ids[f], work)
    # It stands still where training diverged; math.isfinite is always true with these flags.
    meter[FACTS] += abs(meter[LOSS]) < np.inf
    if weight != 1:
        for j in range(scores.shape[0]):
            scores[j] *= weight
    scratch.d_query[:] = 0
    add_query_gradients(rule.match, q, rows, candidates, scores, width, scratch.d_query)
    query_vjp(subject, relation, scratch.d_query, entities.vectors[f], relations.vectors[f])
    if entities.table.retained.shape[0] > 0:
        vjp, epoch = query_vjp, block.epoch
        fill_bends(vjp, f, direction, subject, relation, candidates, scores, work, epoch)
    touch_rows(entities.touched, candidates[:1], f, OWN_OBJECT, scores)
    touch_rows(entities.touched, candidates[1:], f, NEGATIVE, scores[1:])
    touch_rows(entities.touched, scratch.facts[f, :1], f, OWN_VECTOR, scores)
    touch_rows(relations.touched, scratch.facts[f, 1:2], f, OWN_VECTOR, scores)


@inlined
def loss_of(scores, fact, work):
    """The loss of a fact from its candidates' scores, which become their slopes."""
    if work.rule.loss == SOFTMAX:
        return softmax_loss(scores)
    if work.rule.loss == SQUARED:
        return squared_loss(scores, work.targets[fact])
    return sigmoid_loss(scores)


@inlined
def draw_candidates(f, direction, draw, block, scratch):
    """Fill a fact's candidates: its object, then negatives keyed by fact, epoch and direction."""
    epoch = block.epoch if draw.redraw else 0
    stream = SUBJECT_STREAM if direction else OBJECT_STREAM
    key = key_of(draw.seed, stream, np.uint64(scratch.fact_ids[f]), np.uint64(epoch))
    first, count, n_negatives = draw.subjects if direction else draw.objects
    candidates = scratch.candidates[: n_negatives + 1]
    draw_negatives(key, draw.distinct, scratch.facts[f, 2], first, count, candidates)
    return candidates


@inlined
def _read(work, s, r, candidates, block, count):
    """Apply pending drift to every row that a fact reads."""
    entities, state, drift = work.entities, work.entities.table.state, work.entities.table.drift
    _read_row(entities, s, work, block, count)
    _read_row(work.relations, r, work, block, count)
    for j in range(candidates.shape[0]):
        prefetch_ahead(state, candidates, j, state.shape[1])
        if drift.shape[0] > 0:
            prefetch_ahead(drift, candidates, j, entities.width)
        prefetch_ahead(entities.table.tails, candidates, j, N_TAILS)
        _read_row(entities, candidates[j], work, block, count)


@inlined
def _read_row(side, row, work, block, count):
    """Apply pending drift to a row, up to `count`; a row is projected whenever it moves."""
    if side.table.touched[row] < count:
        change = work.scratch.share[: side.width]
        catch_up(side.table, row, change, work.rule, block, count)
        if side.constrained:
            project(side.table, row, side.width, work.rule)


@kernel
def read_rows(side, work, block, count):
    """Apply pending drift to a whole table."""
    for row in range(side.table.state.shape[0]):
        _read_row(side, row, work, block, count)


@inlined
def _measure(query_vjp, f, subject, relation, target, work, meter):
    """Update the largest row norms and the largest |d score / d row|, the Lipschitz constant.

    For DistMult the three gradients are r * o, s * o and s * r, the products in the paper.
    """
    width, kind = work.entities.width, work.rule.match
    q, d_query, d_object = work.scratch.query[f], work.scratch.d_query, work.scratch.own[:width]
    d_subject, d_relation = work.entities.vectors[f], work.relations.vectors[f]
    meter[ENTITY_NORM] = max(meter[ENTITY_NORM], norm(subject), norm(target))
    meter[RELATION_NORM] = max(meter[RELATION_NORM], norm(relation))
    d_query[:] = 0
    d_object[:] = 0
    add_query_gradient(kind, q, target, 1, width, d_query)
    add_row_gradient(kind, q, target, 1, width, d_object)
    query_vjp(subject, relation, d_query, d_subject, d_relation)
    slope = max(norm(d_subject), norm(d_relation), norm(d_object))
    meter[LIPSCHITZ] = max(meter[LIPSCHITZ], slope)
