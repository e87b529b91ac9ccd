"""Whereof's training step, with and without trace, and its lower bound."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from problems import Steps
from rounds import Contender

from whereof._jit import kernel, prefetch_row
from whereof.models.match import AHEAD
from whereof.training.problem import Problem
from whereof.training.step import METER
from whereof.training.trainer import Trainer

_UNCHANGED = np.float32(1)
"""The lower bound multiplies rows by this, since it works on the trainer's own rows."""


def whereof_step(name: str, trainer: Trainer, *, traced: bool = True) -> Contender:
    """Whereof's own training.

    Traced and untraced steps share one trainer: the place of arrays in memory changes the time of
    a step by more than the trace does.
    """
    trace = trainer.trace if traced else trainer.trace[:0]

    def advance(n: int) -> None:
        trainer._trace = trace
        while n > 0:
            n -= trainer.advance(n)

    return Contender(name, advance)


def make_trainer(problem: Problem, n_steps: int, *, traced: bool) -> Trainer:
    """A trainer with loaded kernels and a trace whose memory pages are mapped."""
    trace = None
    if traced:
        trace = np.zeros((len(problem.facts), problem.trace_width), problem.config.precision)
    trainer = Trainer(problem, trace)
    if trace is not None:
        # Pages of zeros are mapped on first use; this does not count as tracing.
        trace[trainer.timeline.order(0)[:n_steps]] = 0
    trainer.warm_up()
    return trainer


@dataclass(frozen=True)
class Outcome:
    """The state after the first steps of a training."""

    mean_loss: float
    entity_rows: NDArray[np.float32]


def outcome(problem: Problem, n_steps: int) -> Outcome:
    """The state of Whereof after n steps."""
    trainer = make_trainer(problem, n_steps, traced=False)
    done = 0
    while done < n_steps:
        done += trainer.advance(n_steps - done)
    loss = float(trainer.meter[METER.index("loss")]) / n_steps
    return Outcome(loss, trainer.parameters().entity_rows)


def floor(name: str, trainer: Trainer, steps: Steps, *, prefetched: bool) -> Contender:
    """Only reads and writes every row that a step touches, with its moments."""
    entities, relations = (table.state for table in trainer.tables)
    position = 0
    scale = _scale_prefetched if prefetched else _scale
    scale(entities, relations, steps.subjects, steps.relations, steps.candidates[:0], _UNCHANGED)

    def advance(n: int) -> None:
        nonlocal position
        some = slice(position, position + n)
        position += n
        subjects, relation_ids = steps.subjects[some], steps.relations[some]
        scale(entities, relations, subjects, relation_ids, steps.candidates[some], _UNCHANGED)

    return Contender(name, advance)


@kernel
def _scale(
    entities: Any, relations: Any, subjects: Any, relation_ids: Any, candidates: Any, factor: Any
) -> None:
    for i in range(candidates.shape[0]):
        _scale_row(entities[subjects[i]], factor)
        _scale_row(relations[relation_ids[i]], factor)
        for j in range(candidates.shape[1]):
            _scale_row(entities[candidates[i, j]], factor)


@kernel
def _scale_prefetched(
    entities: Any, relations: Any, subjects: Any, relation_ids: Any, candidates: Any, factor: Any
) -> None:
    for i in range(candidates.shape[0]):
        _scale_row(entities[subjects[i]], factor)
        _scale_row(relations[relation_ids[i]], factor)
        for j in range(candidates.shape[1]):
            if j + AHEAD < candidates.shape[1]:
                prefetch_row(entities, candidates[i, j + AHEAD], entities.shape[1])
            _scale_row(entities[candidates[i, j]], factor)


@kernel
def _scale_row(row: Any, factor: Any) -> None:
    for k in range(row.shape[0]):
        row[k] = row[k] * factor
