"""How many more models a budget allows to retrain."""

import os
import time
from collections.abc import Callable, Sequence
from itertools import compress

from whereof.errors import WhereofError
from whereof.events import Foreseen
from whereof.explain.method import Method
from whereof.explain.options import RetrainingBudget
from whereof.retrain.retrainer import Retrainer
from whereof.units import seconds


class Allowance:
    """Counts retrainings against a budget, the control first.

    Retrainings that the journal has count too: the same question gets the same answer again. They
    take no time, so a budget in seconds reaches further when it is asked again.
    """

    def __init__(
        self,
        budget: RetrainingBudget,
        retrainer: Retrainer,
        methods: Sequence[Method] = (),
        n_predictions: int = 1,
        is_ready: Callable[[Method], bool] = lambda method: False,
    ) -> None:
        """methods: those that estimate for n predictions; the announced time includes them.

        is_ready: whether a method has stored what it needs for them.
        """
        self.budget, self.retrainer, self.n_used = budget, retrainer, 1
        self.start, n_facts = time.perf_counter(), len(retrainer.recipe.problem.facts)
        costs = [0.0 if is_ready(it) else it.trainings(n_facts, n_predictions) for it in methods]
        fits = [self._leaves_half(cost) for cost in costs]
        self.methods = [*compress(methods, fits)]
        """Those of the methods that the budget has time for."""
        late = [method.name for method, fit in zip(methods, fits, strict=True) if not fit]
        if late and not self.methods:
            raise WhereofError(
                f"budget is {seconds(budget.seconds or 0)}, and {late[0]} alone takes more than "
                "half of it; give more time, or a number of retrainings"
            )
        self.notes = (f"the budget is too short for {', '.join(late)}",) if late else ()
        retrainer.events.emit(Foreseen(self.n_used + self.left, sum(compress(costs, fits))))

    def _leaves_half(self, n_trainings: float) -> bool:
        """Whether work of this cost leaves half of a budget of time; n_trainings: on one core."""
        if self.budget.seconds is None or not n_trainings:
            return True
        each = self.retrainer.seconds_for(self.retrainer.engine.at_once) / (os.cpu_count() or 1)
        return n_trainings * each <= self.budget.seconds / 2

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    @property
    def left(self) -> int:
        """The number of retrainings that still fit."""
        if self.budget.n_retrainings is not None:
            return self.budget.n_retrainings - self.n_used
        assert self.budget.seconds is not None
        at_once = self.retrainer.engine.at_once
        each = self.retrainer.seconds_for(at_once) / at_once
        n_left = max(int((self.budget.seconds - self.spent) / each), 0)
        if n_left or self.n_used > 1:
            return n_left
        if self.budget.seconds < each:
            raise WhereofError(
                f"budget is {seconds(self.budget.seconds)}, and one retraining takes about "
                f"{seconds(each * at_once)}; give more time, or a number of retrainings"
            )
        return at_once  # estimates took longer than expected: a first round is retrained anyway

    def take(self, n_wanted: int) -> int:
        """The number of retrainings to do next, of those wanted; 0 at the end of the budget.

        With a time limit, this is half of what fits, because the estimate of the time is rough.
        """
        n_left = self.left
        if self.budget.seconds is not None:
            n_left = max(n_left // 2, min(n_left, self.retrainer.engine.at_once))
        n_next = min(n_wanted, n_left)
        self.n_used += n_next
        return n_next
