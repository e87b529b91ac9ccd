"""The step of whereof, traced or not, and the floor below it."""

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
"""What the floor multiplies by: it works on the trainer's own rows and must not spoil them."""


def whereof_step(name: str, trainer: Trainer, *, traced: bool = True) -> Contender:
    """The package's own training.

    One trainer can be two contenders, traced and not: where arrays come to lie in memory changes
    the time of a step by more than a trace does.
    """
    trace = trainer.trace if traced else trainer.trace[:0]

    def advance(n: int) -> None:
        trainer.trace = trace
        while n > 0:
            n -= trainer.advance(n)

    return Contender(name, advance)


def make_trainer(problem: Problem, n_steps: int, *, traced: bool) -> Trainer:
    """A trainer whose kernels are loaded and the pages of whose trace are mapped."""
    trace = None
    if traced:
        trace = np.zeros((len(problem.facts), problem.trace_width), problem.config.precision)
    trainer = Trainer(problem, trace)
    if trace is not None:
        # Zeros are mapped on first use, which is no part of tracing.
        trace[trainer.timeline.order(0)[:n_steps]] = 0
    trainer.warm_up()
    return trainer


@dataclass(frozen=True)
class Outcome:
    """Where the first steps of a training lead to."""

    mean_loss: float
    entity_rows: NDArray[np.float32]


def outcome(problem: Problem, n_steps: int) -> Outcome:
    """Where whereof gets to in n steps."""
    trainer = make_trainer(problem, n_steps, traced=False)
    done = 0
    while done < n_steps:
        done += trainer.advance(n_steps - done)
    loss = float(trainer.meter[METER.index("loss")]) / n_steps
    return Outcome(loss, trainer.parameters().entity_rows)


def floor(name: str, trainer: Trainer, steps: Steps, *, prefetched: bool) -> Contender:
    """Read and write once every row that a step touches, with its moments, and nothing else."""
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
