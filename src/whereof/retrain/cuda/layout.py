"""How GPU threads are distributed over models, rows and numbers of rows."""

import math
from dataclasses import dataclass, replace

import numpy as np

from whereof.errors import WhereofError
from whereof.retrain.cuda.card import Limits, unfit
from whereof.training.optimizers import MOMENTS
from whereof.training.problem import Problem

_PACK_BYTES = 16
_LINE_BYTES = 64  # bytes of a memory transaction; rows are aligned to it
OWN_THREADS = 256
"""Threads of a block: for a fact's own rows, and in total with two blocks per multiprocessor."""
_MOST_BLOCKS = 32  # the most blocks of a multiprocessor
_PACKS_AT_ONCE = 4
"""Packs that a thread loads before it waits; half as many for `adam`, with their moments."""


@dataclass(frozen=True)
class Sizes:
    """Widths of rows in memory, padded so that threads read 16 bytes at a time."""

    pack: int  # numbers in a pack of 16 bytes
    row: int
    relation_row: int
    query_row: int
    parts: int  # a row and its moments, stored together: 1, 2 or 3 parts
    most: int  # candidates of a step
    item: int  # bytes per number
    deferred: bool
    n_rows: int  # entities

    @property
    def state(self) -> int:
        """Distance between two entity rows, in numbers."""
        return _padded(self.row * self.parts, _LINE_BYTES // self.item)

    @property
    def relation_state(self) -> int:
        return _padded(self.relation_row * self.parts, _LINE_BYTES // self.item)

    @classmethod
    def of(cls, problem: Problem) -> "Sizes":
        item = np.dtype(problem.config.precision).itemsize
        pack, widths = _PACK_BYTES // item, problem.widths
        negatives = max(problem.draw.objects[2], problem.draw.subjects[2])
        return cls(
            pack=pack,
            row=_padded(widths.entity, pack),
            relation_row=_padded(widths.relation, pack),
            query_row=_padded(widths.query, pack),
            parts=1 + MOMENTS[problem.config.optimizer],
            most=1 + negatives,
            item=item,
            deferred=problem.rule.deferred,
            n_rows=problem.n_entities,
        )

    @property
    def room(self) -> int:
        """Bytes that a block stores for all candidates: scores, ids and pending drift."""
        each = self.item * (7 if self.deferred else 1) + 4
        return _padded(self.most * each, _PACK_BYTES)

    @property
    def padded_most(self) -> int:
        return _padded(self.most, self.pack)

    @property
    def own(self) -> int:
        """Total width of the rows that a fact owns."""
        return 2 * self.row + self.relation_row


@dataclass(frozen=True)
class Layout:
    """The configuration of a launch."""

    threads: int  # per block; a block trains one model
    blocks: int  # per multiprocessor
    group: int  # threads that share one row
    packs: int  # of a row per thread
    turns: int  # partial sums per group; twice the threads with half of them sum in the same order
    held: int  # rounds of candidates whose rows stay in shared memory between both passes
    scored: int  # rows that a group loads at a time in the first pass
    moved: int  # rows that a group loads at a time in the second pass
    ahead: bool  # prefetch the rows of the next step: the cache has room for them, but not for all
    room_shared: bool  # shared memory has room for the data of every candidate
    shared_bytes: int

    def slots(self, limits: Limits) -> int:
        """Number of models that train at the same time."""
        return self.blocks * limits.n_processors


def plan_layout(
    sizes: Sizes, limits: Limits, n_models: int | None = None, *, holds: bool = True
) -> Layout:
    """Choose a layout for rows and candidates; with `holds`, rows may stay in shared memory.

    With few models, each gets more threads. The layout does not change the result by a single bit.
    """
    group = min(_power_of_two(sizes.row // sizes.pack), limits.lanes)
    packs = math.ceil(sizes.row / sizes.pack / group)
    most_threads = min(OWN_THREADS, limits.threads)
    threads = min(max(_power_of_two(sizes.most * group), limits.lanes), most_threads)
    blocks = min(2 * most_threads // threads, _MOST_BLOCKS)
    scored = max(_PACKS_AT_ONCE // (2 if sizes.deferred else 1), 1)
    moved = max(scored // (1 if sizes.deferred else packs), 1)
    turns = 2 if threads == OWN_THREADS and moved % 2 == 0 else 1
    if turns == 2 and n_models is not None and n_models <= limits.n_processors:
        threads, blocks, turns = 2 * threads, 1, 1
    cached_bytes = limits.cache_bytes // n_models if n_models else 0
    ahead = 2 * sizes.most <= cached_bytes // (sizes.state * sizes.item) < sizes.n_rows
    shape = Layout(threads, blocks, group, packs, turns, 0, scored, moved, ahead, True, 0)
    return share_memory(shape, sizes, limits, holds=holds)


def plan_sweep(sizes: Sizes, limits: Limits, n_predictions: int) -> Layout:
    """Choose a layout for going back over training, one block per prediction."""
    shape = plan_layout(sizes, limits, n_predictions, holds=False)
    n_warps, pair = shape.threads // limits.lanes, sizes.row + sizes.relation_row
    # See `sweep` and `prepare` in kernels/sweep.cu.
    swept = (4 + n_warps) * sizes.query_row + sizes.own + 2 * pair + 3 * n_warps
    prepared = 2 * sizes.own + (2 + n_warps) * sizes.query_row + 3 * n_warps + 1
    base = _padded(max(swept, prepared), sizes.pack) * sizes.item
    blocks, kept = shape.blocks, sizes.most * (3 * sizes.item + 4)
    while blocks > 1 and base > _room(limits, blocks):
        blocks //= 2
    if base > _room(limits, blocks):
        raise _too_wide(sizes)
    shared = base + kept <= _room(limits, blocks)
    scored = max(_PACKS_AT_ONCE // (shape.packs * sizes.parts), 1)
    moved = max(_PACKS_AT_ONCE // shape.packs, 1)
    shape = replace(shape, blocks=blocks, turns=1, scored=scored, moved=moved)
    return replace(shape, room_shared=shared, shared_bytes=base + kept * shared)


def _too_wide(sizes: Sizes) -> WhereofError:
    width = max(sizes.row, sizes.relation_row)
    what = f"rows of {width} numbers are too wide for the GPU's shared memory"
    return unfit(f"{what}; choose a lower dim")


def share_memory(shape: Layout, sizes: Sizes, limits: Limits, *, holds: bool = True) -> Layout:
    """Distribute the shared memory of a layout; use fewer blocks if there is too little."""
    base, kept = _base_bytes(sizes, shape, limits), sizes.room
    wanted = base + kept if base + kept <= _room(limits, 1) else base
    blocks = shape.blocks
    while blocks > 1 and wanted > _room(limits, blocks):
        blocks //= 2
    room = _room(limits, blocks)
    if base > room:
        raise _too_wide(sizes)
    room_shared = base + kept <= room
    used = base + kept * room_shared
    n_groups = shape.threads // shape.group
    round_bytes, n_rounds = n_groups * sizes.row * sizes.item, math.ceil(sizes.most / n_groups)
    held = min((room - used) // round_bytes, n_rounds) if holds else 0
    n_bytes = used + held * round_bytes
    return replace(shape, blocks=blocks, held=held, room_shared=room_shared, shared_bytes=n_bytes)


def _room(limits: Limits, blocks: int) -> int:
    """Shared memory of each of the blocks on a multiprocessor; the system takes 1024 bytes."""
    return min(limits.shared_bytes // blocks - 1024, limits.block_bytes)


def draw_bytes(problem: Problem) -> int:
    """Bytes of shared memory to find repeated draws of a step."""
    return 0 if problem.draw.distinct else 8 * (Sizes.of(problem).most - 1)


def _base_bytes(sizes: Sizes, shape: Layout, limits: Limits) -> int:
    """Bytes of shared memory that a block always needs; see `share_out` in kernels/step.cu."""
    n_warps = shape.threads // limits.lanes
    numbers = 2 * sizes.own + (2 + shape.turns * n_warps) * sizes.query_row + 3 * n_warps + 1
    return _padded(numbers, sizes.pack) * sizes.item


def _padded(width: int, pack: int) -> int:
    return math.ceil(width / pack) * pack


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()
