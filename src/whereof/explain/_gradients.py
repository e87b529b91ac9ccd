"""Influence by gradients: how a step on a fact would move what is explained.

A step of gradient descent on fact i moves the parameters along -grad L_i, with L_i its training
loss (see `_losses`), and so what is explained, f, by -grad L_i . grad f for a rate of 1. Facts
whose steps raise f support it.
"""

from dataclasses import replace

import numpy as np

from whereof.errors import WhereofError
from whereof.explain._gradient_kernels import Tables
from whereof.explain._jacobian import Jacobian, zeros
from whereof.explain._losses import Losses
from whereof.explain._options import ExplainOptions
from whereof.explain._situation import Aim, Contest, Situation
from whereof.training.results import Checkpoint
from whereof.training.timeline import Timeline
from whereof.types import FactIds, Numbers


def estimate_gradient_dot(
    situation: Situation, aim: Aim, fact_ids: FactIds, options: ExplainOptions
) -> Numbers:
    """(n,) -grad L_i . grad f."""
    gradient = gradient_of(situation, aim)
    return -Losses.of(situation.trained).products(fact_ids, gradient)


def estimate_gradient_cos(
    situation: Situation, aim: Aim, fact_ids: FactIds, options: ExplainOptions
) -> Numbers:
    """(n,) cosine of the angle between -grad L_i and grad f; 0 where either vanishes."""
    gradient, losses = gradient_of(situation, aim), Losses.of(situation.trained)
    size = np.sqrt(sum(float(np.vdot(part, part)) for part in gradient))
    lengths = losses.norms(fact_ids) * size
    products = losses.products(fact_ids, gradient)
    cosines = np.zeros(len(fact_ids))
    np.divide(-products, lengths, out=cosines, where=lengths > 0)
    # Rounding must not take a cosine past 1.
    return np.clip(cosines, -1, 1)


def estimate_tracin(
    situation: Situation, aim: Aim, fact_ids: FactIds, options: ExplainOptions
) -> Numbers:
    """(n,) sum over the kept checkpoints of rate * -grad L_i . grad f, all as they were then."""
    trained = situation.trained
    checkpoints = trained.read_checkpoints()
    if not checkpoints:
        raise WhereofError(
            "method tracin needs checkpoints and this run kept none; train it with "
            "--keep-checkpoints N, or choose another method, such as gradient-dot"
        )
    config = trained.config
    n_directions = 1 + config.inverse
    nothing = np.zeros(0, np.bool_)
    timeline = Timeline(config, trained.dataset.n_facts, n_directions, removed=nothing)
    rates = timeline.rates(np.array([checkpoint.updates for checkpoint in checkpoints]))
    total = np.zeros(len(fact_ids))
    for checkpoint, rate in zip(checkpoints, rates, strict=True):
        then = _as_of(checkpoint, situation)
        total += rate * estimate_gradient_dot(then, aim, fact_ids, options)
    return total


def gradient_of(situation: Situation, aim: Aim) -> Tables:
    """The gradient by all parameters of what is explained."""
    contest, scorer, slopes = situation.contest, situation.trained.scorer, aim.slopes(situation)
    jacobian = Jacobian(scorer, contest.candidates.ids)
    queries = jacobian.queries(np.array([contest.given]), np.array([contest.relation_row]))
    out = zeros(scorer)
    size = float(np.abs(slopes).max(initial=0)) or 1.0
    # In single precision the slope of a small probability may be lost.
    weights = (slopes / size).astype(scorer.entity_rows.dtype)[None, :]
    jacobian.pull(queries, weights, out)
    scale = size * scorer.scale
    return Tables(scale * out.entities, scale * out.relations)


def _as_of(checkpoint: Checkpoint, situation: Situation) -> Situation:
    """The same prediction under the parameters of a checkpoint."""
    trained, contest = situation.trained, situation.contest
    scorer = replace(trained.scorer, **vars(checkpoint.parameters))
    then = replace(trained, scorer=scorer)
    candidates = then.candidates(contest.candidates.ids)
    return Situation(
        Contest(then, contest.given, contest.relation, contest.asks, candidates), situation.target
    )
