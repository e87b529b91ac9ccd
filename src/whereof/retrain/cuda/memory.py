"""The arrays of a fleet in GPU memory, and their size."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whereof.retrain.cuda.layout import Layout, Sizes
from whereof.training.optimizers import N_TAILS, fill_tails
from whereof.training.problem import Problem
from whereof.training.tables import Ledgers
from whereof.training.timeline import fading
from whereof.types import FactIds

_CHUNK_BYTES = 1 << 27
"""Bytes for the candidates of the steps that are drawn at a time."""


@dataclass(frozen=True)
class Memory:
    """Bytes of GPU memory for fleets of a problem."""

    of_model: int
    shared: int
    """Bytes that are independent of the number of models."""

    @classmethod
    def of(cls, problem: Problem, *, tracked: bool = False) -> "Memory":
        sizes, n_facts = Sizes.of(problem), len(problem.facts)
        rows = problem.n_entities * sizes.state + problem.n_relation_rows * sizes.relation_state
        counts = 4 * (problem.n_entities + problem.n_relation_rows) * problem.rule.deferred
        of_model = rows * sizes.item + counts + sizes.room + n_facts // 8
        n_steps = chunk_size(problem) * problem.n_directions
        repeats = 1 if problem.draw.distinct else 2
        shared = n_steps * (4 * sizes.most * repeats + 28) + 24 * n_facts + 48 * n_times(problem)
        if tracked:
            shared += 3 * rows * sizes.item  # ledgers, and copies while rows are read
            shared += n_facts * problem.trace_width * sizes.item * problem.config.trace
        return cls(of_model, shared)

    def n_models(self, free: int) -> int:
        """Number of models that fit into this number of bytes."""
        return max(free - self.shared, 0) // self.of_model


def chunk_size(problem: Problem) -> int:
    """Number of facts whose steps are drawn at a time."""
    size = _CHUNK_BYTES // (4 * Sizes.of(problem).most * problem.n_directions)
    return min(max(size, 1), len(problem.facts))


def n_times(problem: Problem) -> int:
    """Number of updates after which Adam's bias corrections are 1."""
    config = problem.config
    slowest = max(config.beta1, config.beta2, 1e-10)
    n_updates = len(problem.facts) * problem.n_directions * config.epochs
    return min(n_updates, math.ceil(44 / -math.log(slowest)) + 2) + 1


def place(
    xp: Any, problem: Problem, layout: Layout, removed: Sequence[FactIds], *, tracked: bool
) -> dict[str, Any]:
    """The initial arrays of a fleet on the GPU, and numbers, by their names in the kernels.

    removed: the facts that each model skips.
    """
    sizes, n_models = Sizes.of(problem), len(removed)
    placed = {"most": sizes.most, "n_facts": len(problem.facts)}
    placed |= _rows(xp, problem, n_models) | _removed(xp, len(problem.facts), removed)
    placed |= _times(xp, problem) | _steps(xp, problem)
    if not layout.room_shared:
        placed["room"] = xp.zeros((n_models, sizes.room), np.uint8)
    return placed | _ledgers(xp, problem) if tracked else placed


def _rows(xp: Any, problem: Problem, n_models: int) -> dict[str, Any]:
    """Every model starts with the same rows and zero moments."""
    sizes, placed = Sizes.of(problem), {"counts": xp.zeros(n_models, np.int64)}
    named = (("entities", "entity_counts"), ("relations", "relation_counts"))
    states = (sizes.state, sizes.relation_state)
    for (name, counts), table, width in zip(
        named, problem.tables(Ledgers.NONE), states, strict=True
    ):
        n_rows, own = len(table.state), table.state.shape[1] // sizes.parts
        first = np.zeros((n_rows, width), table.state.dtype)
        first[:, :own] = table.state[:, :own]
        placed[name] = xp.empty((n_models, *first.shape), first.dtype)
        placed[name][:] = xp.asarray(first)
        placed[f"n_{name}"] = n_rows
        if sizes.deferred:
            placed[counts] = xp.zeros((n_models, n_rows), np.int32)
    return placed


def _removed(xp: Any, n_facts: int, removed: Sequence[FactIds]) -> dict[str, Any]:
    """One bit per fact and model; nothing if no fact is removed."""
    n_words = math.ceil(n_facts / 32) if any(map(len, removed)) else 0
    words = np.zeros((len(removed), n_words), np.uint32)
    for mine, facts in zip(words, removed, strict=True):
        np.bitwise_or.at(mine, facts >> 5, np.uint32(1) << (facts & 31).astype(np.uint32))
    return {"removed": xp.asarray(words), "n_words": n_words}


def _times(xp: Any, problem: Problem) -> dict[str, Any]:
    """Future drift and Adam's corrections by count, and powers by number of missed counts."""
    config, n = problem.config, n_times(problem)
    powers, fades = fading(config.beta1, config.beta2)
    counts = np.arange(n + len(fades), dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = np.sqrt(1 - config.beta2**counts)
        steps = correction / (1 - config.beta1**counts)
    steps[0] = 0
    tails = np.zeros((n, N_TAILS))
    if problem.rule.deferred:
        fill_tails(config.rate * steps[1:], config.beta1, config.beta2, tails)
    times = np.column_stack([tails, steps[:n], correction[:n]])
    powers = np.column_stack([powers, fades])
    numbers = {"n_times": n, "horizon": len(fades)}
    return {"times": xp.asarray(times), "powers": xp.asarray(powers), **numbers}


def _steps(xp: Any, problem: Problem) -> dict[str, Any]:
    """The facts, and memory for the steps of a chunk."""
    n_steps = chunk_size(problem) * problem.n_directions
    shape = (n_steps, Sizes.of(problem).most)
    placed = {
        "facts": xp.asarray(problem.facts.astype(np.int32)),
        "steps": xp.zeros((n_steps, 5), np.int32),
        "candidates": xp.zeros(shape, np.int32),
        "rates": xp.zeros(n_steps),
    }
    if not problem.draw.distinct:
        placed["repeats"] = xp.zeros(shape, np.int32)
    if problem.config.loss == "squared":
        assert problem.targets is not None
        placed["targets"] = xp.asarray(problem.targets.astype(problem.config.precision))
    return placed


def _ledgers(xp: Any, problem: Problem) -> dict[str, Any]:
    real, widths = np.dtype(problem.config.precision), problem.widths
    shapes = {
        "": (problem.n_entities, widths.entity),
        "_relations": (problem.n_relation_rows, widths.relation),
    }
    names = ("owned", "drift", "projection")
    placed = {f"{it}{end}": xp.zeros(shapes[end], real) for it in names for end in shapes}
    placed["meter"] = xp.zeros(5)
    if problem.config.trace:
        placed["trace"] = xp.zeros((len(problem.facts), problem.trace_width), real)
    return placed
