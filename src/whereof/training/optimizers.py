"""One update of one row: row += carry - scale * gradient, and Adam's drift between updates.

`scale` is the preconditioner; `carry` is the momentum from earlier steps. An update in this form
can be split among the facts of a batch. Adam's epsilon is added to the uncorrected root, as in the
program of the paper's authors.
"""

import math
from typing import Any, NamedTuple

from whereof._jit import inlined, kernel
from whereof.models.match import DOT, add_row_gradient, prefetch_ahead
from whereof.training.tables import N_TAILS, is_plain

OPTIMIZER_IDS = {"sgd": 0, "adagrad": 1, "adam": 2, "adam-lazy": 2}
SGD, ADAGRAD, ADAM = 0, 1, 2
MOMENTS = {"sgd": 0, "adagrad": 1, "adam": 2, "adam-lazy": 2}


class Pace(NamedTuple):
    """The coefficients of one update, in the precision of the rows."""

    rate: Any
    step: Any  # the learning rate, with both of Adam's bias corrections
    correction: Any  # sqrt(1 - beta2^t)
    epsilon: Any
    beta1: Any
    beta2: Any
    rest1: Any
    rest2: Any


@kernel
def pace_of(rule, rate, count, like):
    """The coefficients of update `count`, in the precision of the array `like`."""
    real = like.dtype.type
    step, correction = rate, 1.0
    if rule.optimizer == ADAM:
        correction = math.sqrt(1 - rule.beta2**count)
        step = rate * correction / (1 - rule.beta1**count)
    beta1, beta2, rest1, rest2 = rule.beta1, rule.beta2, 1 - rule.beta1, 1 - rule.beta2
    moments = real(beta1), real(beta2), real(rest1), real(rest2)
    return Pace(real(rate), real(step), real(correction), real(rule.epsilon), *moments)


@kernel
def move_rows(rule, pace, state, touched, queries, gradient):
    """Update rows that one fact touches as a negative: each by weight * d score / d row."""
    width, ids = gradient.shape[0], touched.ids[: touched.sizes[0]]
    if rule.optimizer == ADAM and rule.match == DOT:  # the fast path: the gradient is not stored
        for slot in range(ids.shape[0]):
            prefetch_ahead(state, ids, slot, state.shape[1])
            if is_plain(touched, slot):
                q, weight = queries[touched.fact[slot]], touched.weight[slot]
                _move_adam(pace, state[ids[slot]], width, weight, q)
        return
    for slot in range(ids.shape[0]):
        prefetch_ahead(state, ids, slot, state.shape[1])
        if is_plain(touched, slot):
            row, q = state[ids[slot]], queries[touched.fact[slot]]
            gradient[:] = 0
            add_row_gradient(rule.match, q, row, touched.weight[slot], width, gradient)
            move(rule.optimizer, pace, row, gradient)


@kernel
def move(optimizer, pace, row, gradient):
    """Update a row and its moments."""
    width = gradient.shape[0]
    if optimizer == ADAM:
        _move_adam(pace, row, width, gradient.dtype.type(1), gradient)
    elif optimizer == ADAGRAD:
        _move_adagrad(pace, row, gradient)
    else:
        for k in range(width):
            row[k] -= pace.rate * gradient[k]


@inlined
def _move_adam(pace, state, width, weight, vector):
    """Update a row by the gradient weight * vector in one loop."""
    rows, means = state[:width], state[width : 2 * width]
    squares = state[2 * width : 3 * width]
    for k in range(width):
        gradient = weight * vector[k]
        mean = pace.beta1 * means[k] + pace.rest1 * gradient
        square = pace.beta2 * squares[k] + pace.rest2 * gradient * gradient
        means[k] = mean
        squares[k] = square
        rows[k] -= pace.step * mean / (math.sqrt(square) + pace.epsilon)


@kernel
def _move_adagrad(pace, state, gradient):
    width = gradient.shape[0]
    rows, squares = state[:width], state[width : 2 * width]
    for k in range(width):
        square = squares[k] + gradient[k] * gradient[k]
        squares[k] = square
        rows[k] -= pace.rate * gradient[k] / (math.sqrt(square) + pace.epsilon)


@kernel
def prepare(optimizer, pace, state, gradient, scale, carry):
    """Update the moments; fill scale and carry, to split the update among facts."""
    width = gradient.shape[0]
    if optimizer == SGD:
        scale[:] = pace.rate
        carry[:] = 0
    elif optimizer == ADAGRAD:
        squares = state[width:]
        for k in range(width):
            squares[k] += gradient[k] * gradient[k]
        for k in range(width):
            scale[k] = pace.rate / (math.sqrt(squares[k]) + pace.epsilon)
        carry[:] = 0
    else:
        means, squares = state[width : 2 * width], state[2 * width :]
        for k in range(width):
            squares[k] = pace.beta2 * squares[k] + pace.rest2 * gradient[k] * gradient[k]
        for k in range(width):
            scale[k] = pace.step / (math.sqrt(squares[k]) + pace.epsilon)
        for k in range(width):
            carry[k] = -scale[k] * pace.beta1 * means[k]
        for k in range(width):
            scale[k] *= pace.rest1
            means[k] = pace.beta1 * means[k] + pace.rest1 * gradient[k]


