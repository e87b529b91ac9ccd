"""The second pass of a step: every touched row is updated once, and its owners are credited."""

import math

from whence._jit import inlined, kernel
from whence.models._match import add_row_gradient
from whence.training._optimizers import mark, move_rows, prepare, share_by_source
from whence.training._touched import NEGATIVE, OWN_OBJECT, OWN_VECTOR, take_plain

CONSTRAINT_IDS = {"none": 0, "unit": 1, "max": 2}
UNCONSTRAINED, UNIT = CONSTRAINT_IDS["none"], CONSTRAINT_IDS["unit"]


@inlined
def update_table(table, touched, direction, is_relation, rule, pace, block, scratch, count):
    """One optimizer update for every touched row; then the constraint."""
    width = rule.relation_width if is_relation else rule.entity_width
    if table.negatives.shape[0] == 0:
        rows = touched.plain_ids[: take_plain(touched)]
        move_rows(
            rule.optimizer,
            rule.match,
            pace,
            table.state,
            rows,
            touched.plain_fact,
            touched.plain_weight,
            scratch.query,
            scratch.gradient[:width],
        )
    for slot in range(touched.sizes[0]):
        row = touched.ids[slot]
        touched.slot_of[row] = -1
        if touched.head[slot] >= 0:
            _update_row(table, touched, slot, direction, is_relation, width, rule, pace, scratch)
        if rule.constraint != UNCONSTRAINED and (not is_relation or rule.constrain_relations):
            project(table, row, width, rule)
        if rule.deferred:
            mark(table, row, count, block)
    touched.sizes[:] = 0


@inlined
def _update_row(table, touched, slot, direction, is_relation, width, rule, pace, scratch):
    """Update one row in two halves, between which its change can be shared out."""
    row = touched.ids[slot]
    state, gradient = table.state[row], scratch.gradient[:width]
    scale, carry = scratch.scale[:width], scratch.carry[:width]
    n_owners = _gradient(touched, slot, -1, state, is_relation, rule, scratch, gradient)
    prepare(rule.optimizer, pace, state, gradient, scale, carry)
    _copy(gradient, scratch.rest)
    _credit(table, touched, slot, n_owners, direction, is_relation, width, rule, pace, scratch)
    if table.negatives.shape[0] > 0:
        share = scratch.share[:width]
        _share(1 if n_owners == 0 else 0, carry, scale, scratch.rest, share)
        _add(table.negatives[row], share)
    _share(1, carry, scale, gradient, scratch.share[:width])
    _add(state, scratch.share[:width])


@inlined
def _gradient(touched, slot, only, state, is_relation, rule, scratch, gradient):
    """Gradient of a row over the facts that touch it, or over fact `only`; counts owners."""
    gradient[:] = 0
    n_owners = 0
    touch = touched.head[slot]
    while touch >= 0:
        f, kind = touched.fact[touch], touched.kind[touch]
        if only < 0 or only == f:
            if kind == OWN_VECTOR:
                vectors = scratch.d_relation if is_relation else scratch.d_subject
                _add(gradient, vectors[f])
            else:
                add_row_gradient(
                    rule.match,
                    scratch.query[f],
                    state,
                    touched.weight[touch],
                    gradient.shape[0],
                    gradient,
                )
            if kind != NEGATIVE and (rule.l2 > 0 or rule.n3 > 0):
                parts = rule.relation_parts if is_relation else rule.entity_parts
                _regularise(state, rule.l2, rule.n3, parts, gradient)
            n_owners += _owns(touched, slot, touch, scratch)
        touch = touched.following[touch]
    return n_owners


@inlined
def _owns(touched, slot, touch, scratch):
    """1 if this touch makes its fact an owner of the row; a self-loop owns it once."""
    kind = touched.kind[touch]
    if kind == OWN_OBJECT:
        return 1 if scratch.facts[touched.fact[touch], 0] != touched.ids[slot] else 0
    return 1 if kind == OWN_VECTOR else 0


@inlined
def _credit(table, touched, slot, n_owners, direction, is_relation, width, rule, pace, scratch):
    """Share a row's change out among its owners, before any projection.

    An owner's share is its own gradient through the common preconditioner, and an equal part of
    the momentum carried in. Credit by source takes what its gradient moves over time instead.
    """
    row = touched.ids[slot]
    state, own, share = table.state[row], scratch.own[:width], scratch.share[:width]
    touch = touched.head[slot]
    while touch >= 0:
        if _owns(touched, slot, touch, scratch):
            f = touched.fact[touch]
            if rule.batch_size == 1:
                _copy(scratch.gradient, own)
            else:
                _gradient(touched, slot, f, state, is_relation, rule, scratch, own)
            start = _slot_start(f, row, direction, is_relation, rule, scratch)
            credit = scratch.credits[f, start : start + width]
            _subtract(scratch.rest, own)
            _share(1 / n_owners, scratch.carry, scratch.scale, own, share)
            _add(table.owned[row], share)
            if rule.source_credit:
                share_by_source(rule.optimizer, pace, state, own, share)
            _add(credit, share)
        touch = touched.following[touch]


@inlined
def _slot_start(f, row, direction, is_relation, rule, scratch):
    """Where a row's slot begins in the trace: subject, relation, object, inverse relation."""
    entity, relation = rule.entity_width, rule.relation_width
    if is_relation:
        return entity + direction * (entity + relation)
    return 0 if scratch.facts[f, 2 * direction] == row else entity + relation


# Small loops over few vectors: with more, the compiler no longer sees that none overlap.


@kernel
def _copy(vector, to):
    for k in range(min(vector.shape[0], to.shape[0])):
        to[k] = vector[k]


@kernel
def _add(total, vector):
    for k in range(vector.shape[0]):
        total[k] += vector[k]


@kernel
def _subtract(total, vector):
    for k in range(vector.shape[0]):
        total[k] -= vector[k]


@kernel
def _share(part, carry, scale, gradient, share):
    """A part of what is carried in, less a gradient through the preconditioner."""
    part = share.dtype.type(part)
    for k in range(share.shape[0]):
        share[k] = part * carry[k] - scale[k] * gradient[k]


@kernel
def _regularise(state, l2, n3, parts, gradient):
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
    """Bring a row to unit norm, or back under the largest norm allowed."""
    if rule.constraint == UNCONSTRAINED:
        return
    state = table.state[row, :width]
    length = norm(state)
    bound = 1.0 if rule.constraint == UNIT else rule.max_norm
    if length == 0 or (length <= bound and rule.constraint != UNIT):
        return
    factor = state.dtype.type(bound / length)
    for k in range(width):
        projected = factor * state[k]
        table.projection[row, k] += projected - state[k]
        state[k] = projected


@kernel
def norm(vector):
    """Euclidean norm."""
    total = vector.dtype.type(0)
    for k in range(vector.shape[0]):
        total += vector[k] * vector[k]
    return math.sqrt(total)
