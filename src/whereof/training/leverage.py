"""What a fact's steps would be if the fact had not been met before.

The sweep carries what a fact changed through all later steps, the fact's own ones included. Removal
skips these too. On a row with few facts that makes a large difference: a fact that has been learnt
barely changes anything, because its own earlier steps have made its loss small. So the sweep
credits every step with the change that it would make without them.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whereof.training.problem import Problem
from whereof.training.trainer import Trainer

_STRETCH = 1 << 14  # facts trained between two calls of `advanced`


def unlearnt_slopes(
    problem: Problem, n_trained: int, advanced: Callable[[int], None] = lambda n_facts: None
) -> NDArray[np.float32]:
    """(n_epochs, n_facts, n_directions) d loss / d score of each fact's object, at each step.

    At the rows as they would be without the fact's own earlier steps: minus its trace, which
    forgets. Takes one training and the memory of a trace.

    advanced: called with the number of facts of every part of this training.
    """
    trainer = _Measuring(problem, n_trained)
    done = 0
    while done < n_trained:
        n_facts = trainer.advance(min(n_trained - done, _STRETCH))
        done += n_facts
        advanced(n_facts)
    return trainer.slopes


class _Measuring(Trainer):
    """Training with a trace that forgets, which measures every step before it is made."""

    def __init__(self, problem: Problem, n_trained: int) -> None:
        config = problem.config.replace(credit="forget", trace=True, trace_precision=None)
        trace = np.zeros((len(problem.facts), problem.trace_width), config.precision)
        super().__init__(replace(problem, config=config), trace)
        n_epochs = problem.calendar.n_epochs(n_trained)
        self.slopes = np.zeros((n_epochs, len(problem.facts), problem.n_directions), np.float32)

    def _run(self, start: int, stop: int) -> None:
        self._work = self._work._replace(slopes=self.slopes[self.epoch])
        super()._run(start, stop)
