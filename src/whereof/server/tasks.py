"""The jobs that a client can start: the checked body of the request, and the call of the API.

Only these options exist here: none of them names a file or another machine.
"""

import os
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from whereof.api.run import Run
from whereof.errors import WhereofError
from whereof.events import Event, Events, Foreseen, Planned, Without
from whereof.explain.method import get_method
from whereof.explain.options import RetrainingBudget
from whereof.retrain.options import SmallestOptions, VerifyOptions
from whereof.server import limits
from whereof.server.requests import FactIds, FactTop, PredictionRequest, Word


def _check_budget(budget: int | str) -> int | str:
    """A number of retrainings, or a time, within the limits of this server."""
    try:
        asked = RetrainingBudget.of(budget)
    except WhereofError as error:
        raise ValueError(str(error)) from None
    if (asked.n_retrainings or 0) > limits.RETRAININGS:
        raise ValueError(f"this server retrains at most {limits.RETRAININGS:,} times for one job")
    if (asked.seconds or 0) > limits.BUDGET_SECONDS:
        raise ValueError(f"this server retrains at most {limits.BUDGET_SECONDS} s for one job")
    return budget


_Budget = Annotated[
    Annotated[int, Field(ge=2)] | Annotated[str, Field(max_length=20)],
    AfterValidator(_check_budget),
]
_Seeds = Annotated[int, Field(ge=1, le=limits.SEEDS)]


class LimitedRetraining(Without):
    """Refuses work that announces more retrainings than this server does for one job."""

    def __init__(self, events: Events) -> None:
        super().__init__(events)
        self._n_planned = 0

    def emit(self, event: Event) -> None:
        if isinstance(event, Planned):
            self._n_planned += event.n_retrainings
        foreseen = event.n_retrainings if isinstance(event, Foreseen) else 0
        n_wanted = max(self._n_planned, foreseen)
        if n_wanted > limits.RETRAININGS:
            raise WhereofError(
                f"this takes up to {n_wanted:,} retrainings, and this server retrains at most "
                f"{limits.RETRAININGS:,} times for one job; ask for less, or use the command line"
            )
        super().emit(event)


class _Task(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @property
    def max_seconds(self) -> float | None:
        """The budget, if it is a time."""
        budget = getattr(self, "budget", None)
        return None if budget is None else RetrainingBudget.of(budget).seconds

    def is_long(self, run: Run) -> bool:
        """Whether it may take long on this machine, as far as that is known beforehand."""
        each = (run.retraining_seconds or 0.0) / (os.cpu_count() or 1)
        return (self.max_seconds or self.trainings(run) * each) > limits.LONG_SECONDS

    def trainings(self, run: Run) -> float:
        """Its cost, in trainings on one core; at most, if its budget is no time."""
        raise NotImplementedError

    def start(self, run: Run, events: Events) -> Any:
        """Do the work, within the limits of this server."""
        timed = self.max_seconds is not None
        return self.work(run, events if timed else LimitedRetraining(events))

    def work(self, run: Run, events: Events) -> Any:
        """The call of the API."""
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        """What was given, besides kind and names."""
        others = {"kind", "subject", "relation", "object", "unasked"}
        return self.model_dump(exclude_unset=True, exclude_none=True, exclude=others)


class _PredictionTask(PredictionRequest, _Task):
    """About one prediction."""

    def method_trainings(self, run: Run) -> float:
        """The cost of its method, without a budget."""
        method = run.with_method(self.options())["method"]
        return get_method(method).trainings(run.dataset.n_facts)


class ExplainTask(_PredictionTask):
    """`whereof explain`, for methods that take longer than a click."""

    kind: Literal["explain"]
    method: Word | None = None
    top: FactTop = 10
    of: Literal["probability", "score", "loss"] | None = None
    opposing: bool | Literal["both"] = False
    graph: bool = False
    budget: _Budget | None = None
    sweep_epochs: Annotated[int, Field(ge=1)] | None = None
    seeds: _Seeds = 1
    unasked: bool = False
    """Whether a page starts it by itself: other jobs of its client come first, and while it waits,
    the next one of its kind replaces it."""

    def trainings(self, run: Run) -> float:
        each = self.method_trainings(run) if self.budget is None else float(self.budget)
        return self.seeds * each + self.seeds - 1

    def work(self, run: Run, events: Events) -> Any:
        return run.explain(*self.names(run), events=events, **self.options())


class VerifyTask(_PredictionTask):
    """`whereof verify`."""

    kind: Literal["verify"]
    facts: FactIds | None = None
    method: Word | None = None
    top: FactTop | None = None
    each: bool = False
    seeds: _Seeds = 1

    def trainings(self, run: Run) -> float:
        found = 0.0 if self.facts else self.method_trainings(run)
        n_facts = len(self.facts or ()) or self.top or VerifyOptions().top
        return found + 3 * self.seeds + (int(n_facts) if self.each else 0)

    def work(self, run: Run, events: Events) -> Any:
        return run.verify(*self.names(run), events=events, **self.options())


class SmallestTask(_PredictionTask):
    """`whereof smallest`; sufficient: `whereof smallest --sufficient`."""

    kind: Literal["smallest"]
    method: Word | None = None
    budget: _Budget | None = None
    role: Literal["subject", "relation", "object", "several"] | None = None
    sufficient: bool = False

    def trainings(self, run: Run) -> float:
        return float(self.budget or SmallestOptions().budget)

    def work(self, run: Run, events: Events) -> Any:
        options = self.options()
        find = run.sufficient if options.pop("sufficient", False) else run.smallest
        return find(*self.names(run), events=events, **options)


class EvaluateTask(_Task):
    """`whereof evaluate`."""

    kind: Literal["evaluate"]
    methods: Annotated[list[Word], Field(min_length=1, max_length=20)] | None = None
    protocols: Annotated[list[Word], Field(min_length=1, max_length=20)] | None = None
    k: Annotated[list[Annotated[int, Field(ge=1)] | Literal["all"]], Field(min_length=1)] | None = (
        None
    )
    predictions: Literal["top", "true"] = "top"
    split: Literal["test", "valid", "train"] | None = None
    limit: Annotated[int, Field(ge=1, le=limits.PREDICTIONS)] = 50
    facts: Annotated[int, Field(ge=1, le=limits.FACTS)] | None = None
    seeds: _Seeds = 1
    seed: Annotated[int, Field(ge=0)] = 0

    def is_long(self, run: Run) -> bool:
        return True

    def work(self, run: Run, events: Events) -> Any:
        return run.evaluate(events=events, **{"limit": self.limit} | self.options())


class AuditTask(_Task):
    """`whereof audit`."""

    kind: Literal["audit"]
    ranking: Literal["loss-without", "self-influence", "loss", "score", "degree"] | None = None
    method: Word | None = None
    split: Literal["test", "valid"] | None = None
    limit: Annotated[int, Field(ge=1, le=limits.FACTS)] | None = None
    top: Annotated[int, Field(ge=1, le=limits.NAMES)] = 10
    verify: bool = False

    def trainings(self, run: Run) -> float:
        method = self.method or run.default_method
        n_groups = 3 * 2 * self.top + 3 if self.verify else 0
        return get_method(method).trainings(run.dataset.n_facts, 2) + n_groups

    def work(self, run: Run, events: Events) -> Any:
        return run.audit(events=events, **self.options())


Task = Annotated[
    ExplainTask | VerifyTask | SmallestTask | EvaluateTask | AuditTask,
    Field(discriminator="kind"),
]
