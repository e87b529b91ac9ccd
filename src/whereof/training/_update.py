"""The second pass of a step: update every touched row once and credit its owners."""

import math

from whereof._jit import inlined, kernel
from whereof.models.match import DOT, add_row_gradient
from whereof.training._forget import (
    add_bend,
    add_penalty_bend,
    divide,
    forget_negatives,
    shrink,
    undo_own,
)
from whereof.training.losses import bend_of
from whereof.training.optimizers import add, fill_reach, mark, move_rows, prepare, share_by_source
from whereof.training.tables import NEGATIVE, OWN_OBJECT, OWN_VECTOR, is_plain

CONSTRAINT_IDS = {"none": 0, "unit": 1, "max": 2}
UNIT = CONSTRAINT_IDS["unit"]


@inlined
def update_rows(side, starts, direction, work, pace, block, count):
    """Update every touched row of a table once, then apply the constraint.

    starts: where a fact's trace records its subject and its object, or twice its relation.
    """
    table, touched, rule, scratch = side.table, side.touched, work.rule, work.scratch
    forgets = table.retained.shape[0] > 0
    one_by_one = table.negatives.shape[0] > 0 or (forgets and rule.match != DOT)
    n_candidates = 1 + (work.draw.subjects[2] if direction else work.draw.objects[2])
    if not one_by_one:
        gradient = scratch.gradient[: side.width]
        move_rows(rule, pace, table.state, touched, scratch.query, gradient)
        if forgets:
            forget_negatives(side, rule, pace, n_candidates, scratch)
    for slot in range(touched.sizes[0]):
        row = touched.ids[slot]
        touched.slot_of[row] = -1
        if one_by_one or not is_plain(touched, slot):
            _update_row(side, slot, starts, direction, n_candidates, rule, pace, scratch)
        if side.constrained:
            project(table, row, side.width, rule)
        if rule.deferred:
            mark(table, row, count, block)
    touched.sizes[:] = 0


@inlined
def _update_row(side, slot, starts, direction, n_candidates, rule, pace, scratch):
    """Update one row in two stages, between which its change can be split among facts."""
    row, width = side.touched.ids[slot], side.width
    state, gradient = side.table.state[row], scratch.gradient[:width]
    scale, carry, share = scratch.scale[:width], scratch.carry[:width], scratch.share[:width]
    n_owners = _gradient(side, slot, -1, rule, scratch, gradient)
    prepare(rule.optimizer, pace, state, gradient, scale, carry)
    bent = False
    if side.table.retained.shape[0] > 0:
        retained, reach = side.table.retained[row], scratch.reach[:width]
        bent = _fill_bend(side, slot, -1, n_candidates, rule, scratch, scratch.bend[:width])
        if bent:
            copy(retained, scratch.before)
            fill_reach(rule.optimizer, pace, state, reach)
            shrink(retained, reach, scratch.bend, rule.least_retained)
    if side.table.owned.shape[0] > 0:
        copy(gradient, scratch.rest)
        _credit(side, slot, n_owners, starts, direction, n_candidates, bent, rule, pace, scratch)
    if side.table.negatives.shape[0] > 0:
        _share(1 if n_owners == 0 else 0, carry, scale, scratch.rest, share)
        add(side.table.negatives[row], share)
    _share(1, carry, scale, gradient, share)
    add(state, share)


@inlined
def _gradient(side, slot, only, rule, scratch, gradient):
    """Sum the gradient of a row over the facts that touch it, or for fact `only`; count owners."""
    touched, state = side.touched, side.table.state[side.touched.ids[slot]]
    gradient[:] = 0
    n_owners = 0
    touch = slot
    while touch >= 0:
        f, kind = touched.fact[touch], touched.kind[touch]
        if only < 0 or only == f:
            if kind == OWN_VECTOR:
                add(gradient, side.vectors[f])
            else:
                q, weight = scratch.query[f], touched.weight[touch]
                add_row_gradient(rule.match, q, state, weight, side.width, gradient)
            if kind != NEGATIVE and side.parts > 0 and (rule.l2 > 0 or rule.n3 > 0):
                weight = scratch.weights[f]
                regularise(state, weight * rule.l2, weight * rule.n3, side.parts, gradient)
            n_owners += _owns(touched, slot, touch, scratch)
        touch = touched.following[touch]
    return n_owners


