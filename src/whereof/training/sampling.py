"""Counter-based random numbers: every draw is a hash of what it is for.

So the draw for one fact never depends on which other facts there are, or on when it is made.
"""

import numpy as np

from whereof._jit import kernel
from whereof.types import FactIds

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_11, _27, _30, _31, _32 = (np.uint64(n) for n in (11, 27, 30, 31, 32))

ENTITY_STREAM, RELATION_STREAM, ORDER_STREAM = (np.uint64(n) for n in (1, 2, 3))
OBJECT_STREAM, SUBJECT_STREAM = np.uint64(4), np.uint64(5)
# Explaining uses its own streams, so that equal seeds do not repeat the draws of training.
RANDOM_STREAM, CURVATURE_STREAM = np.uint64(6), np.uint64(7)
BEND_STREAM, REPLAY_STREAM = np.uint64(8), np.uint64(9)


@kernel
def mix(z):
    """The finaliser of SplitMix64: a bijection of 64-bit numbers that mixes all bits."""
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@kernel
def key_of(seed, stream, first, second):
    """A 64-bit key for (stream, first, second) under a seed; all arguments are uint64."""
    return mix(mix(mix(seed * _GOLDEN + stream) + first * _GOLDEN) + second * _GOLDEN)


@kernel
def draw_independent(key, n_others, out):
    """Independent uniform draws from range(n_others)."""
    for j in range(out.shape[0]):
        bits = mix(key + np.uint64(j + 1) * _GOLDEN) >> _32
        out[j] = (bits * np.uint64(n_others)) >> _32


@kernel
def draw_distinct(key, n_others, out):
    """Distinct draws from range(n_others): the images of 0, 1, 2, ... under a keyed permutation.

    The permutation is over the next power of two. An image outside of the range is permuted again
    until it is inside. So draw j costs O(1) and does not need the others.
    """
    bits = 8  # fewer bits mix badly
    while (1 << bits) < n_others:
        bits += 1
    for j in range(out.shape[0]):
        out[j] = _permute(np.uint32(j), key, bits)
    for j in range(out.shape[0]):
        while out[j] >= n_others:
            out[j] = _permute(np.uint32(out[j]), key, bits)


@kernel
def _permute(x, key, bits):
    """A keyed bijection of `bits`-bit numbers: three rounds of multiply, add and fold."""
    mask = np.uint32((1 << bits) - 1)
    shift = np.uint32((bits + 1) // 2)
    for turn in range(3):
        word = mix(key + np.uint64(turn + 1) * _GOLDEN)
        factor = np.uint32(word >> _32) | np.uint32(1)
        x = np.uint32(np.uint32(x * factor) + np.uint32(word)) & mask
        x = np.uint32(x ^ (x >> shift))
    return x


@kernel
def draw_negatives(key, distinct, true_object, first, count, out):
    """Fill out (n_negatives + 1,) with a step's candidates: the true object, then the negatives.

    Negatives come from range(first, first + count) without the true object. Numbers from the true
    object on are shifted by one, so no draw is repeated. If all others are needed, nothing is
    drawn.
    """
    out[0] = true_object
    negatives = out[1:]
    n_negatives = negatives.shape[0]
    if n_negatives == count - 1 and distinct:
        for j in range(n_negatives):
            negatives[j] = j
    elif distinct:
        draw_distinct(key, count - 1, negatives)
    else:
        draw_independent(key, count - 1, negatives)
    for j in range(n_negatives):
        value = first + negatives[j]
        negatives[j] = value + 1 if value >= true_object else value


@kernel
def fill_uniform(seed, stream, bound, width, rows):
    """Fill rows (n, at least width) with uniform numbers in +-bound, keyed by row and column."""
    for i in range(rows.shape[0]):
        for k in range(width):
            bits = key_of(seed, stream, np.uint64(i), np.uint64(k)) >> _11
            rows[i, k] = bound * (2.0 * (bits * 2.0**-53) - 1.0)


@kernel
def _order_keys(seed, stream, epoch, keys):
    for i in range(keys.shape[0]):
        keys[i] = key_of(seed, stream, np.uint64(i), epoch)


def shuffled(
    seed: np.uint64, n_facts: int, epoch: int, stream: np.uint64 = ORDER_STREAM
) -> FactIds:
    """A seeded order of the facts for one epoch. Removing a fact keeps the order of the others."""
    keys = np.empty(n_facts, np.uint64)
    _order_keys(seed, stream, np.uint64(epoch), keys)
    return np.argsort(keys, kind="stable")
