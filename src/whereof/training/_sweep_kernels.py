"""One update of training, backwards: from the adjoint of the state after it to the one before.

The adjoint of a state is the derivative of a prediction with respect to it. Going back over an
update takes two steps. The first one undoes constraint and optimizer: it gives `pull`, the
derivative with respect to the gradient of each row. The second one is the product of the loss's
curvature with `pull`: how a change of a row before the update changes the gradients.

All of it is computed from the rows before the update, which a replay logs. What does not depend on
the prediction is computed once; predictions are the inner loop. A row's gradient, move, credit and
pull are computed row by row, while the row is in the cache; what they do to queries is added up.
"""

import math
from typing import Any, NamedTuple

from whereof._jit import called, inlined, kernel, prefetch_row
from whereof.models.match import (
    DOT,
    L1,
    L2,
    add_query_gradient,
    add_query_gradients,
    add_row_gradient,
    score_rows,
)
from whereof.training._update import UNIT, copy, norm, regularise, subtract, subtract_from
from whereof.training.losses import SIGMOID, SOFTMAX, sigmoid_loss, softmax_loss, squared_loss
from whereof.training.optimizers import (
    ADAGRAD,
    ADAM,
    SGD,
    add,
    catch_up,
    move,
    pace_of,
    series_of,
)
from whereof.training.step import draw_candidates, gather

_FAR = 1e15
"""The longest distance of a central difference, in lengths of a change."""


class Slots(NamedTuple):
    """The distinct rows of one table that an update touches, numbered from 0: their slots."""

    slot_of: Any  # (n_rows,) int32, -1 if a row has none
    ids: Any  # (capacity,) int64, like the next two
    first: Any  # first touch of the row: fact of the batch * places + place
    last: Any  # its last touch
    following: Any  # (batch * places,) the row's next touch, in the order of facts, or -1
    n: Any  # (1,) number of slots
    places: int  # where a fact touches rows: its candidates, then its subject; or its relation
    width: int
    parts: int
    constrained: bool
    before: Any  # (capacity, state width)
    pulls: Any  # (batch, 2, predictions, width) `pull` of subject or relation, and of the object
    vectors: Any  # (batch, width) gradients of the facts' subject or relation rows
    unlearnt: Any  # (batch, width) the same, without the fact's own earlier steps
    after: Any  # (state width,) a row after the update, before the constraint; like the next ones
    pull: Any  # (predictions, width)
    gradient: Any  # (width,)
    own: Any  # (2, width) the part of one fact, as it was and without its own earlier steps
    slopes: Any  # (4, width) coefficients of the optimizer
    table: Any  # RowTable whose state is `before`; the others are only for `adam`
    missed: Any  # (capacity,) updates that the row missed
    drift: Any  # (capacity, 2, width) derivatives of its drift by its two moments
    drifted: Any  # (capacity, width) the row after its drift, before the constraint
    drift_factor: Any  # (capacity,) by which the constraint scales it; 0 if it does not
    fades: Any  # (capacity, 2) decay of its moments
    latest: Any  # (state width,) change of the state in the last update that it missed
    pending: Any  # (n_rows, predictions) effect of that change, until the row was touched before
    change: Any  # (2, state width) with a fact, and without it


class SweepScratch(NamedTuple):
    """Working memory of a sweep for one thread."""

    entities: Slots
    relations: Slots
    subjects: Any  # (batch,) slots
    relation_slots: Any  # (batch,)
    candidates: Any  # (batch, candidates) slots
    n_candidates: Any  # (1,) of the current direction
    queries: Any  # (batch, query width)
    weights: Any  # (batch, candidates) d loss / d score
    curvature: Any  # (batch, candidates) d2 loss / d score2; probabilities for the softmax
    d_query: Any  # (batch, query width)
    unlearnt: Any  # (batch, candidates) d loss / d score without the fact's own earlier steps
    unlearnt_query: Any  # (query width,)
    bends: Any  # (batch, 3, 2, widest row) penalties' curvature: subject, object, relation
    tangent: Any  # (batch, predictions, candidates) change of the scores along `pull`
    dq: Any  # (predictions, query width) change of the query along `pull`
    ddq: Any  # (batch, predictions, query width) change of its gradient
    q: Any  # (2, query width) queries on both sides
    s: Any  # (2, width) subject rows on both sides
    r: Any  # (2, relation width)
    ds: Any  # (2, width)
    dr: Any  # (2, relation width)
    along: Any  # (widest row,)
    reach: float  # how far to both sides a query is evaluated, as a share of its vectors


