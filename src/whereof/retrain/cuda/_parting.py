"""Models that are alike up to a fact are trained as one up to there.

Up to the first fact that it does without, a model is what every other one is. The model of a fleet
that parts last trains for all up to there, and the others begin as its copies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.retrain.recipe import Recipe
from whereof.training.problem import Problem
from whereof.training.timeline import Timeline
from whereof.types import FactIds


@dataclass(frozen=True)
class Root:
    """A model before it met the first fact that it does without: others may begin there."""

    n_facts: int
    """That it was trained on."""
    arrays: dict[str, NDArray[Any]]
    """Of the card, by name: what training changes."""


@dataclass(frozen=True)
class Parting:
    """When the models of a fleet part, and what they have in common when it begins."""

    places: NDArray[np.int64]
    """(n_models,) on how many facts each is trained as all others are: of the first model the most,
    of the others ascending."""
    root: Root | None = None

    def n_parted(self, done: int) -> int:
        """Models that part before so many facts; the first one is always among them."""
        return 1 + int(self.places[1:].searchsorted(done))


def whole_timeline(problem: Problem) -> Timeline:
    """Of training without a removal."""
    nothing = np.zeros(0, np.bool_)
    return Timeline(problem.config, len(problem.facts), problem.n_directions, nothing)


def find_places(recipe: Recipe, removed: Sequence[FactIds]) -> NDArray[np.int64]:
    """On how many facts models are trained before the first that each does without."""
    places = np.empty(len(recipe.problem.facts), np.int64)
    places[whole_timeline(recipe.problem).order(0)] = np.arange(len(places))
    firsts = [places[facts].min(initial=recipe.n_facts) for facts in removed]
    return np.array(firsts, np.int64)


def make_waves(
    places: NDArray[np.int64], size: int, *, as_asked: bool
) -> Iterator[NDArray[np.int64]]:
    """Numbers of models that train together, the last to part first and then as they part.

    As asked: the first ones in the first wave. Else those that part early, so that the next wave
    begins where they have parted.
    """
    order = np.arange(len(places)) if as_asked else np.argsort(places, kind="stable")
    for first in range(0, len(places), size):
        wave = order[first : first + size]
        yield np.roll(wave[np.argsort(places[wave], kind="stable")], 1)