@kernel
def share_by_source(optimizer, pace, state, own, share):
    """Fill share with what a fact's gradient moves over time: -rate * g / (sqrt(v_hat) + eps).

    Without momentum this is the fact's share of the step, which share already contains.
    """
    if optimizer == ADAM:
        squares = state[2 * own.shape[0] :]
        for k in range(own.shape[0]):
            root = math.sqrt(squares[k]) / pace.correction
            share[k] = -pace.rate * own[k] / (root + pace.epsilon)


@kernel
def fill_reach(optimizer, pace, state, reach):
    """Fill `reach` with how far a gradient of 1 moves each number of a row over time."""
    width = reach.shape[0]
    if optimizer == SGD:
        reach[:] = pace.rate
    elif optimizer == ADAGRAD:
        squares = state[width:]
        for k in range(width):
            reach[k] = pace.rate / (math.sqrt(squares[k]) + pace.epsilon)
    else:
        squares = state[2 * width :]
        for k in range(width):
            reach[k] = pace.rate / (math.sqrt(squares[k]) / pace.correction + pace.epsilon)


@inlined
def catch_up(table, row, change, rule, block, count):
    r"""Apply the drift of an untouched row up to `count`, as in Adam as published.

    With u = sqrt(v) at the last touch t0 and x = u / (u + eps), the n missed steps add up to
    -m / (u + eps) * sum_{k<4} x^k T_k, T_k = sum_j a(t0 + j) b1^j (1 - b2^{j/2})^k, where a(t) is
    the bias-corrected rate. T_k is a binomial sum of S_i = sum_j a(t0 + j) (b1 b2^{i/2})^j, and S_i
    is the difference of two tails: the one stored at the last touch and the one from `count` on.
    Fills `change` with the change of the row.
    """
    missed = count - table.touched[row]
    here = block.tails[count - block.first_count]
    series = series_of(table.tails[row], here, missed, block.powers)
    fade1 = block.powers[min(missed, block.powers.shape[0] - 1), 0]
    fade2 = block.fades[missed] if missed < block.fades.shape[0] else rule.beta2**missed
    _drift(table.state[row], series, fade1, fade2, rule.epsilon, change)
    add(table.state[row], change)
    if table.drift.shape[0] > 0:
        add(table.drift[row], change)
    mark(table, row, count, block)


@kernel
def _drift(state, series, fade1, fade2, epsilon, change):
    """Fill the change of a row and decay its moments."""
    width, real = change.shape[0], change.dtype.type
    t0, t1, t2, t3 = real(series[0]), real(series[1]), real(series[2]), real(series[3])
    fade1, fade2, epsilon, one = real(fade1), real(fade2), real(epsilon), real(1)
    means, squares = state[width : 2 * width], state[2 * width : 3 * width]
    for k in range(width):
        root = math.sqrt(squares[k])
        part = one / (root + epsilon)
        x = root * part
        change[k] = -means[k] * part * (t0 + x * (t1 + x * (t2 + x * t3)))
    for k in range(width):
        means[k] *= fade1
        squares[k] *= fade2


@kernel
def add(total, vector):
    """total += vector, for as many numbers as the vector has."""
    for k in range(vector.shape[0]):
        total[k] += vector[k]


@kernel
def series_of(tails, here, missed, powers):
    """T_0..T_3 from the tails S_i at the last touch and at this count."""
    n = min(missed, powers.shape[0] - 1)
    s0 = tails[0] - powers[n, 0] * here[0]
    s1 = tails[1] - powers[n, 1] * here[1]
    s2 = tails[2] - powers[n, 2] * here[2]
    s3 = tails[3] - powers[n, 3] * here[3]
    return s0, s0 - s1, s0 - 2 * s1 + s2, s0 - 3 * s1 + 3 * s2 - s3


@kernel
def mark(table, row, count, block):
    """Record that a row is up to date at `count`."""
    table.touched[row] = count
    for i in range(N_TAILS):
        table.tails[row, i] = block.tails[count - block.first_count, i]


@kernel
def fill_tails(steps, beta1, beta2, tails):
    """Future drift after each count, computed backwards: F_i(t) = b_i (a(t + 1) + F_i(t + 1)).

    steps: a(t) from the count after the first of `tails`, up to a horizon after the last one.
    """
    for i in range(N_TAILS):
        base = beta1 * beta2 ** (i / 2)
        tail = 0.0
        for t in range(steps.shape[0] - 1, -1, -1):
            tail = base * (steps[t] + tail)
            if t < tails.shape[0]:
                tails[t, i] = tail