@called
def _list_rows(n_live, direction, work, block, at):
    """Number the distinct rows that the gathered facts touch."""
    scratch, entities, relations = work.scratch, at.entities, at.relations
    entities.n[0], relations.n[0] = 0, 0
    for f in range(n_live):
        candidates = draw_candidates(f, direction, work.draw, block, scratch)
        at.n_candidates[0] = candidates.shape[0]
        touch = f * entities.places
        for j in range(candidates.shape[0]):
            at.candidates[f, j] = _touch(entities, candidates[j], touch + j)
        at.subjects[f] = _touch(entities, scratch.facts[f, 0], touch + entities.places - 1)
        at.relation_slots[f] = _touch(relations, scratch.facts[f, 1], f)
    for slots in (entities, relations):
        for slot in range(slots.n[0]):
            slots.slot_of[slots.ids[slot]] = -1


@kernel
def _touch(slots, row, touch):
    """Add a touch to a row; return the row's slot."""
    slot = slots.slot_of[row]
    if slot < 0:
        slot = slots.n[0]
        slots.slot_of[row], slots.ids[slot], slots.first[slot] = slot, row, touch
        slots.n[0] += 1
    else:
        slots.following[slots.last[slot]] = touch
    slots.last[slot], slots.following[touch] = touch, -1
    return slot


@kernel
def _next_fact(slots, touch):
    """The next touch of the same row by another fact, or -1."""
    f = touch // slots.places
    while touch >= 0 and touch // slots.places == f:
        touch = slots.following[touch]
    return touch


