"""Losses over the scores of a step's candidates, the true one first.

Each function returns the loss and replaces the scores by their gradients, d loss / d score. The
squared loss compares the score of one fact with a target number and has no negatives.
"""

import math

from whereof._jit import kernel

LOSS_IDS = {"softmax": 0, "sigmoid": 1, "squared": 2}
SOFTMAX, SIGMOID, SQUARED = LOSS_IDS.values()
LEAST_PROBABILITY = 0.1
"""Relative to 1 / number of candidates."""


@kernel
def softmax_loss(scores):
    """Cross-entropy of the softmax: -log p_0."""
    top = scores[0]
    for j in range(scores.shape[0]):
        top = max(top, scores[j])
    true_score = scores[0] - top
    others = scores.dtype.type(0)
    scores[0] = math.exp(true_score)
    for j in range(1, scores.shape[0]):
        scores[j] = math.exp(scores[j] - top)
        others += scores[j]
    total = scores[0] + others
    scores[0] = -others  # p_0 - 1, without the cancellation
    for j in range(scores.shape[0]):
        scores[j] /= total
    return math.log(total) - true_score


@kernel
def sigmoid_loss(scores):
    """Mean cross-entropy of the sigmoids: target 1 for the true object, else 0."""
    n = scores.shape[0]
    loss = scores.dtype.type(0)
    for j in range(n):
        sign = -1 if j == 0 else 1
        fade = math.exp(-abs(scores[j]))
        loss += max(sign * scores[j], 0) + math.log1p(fade)
        probability = 1 / (1 + fade) if scores[j] >= 0 else fade / (1 + fade)
        scores[j] = (probability - (j == 0)) / n
    return loss / n


@kernel
def bend_of(loss, slope, n_candidates):
    """The second derivative of the loss in one score, from the first.

    Softmax candidates of nearly no probability count as 0: there are many, and they bend little.
    """
    if loss == SQUARED:
        return 1.0
    n = n_candidates if loss == SIGMOID else 1
    size = abs(slope) * n  # the probability, or 1 minus that of the true object
    if loss == SOFTMAX and size * n_candidates < LEAST_PROBABILITY:
        return 0.0
    return max(size * (1 - size), 0.0) / n


@kernel
def squared_loss(scores, target):
    """Half of the squared difference between score and target."""
    scores[0] -= target
    return scores[0] * scores[0] / 2
