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


@dataclass
class Placed:
    """Arrays on the GPU and numbers, by their names in the kernels."""

    arrays: dict[str, Any]
    numbers: dict[str, int]


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
) -> Placed:
    """Place the initial arrays of a fleet; removed: the facts that each model skips."""
    placed = Placed({}, {"most": Sizes.of(problem).most, "n_facts": len(problem.facts)})
    _place_rows(placed, xp, problem, len(removed))
    _place_removed(placed, xp, len(problem.facts), removed)
    _place_times(placed, xp, problem)
    _place_steps(placed, xp, problem)
    if not layout.room_shared:
        room = Sizes.of(problem).room
        placed.arrays["room"] = xp.zeros((len(removed), room), np.uint8)
    if tracked:
        _place_ledgers(placed, xp, problem)
    return placed


def _place_rows(placed: Placed, xp: Any, problem: Problem, n_models: int) -> None:
    """Place the rows: every model starts with the same rows and zero moments."""
    sizes = Sizes.of(problem)
    named = (("entities", "entity_counts"), ("relations", "relation_counts"))
    states = (sizes.state, sizes.relation_state)
    for (name, counts), table, width in zip(
        named, problem.tables(Ledgers.NONE), states, strict=True
    ):
        n_rows, own = len(table.state), table.state.shape[1] // sizes.parts
        first = np.zeros((n_rows, width), table.state.dtype)
        first[:, :own] = table.state[:, :own]
        placed.arrays[name] = xp.empty((n_models, *first.shape), first.dtype)
        placed.arrays[name][:] = xp.asarray(first)
        if sizes.deferred:
            placed.arrays[counts] = xp.zeros((n_models, n_rows), np.int32)
        placed.numbers[f"n_{name}"] = n_rows
    placed.arrays["counts"] = xp.zeros(n_models, np.int64)


def _place_removed(placed: Placed, xp: Any, n_facts: int, removed: Sequence[FactIds]) -> None:
    """Place one bit per fact and model; nothing if no fact is removed."""
    n_words = math.ceil(n_facts / 32) if any(map(len, removed)) else 0
    words = np.zeros((len(removed), n_words), np.uint32)
    for mine, facts in zip(words, removed, strict=True):
        np.bitwise_or.at(mine, facts >> 5, np.uint32(1) << (facts & 31).astype(np.uint32))
    placed.arrays["removed"] = xp.asarray(words)
    placed.numbers["n_words"] = n_words


def _place_times(placed: Placed, xp: Any, problem: Problem) -> None:
    """Place future drift and Adam's corrections by count, and powers by number of missed counts."""
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
    placed.arrays["times"] = xp.asarray(np.column_stack([tails, steps[:n], correction[:n]]))
    placed.arrays["powers"] = xp.asarray(np.column_stack([powers, fades]))
    placed.numbers |= {"n_times": n, "horizon": len(fades)}


def _place_steps(placed: Placed, xp: Any, problem: Problem) -> None:
    """Place the facts, and memory for the steps of a chunk."""
    sizes, n_steps = Sizes.of(problem), chunk_size(problem) * problem.n_directions
    placed.arrays |= {
        "facts": xp.asarray(problem.facts.astype(np.int32)),
        "steps": xp.zeros((n_steps, 5), np.int32),
        "candidates": xp.zeros((n_steps, sizes.most), np.int32),
        "rates": xp.zeros(n_steps),
    }
    if not problem.draw.distinct:
        placed.arrays["repeats"] = xp.zeros((n_steps, sizes.most), np.int32)
    if problem.config.loss == "squared":
        assert problem.targets is not None
        placed.arrays["targets"] = xp.asarray(problem.targets.astype(problem.config.precision))


def _place_ledgers(placed: Placed, xp: Any, problem: Problem) -> None:
    real, widths = np.dtype(problem.config.precision), problem.widths
    tables = (("", "n_entities", widths.entity), ("_relations", "n_relations", widths.relation))
    for name in ("owned", "drift", "projection"):
        for end, n_rows, width in tables:
            placed.arrays[f"{name}{end}"] = xp.zeros((placed.numbers[n_rows], width), real)
    placed.arrays["meter"] = xp.zeros(5)
    if problem.config.trace:
        placed.arrays["trace"] = xp.zeros((len(problem.facts), problem.trace_width), real)