@kernel
def sweep_back(model, work, block, at, log, adjoint, finite, slopes, influence):
    """Go back over the logged updates of one block.

    adjoint: entities (n, predictions, state width), relations, the optimizer's count (predictions,)
    and the drift of rows that an update does not touch (predictions,); slopes: (n_facts,
    n_directions), see `leverage`, or empty; influence: (n_facts, predictions), to which the facts'
    parts are added.
    """
    rule, scratch, counts, drifts = work.rule, work.scratch, adjoint[2], adjoint[3]
    for number in range(log.size[0] - 1, -1, -1):
        first, direction, before = log.updates[number]
        last = min(first + rule.batch_size, block.order.shape[0])
        n_live = gather(block.order[first:last], direction, work)
        _list_rows(n_live, direction, work, block, at)
        starts, count = log.starts[number], before + 1
        _load(at.entities, log.entities, log.entity_times, starts[0], rule, block, before)
        _load(at.relations, log.relations, log.relation_times, starts[1], rule, block, before)
        rate = block.rates[first // rule.batch_size * rule.n_directions + direction]
        pace = pace_of(rule, rate, count, at.entities.gradient)
        earlier = pace_of(rule, rate, max(before, 1), at.entities.gradient)
        unlearnt = finite and slopes.shape[0] > 0
        for f in range(n_live):
            _score(model, f, work, at)
            if unlearnt:
                _unlearn(model, f, slopes[scratch.fact_ids[f], direction], work, at)
        if rule.deferred:
            for slots in (at.entities, at.relations):
                _end_drift(slots, drifts)
        if finite and n_live == 1:
            add(influence[scratch.fact_ids[0]], counts)
            add(influence[scratch.fact_ids[0]], drifts)
        for slots, rows in ((at.entities, adjoint[0]), (at.relations, adjoint[1])):
            _undo_rows(slots, rows, pace, earlier, work, at, finite, unlearnt, counts, influence)
        for f in range(n_live):
            _add_curvature(model, f, work, at, adjoint)
        if rule.deferred:
            for slots, rows in ((at.entities, adjoint[0]), (at.relations, adjoint[1])):
                _undo_drift(slots, rows, rule, earlier, drifts)


@kernel
def settle(work, block, count, at, adjoint):
    """Go back from rows that are read at `count` to those that training left, for `adam`."""
    rule, drifts = work.rule, adjoint[3]
    pace = pace_of(rule, block.rates[-1], max(count, 1), at.entities.gradient)
    for slots, table, rows in (
        (at.entities, work.entities.table, adjoint[0]),
        (at.relations, work.relations.table, adjoint[1]),
    ):
        for row in range(table.state.shape[0]):
            slots.ids[0], slots.n[0] = row, 1
            copy(table.state[row], slots.before[0])
            _catch_up(slots, 0, table.touched[row], table.tails[row], rule, block, count)
            _undo_drift(slots, rows, rule, pace, drifts)


@called
def _load(slots, logged, times, start, rule, block, count):
    """The rows as the update read them."""
    for slot in range(slots.n[0]):
        copy(logged[start + slot], slots.before[slot])
        if rule.deferred:
            touched, tails = int(times[start + slot, 0]), times[start + slot, 1:]
            _catch_up(slots, slot, touched, tails, rule, block, count)


@inlined
def _catch_up(slots, slot, touched, tails, rule, block, count):
    """Apply the drift of a row up to `count`; keep its derivatives for the way back."""
    table, width = slots.table, slots.width
    slots.missed[slot], slots.drift_factor[slot] = count - touched, 0
    if touched >= count:
        return
    table.touched[slot] = touched
    copy(tails, table.tails[slot])
    state, missed = table.state[slot], count - touched
    series = series_of(tails, block.tails[count - block.first_count], missed, block.powers)
    _fill_drift(state, series, rule.epsilon, slots.drift[slot])
    last = block.powers.shape[0] - 1
    slots.fades[slot, 0] = block.powers[min(missed, last), 0]
    slots.fades[slot, 1] = block.fades[missed] if missed <= last else rule.beta2**missed
    catch_up(table, slot, slots.change[0, :width], rule, block, count)
    copy(state[:width], slots.drifted[slot])
    slots.drift_factor[slot] = _factor(slots, state, rule)
    _constrain(slots.drift_factor[slot], state[:width])


@kernel
def _fill_drift(state, series, epsilon, slopes):
    """Derivatives of the drift -m part (t0 + t1 x + t2 x^2 + t3 x^3) by m and by v.

    With u = sqrt(v), part = 1 / (u + epsilon) and x = u part.
    """
    width, real = slopes.shape[1], state.dtype.type
    t0, t1, t2, t3 = real(series[0]), real(series[1]), real(series[2]), real(series[3])
    epsilon, tiny = real(epsilon), real(1e-12)
    for k in range(width):
        root = math.sqrt(state[2 * width + k])
        part = 1 / (root + epsilon)
        x = root * part
        total = t0 + x * (t1 + x * (t2 + x * t3))
        bent = (t1 + x * (2 * t2 + x * (3 * t3))) * epsilon * part - total
        slopes[0, k] = -part * total
        slopes[1, k] = -state[width + k] * part * part * bent / (2 * max(root, tiny))


@called
def _undo_drift(slots, rows, rule, pace, drifts):
    """Take the drift of the rows back, and add the effect of the last update that they missed."""
    width, latest = slots.width, slots.latest
    for slot in range(slots.n[0]):
        if slots.missed[slot] <= 0:
            continue
        row, state = slots.ids[slot], slots.before[slot]
        for k in range(width):
            mean, square = state[width + k], state[2 * width + k]
            latest[k] = -pace.step * mean / (math.sqrt(square) + pace.epsilon)
            latest[width + k] = mean - mean / pace.beta1
            latest[2 * width + k] = square - square / pace.beta2
        fade1, fade2 = slots.fades[slot]
        for p in range(drifts.shape[0]):
            adjoint = rows[row, p]
            slots.pending[row, p] = _dot(adjoint, latest)
            drifts[p] += slots.pending[row, p]
            _undo_constraint(adjoint[:width], slots.drifted[slot], slots.drift_factor[slot])
            means, squares = adjoint[width : 2 * width], adjoint[2 * width :]
            _scaled(fade1, means, means)
            _scaled(fade2, squares, squares)
            _add_product(means, slots.drift[slot, 0], adjoint)
            _add_product(squares, slots.drift[slot, 1], adjoint)


@inlined
def _end_drift(slots, drifts):
    """At the update that touched a row before, its drift has not begun yet."""
    for slot in range(slots.n[0]):
        row = slots.ids[slot]
        for p in range(drifts.shape[0]):
            drifts[p] -= slots.pending[row, p]
            slots.pending[row, p] = 0


@called
def _score(model, f, work, at):
    """A fact's query, and the first and second derivatives of its loss and its penalties."""
    rule, rows, weight = work.rule, at.entities.before, work.scratch.weights[f]
    n, width = at.n_candidates[0], rule.entity_width
    q, slots, scores = at.queries[f], at.candidates[f, :n], at.weights[f, :n]
    subject, target = rows[at.subjects[f], :width], rows[slots[0], :width]
    relation = at.relations.before[at.relation_slots[f], : rule.relation_width]
    model[0](subject, relation, q)
    score_rows(rule.match, q, rows, slots, width, scores)
    curvature = at.curvature[f]
    if rule.loss == SOFTMAX:
        softmax_loss(scores)
        for j in range(n):
            curvature[j] = scores[j]
        curvature[0] += 1
    elif rule.loss == SIGMOID:
        sigmoid_loss(scores)
        for j in range(n):
            probability = n * scores[j] + (j == 0)
            curvature[j] = probability * (1 - probability) / n
    else:
        squared_loss(scores, work.targets[work.scratch.fact_ids[f]])
        curvature[0] = 1
    for j in range(n):
        scores[j] *= weight
    at.d_query[f] = 0
    at.ddq[f] = 0
    add_query_gradients(rule.match, q, rows, slots, scores, width, at.d_query[f])
    model[1](subject, relation, at.d_query[f], at.entities.vectors[f], at.relations.vectors[f])
    l2, n3 = weight * rule.l2, weight * rule.n3
    if l2 > 0 or n3 > 0:
        _fill_bends(subject, l2, n3, rule.entity_parts, at.bends[f, 0])
        _fill_bends(target, l2, n3, rule.entity_parts, at.bends[f, 1])
        _fill_bends(relation, l2, n3, rule.relation_parts, at.bends[f, 2])


@kernel
def _fill_bends(row, l2, n3, parts, bends):
    """Fill the coefficients of the penalties' curvature.

    It is bends[0] * pull + row * bends[1] * <row, pull>, over both parts where rows are complex.
    """
    if parts == 0:
        return
    half = row.shape[0] // parts
    l2, n3, tiny = row.dtype.type(l2), row.dtype.type(n3), row.dtype.type(1e-30)
    sizes, inverses = bends[0, :half], bends[1, :half]
    _product(row, row, sizes)
    if parts == 2:
        _add_product(sizes, row[half:], row[half:])
    for k in range(half):
        sizes[k] = math.sqrt(sizes[k])
    for k in range(half):
        inverses[k] = n3 / max(sizes[k], tiny)
    for k in range(half):
        sizes[k] = l2 + n3 * sizes[k]


@called
def _unlearn(model, f, slope, work, at):
    """The first derivatives of a fact's loss, as if the fact had not been met before.

    slope: d loss / d score of its object then. Of the softmax all slopes grow or shrink alike.
    """
    rule, weights, unlearnt, n = work.rule, at.weights[f], at.unlearnt[f], at.n_candidates[0]
    entities, relations, d_query = at.entities, at.relations, at.unlearnt_query
    slope *= work.scratch.weights[f]
    ratio = slope / weights[0] if rule.loss == SOFTMAX and weights[0] != 0 else 1.0
    _scaled(ratio, weights[:n], unlearnt)
    _scaled(ratio, at.d_query[f], d_query)
    if rule.loss != SOFTMAX:
        unlearnt[0] = slope
        row, more = entities.before[at.candidates[f, 0]], d_query.dtype.type(slope - weights[0])
        add_query_gradient(rule.match, at.queries[f], row, more, entities.width, d_query)
    subject = entities.before[at.subjects[f], : entities.width]
    relation = relations.before[at.relation_slots[f], : relations.width]
    model[1](subject, relation, d_query, entities.unlearnt[f], relations.unlearnt[f])


@called
def _undo_rows(slots, rows, pace, earlier, work, at, finite, unlearnt, counts, influence):
    """Take the update of every row back: credit its facts and fill its `pull`."""
    rule, last = work.rule, slots.n[0] - 1
    for slot in range(last + 1):
        adjoints, ahead = rows[slots.ids[slot]], rows[slots.ids[min(slot + 1, last)]]
        _fill_gradient(slots, slot, -1, at.weights, slots.vectors, work, at, slots.gradient)
        factor = _move(slots, slot, rule, pace, earlier)
        if finite:
            _credit_changes(slots, slot, factor, adjoints, pace, work, at, unlearnt, influence)
        _undo(slots, factor, adjoints, ahead, rule, pace, counts)
        if not finite:
            _credit_slopes(slots, slot, work, at, influence)
        _turn_scores(slots, slot, adjoints, rule.match, at)


@inlined
def _fill_gradient(slots, slot, only, weights, vectors, work, at, gradient):
    """Sum the gradient of a row over the facts that touch it, or for fact `only`."""
    rule, row, subject = work.rule, slots.before[slot], slots.places - 1
    gradient[:] = 0
    touch = slots.first[slot]
    while touch >= 0:
        f, place = touch // slots.places, touch % slots.places
        if only < 0 or only == f:
            if place == subject:
                add(gradient, vectors[f])
            else:
                q, weight = at.queries[f], weights[f, place]
                add_row_gradient(rule.match, q, row, weight, slots.width, gradient)
            if (place == subject or place == 0) and slots.parts > 0:
                weight = work.scratch.weights[f]
                if rule.l2 > 0 or rule.n3 > 0:
                    regularise(row, weight * rule.l2, weight * rule.n3, slots.parts, gradient)
        touch = slots.following[touch]


@inlined
def _move(slots, slot, rule, pace, earlier):
    """Update a row; keep the slopes of the optimizer for the way back.

    Returns by which factor the constraint scales the row; 0 if it does not.
    """
    width, after, gradient, slope = slots.width, slots.after, slots.gradient, slots.slopes
    copy(slots.before[slot], after)
    move(rule.optimizer, pace, after, gradient)
    if rule.optimizer == ADAGRAD:
        _fill_slopes(pace.rate, pace.epsilon, gradient, after[width:], slope)
        _scaled(2, gradient, slope[2])
    elif rule.optimizer == ADAM:
        means = after[width : 2 * width]
        _fill_slopes(pace.step, pace.epsilon, means, after[2 * width :], slope)
        _scaled(2 * pace.rest2, gradient, slope[2])
        _product(means, slope[0], slope[3])
        _scaled(1 - earlier.step / pace.step, slope[3], slope[3])
    return _factor(slots, after, rule)


@kernel
def _fill_slopes(rate, epsilon, moved, squares, slopes):
    """Derivatives of -rate * moved / (sqrt(squares) + epsilon) by `moved` and by `squares`."""
    along, across, tiny = slopes[0], slopes[1], squares.dtype.type(1e-12)
    for k in range(along.shape[0]):  # one division for both, which takes the longest
        root = math.sqrt(squares[k])
        bound = max(root, tiny)
        across[k] = rate / (bound * (root + epsilon))
        along[k] = -bound * across[k]
    half = squares.dtype.type(0.5) / rate
    for k in range(along.shape[0]):
        across[k] *= -half * along[k] * moved[k]


@kernel
def _factor(slots, state, rule):
    """By which the constraint scales a row; 0 if it leaves the row as it is."""
    length = norm(state[: slots.width]) if slots.constrained else 0.0
    bound = 1.0 if rule.constraint == UNIT else rule.max_norm
    if length == 0 or (length <= bound and rule.constraint != UNIT):
        return 0.0
    return bound / length


@inlined
def _credit_changes(slots, slot, factor, adjoints, pace, work, at, unlearnt, influence):
    """Credit facts with adjoint times their change: the update with a fact, minus that without it.

    unlearnt: whether the update with it takes the gradient without its own earlier steps.
    """
    rule, change, width = work.rule, slots.change[0], slots.width
    several = _next_fact(slots, slots.first[slot]) >= 0
    touch = slots.first[slot]
    while touch >= 0:
        f, own, mine = touch // slots.places, slots.own[0], slots.own[1]
        if several:
            _fill_gradient(slots, slot, f, at.weights, slots.vectors, work, at, own)
        else:
            own = slots.gradient
        if unlearnt:
            _fill_gradient(slots, slot, f, at.unlearnt, slots.unlearnt, work, at, mine)
        else:
            mine = own
        if norm(mine) > 0:
            without = slots.before[slot]
            if several:
                copy(without, slots.change[1])
                without = slots.change[1]
                subtract_from(slots.gradient, own)
                move(rule.optimizer, pace, without, own)
                _constrain(_factor(slots, without, rule), without[:width])
            if unlearnt:
                copy(slots.before[slot], change)
                if several:
                    add(mine, own)
                move(rule.optimizer, pace, change, mine)
                _constrain(_factor(slots, change, rule), change[:width])
            else:
                copy(slots.after, change)
                _constrain(factor, change[:width])
            subtract(change, without)
            parts = influence[work.scratch.fact_ids[f]]
            for p in range(parts.shape[0]):
                parts[p] += _dot(adjoints[p], change)
        touch = _next_fact(slots, touch)


@inlined
def _credit_slopes(slots, slot, work, at, influence):
    """Credit facts with the derivatives in their weights."""
    touch = slots.first[slot]
    while touch >= 0:
        f, own = touch // slots.places, slots.own[0]
        _fill_gradient(slots, slot, f, at.weights, slots.vectors, work, at, own)
        parts = influence[work.scratch.fact_ids[f]]
        for p in range(parts.shape[0]):
            parts[p] += _dot(slots.pull[p], own) / work.scratch.weights[f]
        touch = _next_fact(slots, touch)


@inlined
def _undo(slots, factor, adjoints, ahead, rule, pace, counts):
    """Take constraint and optimizer back: fill `pull`; the adjoint becomes that before them.

    ahead: the adjoint of the next row, to prefetch.
    """
    width, slope = slots.width, slots.slopes
    for p in range(counts.shape[0]):
        prefetch_row(ahead, p, ahead.shape[1])
        adjoint, pull = adjoints[p], slots.pull[p]
        row = adjoint[:width]
        _undo_constraint(row, slots.after, factor)
        if rule.optimizer == SGD:
            for k in range(width):
                pull[k] = -pace.rate * row[k]
        elif rule.optimizer == ADAGRAD:
            squares = adjoint[width:]
            _add_product(squares, slope[1], row)
            _pull_adagrad(slope, adjoint, pull)
        else:
            means, squares = adjoint[width : 2 * width], adjoint[2 * width :]
            counts[p] += _dot(slope[3], row)
            _product(slope[0], row, pull)
            add(means, pull)
            _add_product(squares, slope[1], row)
            _product(slope[2], squares, pull)
            _add(pull, pace.rest1, means)
            for k in range(width):
                means[k] *= pace.beta1
            for k in range(width):
                squares[k] *= pace.beta2


@kernel
def _pull_adagrad(slope, adjoint, pull):
    width = pull.shape[0]
    for k in range(width):
        pull[k] = slope[0, k] * adjoint[k] + slope[2, k] * adjoint[width + k]


@kernel
def _undo_constraint(adjoint, moved, factor):
    """From the adjoint of a row that the constraint scaled by a factor to the one before."""
    if factor > 0:
        width = adjoint.shape[0]
        size = norm(moved[:width])
        along = _dot(moved, adjoint) / (size * size)
        factor = adjoint.dtype.type(factor)
        for k in range(width):
            adjoint[k] = factor * (adjoint[k] - along * moved[k])


@inlined
def _turn_scores(slots, slot, adjoints, match, at):
    """Add what the row's `pull` does to the scores of its facts and to their queries' gradients."""
    row, width, subject = slots.before[slot], slots.width, slots.places - 1
    touch = slots.first[slot]
    while touch >= 0:
        f, place = touch // slots.places, touch % slots.places
        for p in range(adjoints.shape[0]):
            pull = slots.pull[p]
            if place == subject:
                copy(pull, slots.pulls[f, 0, p])
                continue
            if place == 0:
                copy(pull, slots.pulls[f, 1, p])
            q, first, ddq = at.queries[f], at.weights[f, place], at.ddq[f, p]
            if match == DOT:
                at.tangent[f, p, place] = _add_and_dot(ddq, first, pull, q)
            else:
                at.tangent[f, p, place] = _along_row(match, q, row, pull, width)
                if match == L2:
                    _bend(q, row, pull, -first, width, ddq, adjoints[p])
        touch = slots.following[touch]


@called
def _add_curvature(model, f, work, at, adjoint):
    """Add the product of a fact's curvature with `pull` to the adjoint of its rows."""
    rule, entities, relations, weight = (
        work.rule,
        at.entities,
        at.relations,
        work.scratch.weights[f],
    )
    n, width, match = at.n_candidates[0], rule.entity_width, rule.match
    q, tangent, ddq, n_predictions = at.queries[f], at.tangent[f], at.ddq[f], at.dq.shape[0]
    slots = at.candidates[f, :n]
    for p in range(n_predictions):
        _turn_query(model, f, p, at)
    for j in range(n):
        row = entities.before[slots[j]]
        for p in range(n_predictions):
            tangent[p, j] += _along_query(match, q, row, at.dq[p], width)
    for p in range(n_predictions):
        _bend_loss(rule.loss, weight, at.curvature[f, :n], tangent[p, :n])
        add_query_gradients(match, q, entities.before, slots, tangent[p], width, ddq[p])
    for j in range(n - 1, -1, -1):  # the last ones are still in the cache
        row, out = entities.before[slots[j]], adjoint[0][entities.ids[slots[j]]]
        first = at.weights[f, j]
        for p in range(n_predictions):
            second, dq = tangent[p, j], at.dq[p]
            if match == DOT:
                _add_both(out[p], second, q, first, dq, width)
            else:
                add_row_gradient(match, q, row, second, width, out[p])
                if match == L2:
                    _bend(q, row, dq, first, width, ddq[p], out[p])
    s, r, o = at.subjects[f], at.relation_slots[f], at.candidates[f, 0]
    rows, relation_rows = adjoint[0][entities.ids[s]], adjoint[1][relations.ids[r]]
    targets, bends = adjoint[0][entities.ids[o]], at.bends[f]
    bent = rule.l2 > 0 or rule.n3 > 0
    for p in range(n_predictions):
        _turn_gradient(model, f, p, at, rows[p], relation_rows[p])
        if bent:
            parts, along = entities.parts, at.along
            before, pulls = entities.before, entities.pulls[f]
            _curve(before[s], pulls[0, p], bends[0], parts, along, rows[p])
            _curve(before[o], pulls[1, p], bends[1], parts, along, targets[p])
            before, pull, parts = relations.before, relations.pulls[f, 0, p], relations.parts
            _curve(before[r], pull, bends[2], parts, along, relation_rows[p])


@inlined
def _turn_query(model, f, p, at):
    """Fill dq with the change of the query along `pull`, by a central difference."""
    reach = _spread(f, p, at, at.q.dtype.type(_FAR))
    model[0](at.s[0], at.r[0], at.q[0])
    model[0](at.s[1], at.r[1], at.q[1])
    at.dq[p] = 0
    _add_difference(at.dq[p], reach, at.q)


@inlined
def _turn_gradient(model, f, p, at, out_s, out_r):
    """Add the change of the gradients of subject and relation along `pull` and ddq."""
    d_query, ddq = at.d_query[f], at.ddq[f, p]
    reach = _spread(f, p, at, _reach(d_query, ddq))
    _both_sides(d_query, ddq, reach, at.q)
    model[1](at.s[0], at.r[0], at.q[0], at.ds[0], at.dr[0])
    model[1](at.s[1], at.r[1], at.q[1], at.ds[1], at.dr[1])
    _add_difference(out_s, reach, at.ds)
    _add_difference(out_r, reach, at.dr)


@inlined
def _spread(f, p, at, most):
    """Fill the subject and relation rows on both sides along `pull`; return the distance."""
    s, r = at.subjects[f], at.relation_slots[f]
    subject, relation = at.entities.before[s], at.relations.before[r]
    pull_s, pull_r = at.entities.pulls[f, 0, p], at.relations.pulls[f, 0, p]
    most = min(most, _reach(subject, pull_s), _reach(relation, pull_r))
    reach = at.q.dtype.type(at.reach * most)
    _both_sides(subject, pull_s, reach, at.s)
    _both_sides(relation, pull_r, reach, at.r)
    return reach


@kernel
def _reach(vector, change):
    """How often the change fits into the vector, at most `_FAR` times.

    The square of a smaller change may be too small for a number, and dividing by it gives infinity.
    """
    real = vector.dtype.type
    size = norm(vector[: change.shape[0]])
    near = norm(change) > size / real(_FAR)
    return size / norm(change) if near and size > 0 else real(_FAR)


@kernel
def _both_sides(vector, change, reach, out):
    low, high = out[0], out[1]
    for k in range(change.shape[0]):
        low[k] = vector[k] - reach * change[k]
    for k in range(change.shape[0]):
        high[k] = vector[k] + reach * change[k]


@kernel
def _add_difference(total, reach, sides):
    low, high = sides[0], sides[1]
    scale = low.dtype.type(0.5) / reach
    for k in range(low.shape[0]):
        total[k] += scale * (high[k] - low[k])


@kernel
def _bend_loss(loss, weight, curvature, tangent):
    """Replace the changes of scores by the changes of d loss / d score."""
    mean = tangent.dtype.type(0)
    if loss == SOFTMAX:
        mean = _dot(curvature, tangent)
    for j in range(tangent.shape[0]):
        tangent[j] = weight * curvature[j] * (tangent[j] - mean)


@kernel
def _along_row(match, q, row, change, width):
    """The derivative of minus a distance along a change of the row."""
    total, distance = q.dtype.type(0), q.dtype.type(0)
    if match == L1:
        for k in range(width):
            total += ((q[k] > row[k]) - (q[k] < row[k])) * change[k]
        return total
    for k in range(width):
        apart = q[k] - row[k]
        distance += apart * apart
        total += apart * change[k]
    return total / math.sqrt(distance) if distance > 0 else total


@kernel
def _along_query(match, q, row, change, width):
    """The derivative of a score along a change of the query."""
    if match != DOT:
        return -_along_row(match, q, row, change, width)
    total = _dot(change, row[:width])
    return total + change[width] if q.shape[0] > width else total


@kernel
def _bend(q, row, change, weight, width, ddq, out):
    """Add the change of a distance's gradients in query and row when the query changes."""
    distance, along = q.dtype.type(0), q.dtype.type(0)
    for k in range(width):
        apart = q[k] - row[k]
        distance += apart * apart
        along += apart * change[k]
    if distance > 0:
        along /= distance
        weight = weight / math.sqrt(distance)
        for k in range(width):
            part = weight * (change[k] - along * (q[k] - row[k]))
            ddq[k] -= part
            out[k] += part


@kernel
def _curve(row, pull, bends, parts, along, out):
    """Add the product of the penalties' curvature with `pull`."""
    if parts == 0:
        return
    width = pull.shape[0]
    half = width // parts
    _add_product(out[:half], bends[0], pull)
    if parts == 2:
        _add_product(out[half:width], bends[0], pull[half:])
    for k in range(half):
        along[k] = row[k] * pull[k]
    if parts == 2:
        _add_product(along[:half], row[half:], pull[half:])
    for k in range(half):
        along[k] *= bends[1, k]
    _add_product(out[:half], row, along)
    if parts == 2:
        _add_product(out[half:width], row[half:], along)


# Small loops over few vectors: with more, the compiler cannot tell that none overlap.


@kernel
def _constrain(factor, row):
    """Scale a row, if the factor is not 0."""
    if factor > 0:
        _scaled(factor, row, row)


@kernel
def _scaled(scale, vector, to):
    scale = vector.dtype.type(scale)
    for k in range(vector.shape[0]):
        to[k] = scale * vector[k]


@kernel
def _product(a, b, out):
    for k in range(out.shape[0]):
        out[k] = a[k] * b[k]


@kernel
def _add_product(total, a, b):
    for k in range(total.shape[0]):
        total[k] += a[k] * b[k]


@kernel
def _add(total, scale, vector):
    for k in range(vector.shape[0]):
        total[k] += scale * vector[k]


@kernel
def _add_and_dot(total, scale, vector, other):
    """total += scale * vector; returns the product of the vector with another one."""
    product = total.dtype.type(0)
    for k in range(vector.shape[0]):
        product += vector[k] * other[k]
        total[k] += scale * vector[k]
    return product


@kernel
def _add_both(total, first, a, second, b, width):
    for k in range(width):
        total[k] += first * a[k] + second * b[k]


@kernel
def _dot(a, b):
    total = a.dtype.type(0)
    for k in range(b.shape[0]):
        total += a[k] * b[k]
    return total