@inlined
def _fill_bend(side, slot, only, n_candidates, rule, scratch, bend):
    """Sum the curvature along a row over the facts that touch it, or for fact `only`.

    Only facts whose step was drawn have one; returns whether there is one.
    """
    touched, state = side.touched, side.table.state[side.touched.ids[slot]]
    bend[:] = 0
    touch, bent = slot, False
    while touch >= 0:
        f, kind = touched.fact[touch], touched.kind[touch]
        if scratch.bent[f] and (only < 0 or only == f):
            weight, bent = scratch.weights[f], True
            if kind == OWN_VECTOR:
                add(bend, side.bends[f])
            else:
                share = weight * bend_of(rule.loss, touched.weight[touch] / weight, n_candidates)
                add_bend(rule.match, scratch.query[f], state, share, scratch, bend)
            if kind != NEGATIVE and side.parts > 0 and (rule.l2 > 0 or rule.n3 > 0):
                add_penalty_bend(state, weight * rule.l2, weight * rule.n3, side.parts, bend)
        touch = touched.following[touch]
    return bent


@inlined
def _owns(touched, slot, touch, scratch):
    """1 if this touch makes its fact an owner of the row; a self-loop owns its row once."""
    kind = touched.kind[touch]
    if kind == OWN_OBJECT:
        return 1 if scratch.facts[touched.fact[touch], 0] != touched.ids[slot] else 0
    return 1 if kind == OWN_VECTOR else 0


@inlined
def _credit(side, slot, n_owners, starts, direction, n_candidates, bent, rule, pace, scratch):
    """Split a row's change among its owners, before any projection.

    An owner's share is its own gradient through the common preconditioner, plus an equal part of
    the momentum carried in. With credit=source it is what its gradient moves over time.
    """
    touched, row, width = side.touched, side.touched.ids[slot], side.width
    own, share = scratch.own[:width], scratch.share[:width]
    touch = slot
    while touch >= 0:
        if _owns(touched, slot, touch, scratch):
            f = touched.fact[touch]
            if rule.batch_size == 1:
                copy(scratch.gradient, own)
            else:
                _gradient(side, slot, f, rule, scratch, own)
            subtract(scratch.rest, own)
            _share(1 / n_owners, scratch.carry, scratch.scale, own, share)
            add(side.table.owned[row], share)
            if rule.source_credit:
                share_by_source(rule.optimizer, pace, side.table.state[row], own, share)
            is_subject = scratch.facts[f, 2 * direction] == row
            start = starts[0] if is_subject else starts[1]
            if side.table.retained.shape[0] > 0:
                retained, undone = side.table.retained[row], scratch.undone[f, start:]
                divide(share, retained)
                if bent:
                    own[:] = 0
                    if rule.batch_size > 1:
                        _fill_bend(side, slot, f, n_candidates, rule, scratch, own)
                        subtract_from(scratch.bend, own)
                    undo_own(own, scratch.reach, scratch.before, retained, undone)
            add(scratch.credits[f, start:], share)
        touch = touched.following[touch]


# Small loops over few vectors: with more, the compiler cannot tell that none overlap.


@kernel
def copy(vector, to):
    """to = vector, for as many numbers as both have."""
    for k in range(min(vector.shape[0], to.shape[0])):
        to[k] = vector[k]


@kernel
def subtract(total, vector):
    """total -= vector."""
    for k in range(vector.shape[0]):
        total[k] -= vector[k]


@kernel
def subtract_from(total, vector):
    """vector = total - vector."""
    for k in range(vector.shape[0]):
        vector[k] = total[k] - vector[k]


@kernel
def _share(part, carry, scale, gradient, share):
    """A part of the carried momentum minus a gradient through the preconditioner."""
    part = share.dtype.type(part)
    for k in range(share.shape[0]):
        share[k] = part * carry[k] - scale[k] * gradient[k]


@kernel
def regularise(state, l2, n3, parts, gradient):
    """Add the gradient of l2/2 |x|^2 + n3/3 |x|^3, |.| the modulus where rows are complex."""
    width = gradient.shape[0]
    l2, n3 = state.dtype.type(l2), state.dtype.type(n3)
    half = width // parts
    for k in range(width):
        square = state[k] * state[k]
        if parts == 2:
            other = state[k - half] if k >= half else state[k + half]
            square += other * other
        gradient[k] += (l2 + n3 * math.sqrt(square)) * state[k]


@kernel
def project(table, row, width, rule):
    """Scale a row to unit norm, or down to the largest norm allowed."""
    state = table.state[row, :width]
    length = norm(state)
    bound = 1.0 if rule.constraint == UNIT else rule.max_norm
    if length == 0 or (length <= bound and rule.constraint != UNIT):
        return
    factor = state.dtype.type(bound / length)
    for k in range(width):
        projected = factor * state[k]
        if table.projection.shape[0] > 0:
            table.projection[row, k] += projected - state[k]
        state[k] = projected


@kernel
def norm(vector):
    """Euclidean norm."""
    total = vector.dtype.type(0)
    for k in range(vector.shape[0]):
        total += vector[k] * vector[k]
    return math.sqrt(total)
