"""The training problems of the benchmarks: FB15k-237 in the paper's setting."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof._jit import kernel
from whereof.data.dataset import Dataset
from whereof.data.read import read_dataset
from whereof.models import MODELS, find_model
from whereof.training.config import TrainConfig
from whereof.training.defaults import preset_settings
from whereof.training.problem import Problem
from whereof.training.sampling import OBJECT_STREAM, draw_negatives, key_of
from whereof.training.timeline import Timeline

DATASET = "fb15k-237"
RESCAL_DIM = 20
"""A relation of RESCAL is a square matrix; with the others' dimension it has 10,000 numbers."""

# Defaults of the package that differ from the paper.
_CHANGES = {"optimizer": "adam-lazy", "sampling": "distinct", "credit": "source"}


def settings(**changes: Any) -> dict[str, Any]:
    """The paper's setting with lazy Adam, distinct negatives and credit by source."""
    return preset_settings("paper", DATASET) | _CHANGES | changes


def load_data(data_dir: Path | None) -> Dataset:
    """FB15k-237 from a folder, or from the folder in WHEREOF_DATA."""
    return read_dataset(DATASET, data_dir=data_dir)


def make_problem(data: Dataset, model: str = "distmult", **changes: Any) -> Problem:
    """A model with the facts, or with their (subject, object) pairs if it is two-way."""
    config = TrainConfig.from_dict(settings(model=model, dim=dim_of(model), **changes))
    n = data.n_entities
    if not MODELS[model].two_way:
        everything = (data.train, n, data.n_relations, data.subjects, data.objects)
        return Problem(find_model(model), config, *everything)
    # Two-way data has its subjects first, then its objects.
    return Problem(find_model(model), config, _pairs(data), 2 * n, 0, range(n), range(n, 2 * n))


def dim_of(model: str) -> int:
    """The paper's dimension, except for RESCAL."""
    return RESCAL_DIM if model == "rescal" else int(settings()["dim"])


def _pairs(data: Dataset) -> NDArray[np.int32]:
    """The distinct (subject, object) pairs, in file order."""
    pairs = data.train.copy()
    pairs[:, 1] = 0
    pairs[:, 2] += data.n_entities
    _, first = np.unique(pairs, axis=0, return_index=True)
    return pairs[np.sort(first)]


@dataclass(frozen=True)
class Steps:
    """The rows that the first steps of a training touch."""

    subjects: NDArray[np.int32]
    """(n,)"""
    relations: NDArray[np.int32]
    """(n,)"""
    candidates: NDArray[np.int32]
    """(n, 1 + negatives) the true object first"""

    def first(self, n: int) -> "Steps":
        return Steps(self.subjects[:n], self.relations[:n], self.candidates[:n])


def list_steps(problem: Problem, n_steps: int) -> Steps:
    """The facts and negatives that the trainer will use."""
    config, draw = problem.config, problem.draw
    timeline = Timeline(config, problem.calendar, problem.n_directions, np.zeros(0, np.bool_))
    order = timeline.order(0)[:n_steps]
    first, count, n_negatives = draw.objects
    candidates = np.empty((len(order), 1 + n_negatives), np.int32)
    _fill_candidates(draw.seed, draw.distinct, problem.facts, order, first, count, candidates)
    taken = np.ascontiguousarray(problem.facts[order].T)
    return Steps(taken[0], taken[1], candidates)


@kernel
def _fill_candidates(
    seed: Any, distinct: Any, facts: Any, order: Any, first: Any, count: Any, candidates: Any
) -> None:
    """Draw the candidates of the first epoch's facts in the same way as the step."""
    for i in range(order.shape[0]):
        fact = order[i]
        key = key_of(seed, OBJECT_STREAM, np.uint64(fact), np.uint64(0))
        draw_negatives(key, distinct, facts[fact, 2], first, count, candidates[i])
