"""Influence by gradients: how a training step on a fact would move what is explained.

A step of gradient descent on fact i moves the parameters along -grad L_i, with L_i its training
loss (see `losses`), and so what is explained, f, by -grad L_i . grad f for a rate of 1. Facts whose
steps raise f support it.
"""

from dataclasses import replace

import numpy as np

from whereof.explain.losses import Jacobian, Losses, as_rows
from whereof.explain.method import Aim, Context, Method
from whereof.predict.scored import ScoredPrediction
from whereof.training.phases import Calendar
from whereof.training.timeline import Timeline
from whereof.types import FactIds, Numbers


class GradientDot(Method):
    """Dot product of the gradients of a fact's loss and of the output: -grad L_i . grad f."""

    name = "gradient-dot"
    title = "Dot product of gradients"
    phrase = "facts that pull the model the same way"
    citation = "Charpiat et al., Input Similarity from the Neural Network Perspective, NeurIPS 2019"
    needs = frozenset({"formula"})
    can = frozenset({"contrast", "non-adjacent facts"})

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        return -Losses(scored.trained).products(fact_ids, gradient_of(scored, context.aim))


class GradientCos(GradientDot):
    """The cosine of the angle between -grad L_i and grad f; 0 where either vanishes."""

    name = "gradient-cos"
    title = "Cosine of gradients"
    phrase = "facts that pull in the same direction, however strongly"

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        gradient, losses = gradient_of(scored, context.aim), Losses(scored.trained)
        lengths = losses.norms(fact_ids) * np.linalg.norm(gradient)
        products = losses.products(fact_ids, gradient)
        cosines = np.zeros(len(fact_ids))
        np.divide(-products, lengths, out=cosines, where=lengths > 0)
        # Rounding must not make a cosine larger than 1.
        return np.clip(cosines, -1, 1)


class TracIn(GradientDot):
    """Sum over the kept checkpoints of rate * -grad L_i . grad f, each at its checkpoint."""

    name = "tracin"
    title = "TracIn over kept checkpoints"
    phrase = "facts that pulled the same way, at several checkpoints"
    citation = (
        "Pruthi et al., Estimating Training Data Influence by Tracing Gradient Descent, "
        "NeurIPS 2020"
    )
    needs = frozenset({"checkpoints", "formula"})

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        trained, config = scored.trained, scored.trained.config
        checkpoints = trained.read_checkpoints()
        calendar = Calendar(trained.dataset.n_facts)
        timeline = Timeline(config, calendar, 1 + config.inverse)
        rates = timeline.rates(np.array([checkpoint.updates for checkpoint in checkpoints]))
        total = np.zeros(len(fact_ids))
        for checkpoint, rate in zip(checkpoints, rates, strict=True):
            rows = checkpoint.parameters._asdict()
            then = replace(trained, scorer=replace(trained.scorer, **rows))
            asked = then.score(scored.prediction, then.candidates(scored.candidates.ids))
            total += rate * super().estimate(asked, fact_ids, context)
        return total


GRADIENT_DOT, GRADIENT_COS, TRACIN = GradientDot(), GradientCos(), TracIn()


def gradient_of(scored: ScoredPrediction, aim: Aim) -> Numbers:
    """The gradient of what is explained, as a vector of all parameters."""
    return scored.trained.scorer.scale * pull_scores(scored, aim.slopes(scored))


def pull_scores(scored: ScoredPrediction, slopes: Numbers) -> Numbers:
    """The gradient of a weighted sum of the candidates' scores, as a vector of all parameters."""
    scorer = scored.trained.scorer
    given, relation = np.array([scored.prediction.given]), np.array([scored.relation_row])
    out = np.zeros(scorer.entity_rows.size + scorer.relation_rows.size)
    size = float(np.abs(slopes).max(initial=0)) or 1.0
    # In single precision, the slope of a small probability may be rounded to 0.
    weights = (slopes / size).astype(scorer.entity_rows.dtype)[None, :]
    Jacobian(scorer, scored.candidates.ids, given, relation).pull(weights, as_rows(out, scorer))
    return size * out
