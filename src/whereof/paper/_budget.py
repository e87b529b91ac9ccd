"""What parts will take, worked out before anything is trained."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from whereof.paper._plan import Part
from whereof.paper._runs import Runs
from whereof.paper._time import Budget, Cost
from whereof.retrain import Engine
from whereof.retrain.recipe import Recipe
from whereof.types import RELATION, SUBJECT


def make_budget(parts: Sequence[Part], kept: Sequence[Part], runs: Runs, engine: Engine) -> Budget:
    """From short probes, the parts with the cheapest retrainings first, after any that have begun.

    A run that several parts ask for is counted in the first of them. kept: parts that are finished.
    """
    by_name, counted = {part.name: part for part in parts}, set[Path]()
    of_kept = {part.run for part in kept}
    begun = {part.name for part in parts if runs.begun(part) and part.run not in of_kept}
    costs = [_retraining(part, runs, engine) for part in parts]
    costs.sort(key=lambda cost: (cost.part not in begun, cost.seconds))
    for number, cost in enumerate(costs):
        part = by_name[cost.part]
        lacking = set(runs.lacking(part)) - counted
        counted |= lacking
        if lacking:
            each = engine.seconds_for(_recipe(part, runs), 1)
            costs[number] = replace(
                cost, n_trainings=len(lacking), training_seconds=len(lacking) * each
            )
    return Budget(tuple(costs), len(kept), engine.at_once)


def _retraining(part: Part, runs: Runs, engine: Engine) -> Cost:
    """What a part takes once its runs are there."""
    recipe = _recipe(part, runs)
    n_each = part.n_retrainings(_n_predictions(part, runs), len(recipe.problem.facts))
    seconds = engine.seconds_for(recipe, n_each) * part.n_seeds
    return Cost(part.name, part.title, n_each * part.n_seeds, seconds)


def _recipe(part: Part, runs: Runs) -> Recipe:
    """All epochs: which one is the best is not known yet."""
    problem = runs.problem(part)
    return Recipe(problem, problem.config.epochs * len(problem.facts))


def _n_predictions(part: Part, runs: Runs) -> int:
    """At most: a query has one top answer, and two of them may be one prediction."""
    n_queries = len(np.unique(runs.dataset(part).test[:, [SUBJECT, RELATION]], axis=0))
    return min(n_queries, runs.options.n_predictions or n_queries)
