"""Retrain by the user's own function, for runs that other software trained."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from inspect import unwrap
from types import CodeType
from typing import Any

import numpy as np

from whereof.data.dataset import Dataset
from whereof.errors import Interrupted, WhereofError
from whereof.models.scoring import Scorer
from whereof.predict.predictions import Predictions
from whereof.retrain.engine import Engine, Job, Recipe, Results, Stop, diverged, processor_name
from whereof.retrain.options import EngineOptions
from whereof.run.arrays import as_array
from whereof.training.config import TrainConfig
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.types import FactIds
from whereof.units import count

RetrainFunction = Callable[[FactIds], Any]
"""A function of yours that trains without some facts. It gets their ids, in ascending order.

It returns entity rows and relation rows, or only entity rows if there are no relations. With no
ids, it trains on all facts. It can also return a `Scorer`, which has its own scoring function.
"""


@dataclass(frozen=True)
class FunctionRecipe(Recipe):
    """A recipe that calls a function. It uses only the facts and the sizes of the problem."""

    function: RetrainFunction
    trained: Scorer
    """The model of the run. Retrained models must have rows of the same shape."""

    @classmethod
    def of(
        cls, dataset: Dataset, config: TrainConfig, function: RetrainFunction, trained: Scorer
    ) -> "FunctionRecipe":
        # The squared loss asks for ratings, which a run from elsewhere may lack.
        plain = config.replace(loss="softmax", negatives=None, keep_checkpoints=0)
        return cls(Problem.of(dataset, plain), 0, function, trained)

    def check_extendable(self) -> None:
        raise WhereofError(
            "sufficient adds facts, and your training function can only leave facts out; "
            "leave out sufficient, or train the run with whereof"
        )

    def retrain(
        self, removed: FactIds, should_stop: Stop = lambda: False, factor: float = 0.0
    ) -> Parameters:
        scorer = self.score(removed)
        return Parameters(scorer.entity_rows, scorer.relation_rows)

    def retrain_model(self, trained: Scorer, removed: FactIds, should_stop: Stop) -> Scorer:
        return self.score(removed)

    def score(self, removed: FactIds) -> Scorer:
        """The model without some facts. The control, with all facts, is trained only once."""
        return self._control[0] if not len(removed) else self._call(removed)

    def probe(self, seconds: float) -> float:
        """The seconds that the control took."""
        return self._control[1]

    @cached_property
    def _control(self) -> tuple[Scorer, float]:
        start = time.perf_counter()
        return self._call(np.zeros(0, np.int64)), time.perf_counter() - start

    def _call(self, removed: FactIds) -> Scorer:
        mine, found = self.trained, self.function(removed.copy())
        if isinstance(found, Scorer):
            scorer = found
        else:
            rows = [*found] if isinstance(found, tuple | list) else [found]
            if len(rows) == 1 and not mine.relation_rows.size:
                rows.append(mine.relation_rows)
            if len(rows) != 2 or found is None:
                values = "nothing" if found is None else count(len(rows), "value")
                raise WhereofError(
                    f"the retraining function returned {values}; return entity rows and relation "
                    "rows, or entity rows alone in two-way data"
                )
            numbers = (_numbers(each, mine.entity_rows.dtype) for each in rows)
            scorer = replace(mine, entity_rows=next(numbers), relation_rows=next(numbers))
        for name in ("entity_rows", "relation_rows"):
            shape, wanted = getattr(scorer, name).shape, getattr(mine, name).shape
            if shape != wanted:
                raise WhereofError(
                    f"the retraining function returned {name} of shape {shape}; "
                    f"this run has {wanted}, and entities must keep their ids"
                )
            if not np.isfinite(getattr(scorer, name)).all():
                raise diverged(removed)
        return scorer


def _numbers(values: Any, dtype: np.dtype[Any]) -> Any:
    """The rows that the function returned, as a contiguous array, or an error if they are not."""
    array = as_array(values, "what the retraining function returned")
    if array.dtype.kind not in "fiu":
        raise WhereofError(
            f"the retraining function returned {type(values).__name__}; return arrays of rows"
        )
    return np.ascontiguousarray(array, dtype)


class FunctionEngine(Engine):
    """Calls the function in this thread, one retraining at a time."""

    at_once = 1
    weighs = False

    def __init__(self, function: RetrainFunction) -> None:
        self._function = function

    @classmethod
    def choose(cls, function: RetrainFunction, options: EngineOptions) -> "FunctionEngine":
        """The engine for a function, or an error if the options ask for another engine."""
        if options.engine not in ("auto", "local") or (options.threads or 1) > 1:
            raise WhereofError(
                "a retraining function is called in this process, one retraining at a time; "
                "leave out engine and threads"
            )
        return cls(function)

    @property
    def identity(self) -> str:
        """Includes a hash of the function's own code, without the functions that it calls."""
        function = unwrap(self._function)
        while hasattr(function, "func"):  # functools.partial
            function = unwrap(function.func)
        code = getattr(function, "__code__", None)
        text = "".join(_code_text(code)) if isinstance(code, CodeType) else ""
        name = getattr(function, "__qualname__", type(function).__qualname__)
        return f"function {name} {sha256(text.encode()).hexdigest()[:16]}"

    def describe(self) -> str:
        return f"{processor_name()}, your own training function"

    def seconds_for(self, recipe: Recipe, n_retrainings: int) -> float:
        return recipe.probe(0) * n_retrainings

    def retrain(
        self, recipe: Recipe, jobs: Sequence[Job], predictions: Predictions | None, stop: Stop
    ) -> Results:
        assert isinstance(recipe, FunctionRecipe)
        for number, job in enumerate(jobs):
            if stop():
                raise Interrupted("retraining was interrupted")
            scorer = recipe.score(job.removed)
            asked = predictions and replace(predictions, model=scorer.model)
            yield number, job.result(Parameters(scorer.entity_rows, scorer.relation_rows), asked)


def _code_text(code: CodeType) -> list[str]:
    """Instructions, names and constants of a function, and of the functions inside it."""
    inner = [
        part for each in code.co_consts if isinstance(each, CodeType) for part in _code_text(each)
    ]
    plain = [repr(each) for each in code.co_consts if isinstance(each, int | float | str | bytes)]
    return [code.co_code.hex(), repr(code.co_names), *plain, *inner]
