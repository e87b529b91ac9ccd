"""What a fact's steps would be if the fact had not been met before.

The sweep carries what a fact changed through all later steps, the fact's own ones included. Removal
skips these too. On a row with few facts that makes a large difference: a fact that has been learnt
barely changes anything, because its own earlier steps have made its loss small. So the sweep
credits every step with the change that it would make without them.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whereof._jit import inlined, kernel
from whereof.models.match import match, score_rows
from whereof.training._forget import record_retained
from whereof.training.losses import SOFTMAX, SQUARED, sigmoid_loss, softmax_loss, squared_loss
from whereof.training.problem import Problem
from whereof.training.step import draw_candidates, gather, update
from whereof.training.trainer import Trainer


def unlearnt_slopes(problem: Problem, n_trained: int) -> NDArray[np.float32]:
    """(n_epochs, n_facts, n_directions) d loss / d score of each fact's object, at each step.

    At the rows as they would be without the fact's own earlier steps: minus its trace, which
    forgets. Takes one training and the memory of a trace.
    """
    trainer = _Measuring(problem, n_trained)
    done = 0
    while done < n_trained:
        done += trainer.advance(n_trained - done)
    return trainer.slopes


class _Measuring(Trainer):
    """Training with a trace that forgets, which measures every step before it is made."""

    def __init__(self, problem: Problem, n_trained: int) -> None:
        config = problem.config.replace(credit="forget", trace=True, trace_precision=None)
        trace = np.zeros((len(problem.facts), problem.trace_width), config.precision)
        super().__init__(replace(problem, config=config), trace)
        n_epochs = -(-n_trained // len(problem.facts))
        self.slopes = np.zeros((n_epochs, len(problem.facts), problem.n_directions), np.float32)

    def _run(self, start: int, stop: int) -> None:
        clock, span = (self.count, self.meter), (start, stop)
        slopes = self.slopes[self.epoch]
        _measure_steps(self._model, self._work, self._block, self.trace, clock, span, slopes)


@kernel
def _measure_steps(model, work, block, trace, clock, span, slopes):
    """Train on the facts at positions span of a block; fill the slopes (n_facts, n_directions)."""
    rule, scratch = work.rule, work.scratch
    for first in range(span[0], span[1], rule.batch_size):
        last = min(first + rule.batch_size, block.order.shape[0])
        for direction in range(rule.n_directions):
            n_live = gather(block.order[first:last], direction, work)
            if n_live == 0:
                continue
            for f in range(n_live):
                fact = scratch.fact_ids[f]
                slopes[fact, direction] = _slope(model, f, direction, work, block, trace[fact])
            rate = block.rates[first // rule.batch_size * rule.n_directions + direction]
            update(model, n_live, direction, work, block, clock, rate)
            for f in range(n_live):
                record_retained(trace[scratch.fact_ids[f]], scratch.credits[f], scratch.undone[f])


@inlined
def _slope(model, f, direction, work, block, trace):
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
    if rule.loss == SOFTMAX:
        softmax_loss(scores)
    elif rule.loss == SQUARED:
        squared_loss(scores, work.targets[scratch.fact_ids[f]])
    else:
        sigmoid_loss(scores)
    return scores[0]


@kernel
def _minus(row, trace, retained, out):
    for k in range(out.shape[0]):
        out[k] = row[k] - trace[k] * retained[k]
