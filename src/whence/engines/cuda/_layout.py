"""How the threads of a card are shared out among models, rows and numbers of rows."""

import math
from dataclasses import dataclass

import numpy as np

from whence.engines.cuda._card import Limits
from whence.errors import WhenceError
from whence.training._optimizers import MOMENTS
from whence.training._problem import Problem

_PACK_BYTES = 16
_PACKS = 2
"""Packs of a row that a thread holds: more take more registers, fewer leave threads idle."""
_BUSY, _MOST_BLOCKS = 1024, 32
"""Threads and blocks that share a processor: more threads have fewer registers each."""


@dataclass(frozen=True)
class Sizes:
    """Lengths of rows in memory: padded, so that threads read 16 bytes at a time."""

    pack: int
    """Numbers in 16 bytes."""
    row: int
    relation_row: int
    query_row: int
    parts: int
    """A row and its moments, side by side."""
    most: int
    """Candidates of a step."""
    item: int
    """Bytes of a number."""

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
        )

    @property
    def own(self) -> int:
        """Numbers of the rows that a fact owns."""
        return 2 * self.row + self.relation_row


@dataclass(frozen=True)
class Layout:
    """The shape of a launch."""

    threads: int
    """Of a block, which trains one model."""
    blocks: int
    """That share a processor."""
    group: int
    """Threads that share a row."""
    packs: int
    """Of a row that each of them holds."""
    held: int
    """Rounds of candidates whose rows stay in shared memory between the two passes."""
    scores_shared: bool
    shared_bytes: int

    def slots(self, limits: Limits) -> int:
        """Models that train at a time."""
        return self.blocks * limits.n_processors


def plan_layout(sizes: Sizes, limits: Limits, *, holds: bool = True) -> Layout:
    """The shape that suits rows and candidates; `holds` lets rows stay in shared memory."""
    n_packs = sizes.row // sizes.pack
    group = min(_power_of_two(math.ceil(n_packs / _PACKS)), limits.lanes)
    packs = math.ceil(n_packs / group)
    busy = min(_BUSY if packs <= 2 else _BUSY // 2, 2 * limits.threads)
    threads = min(max(_power_of_two(sizes.most * group), limits.lanes), busy // 2)
    blocks = min(busy // threads, _MOST_BLOCKS)
    base = _base_bytes(sizes, threads, limits)
    scores = sizes.most * sizes.item
    room = min(limits.shared_bytes // blocks - _RESERVED, limits.block_bytes)
    while blocks > 1 and base + scores > room:
        blocks //= 2
        room = min(limits.shared_bytes // blocks - _RESERVED, limits.block_bytes)
    if base > room:
        raise WhenceError(
            f"rows of {max(sizes.row, sizes.relation_row)} numbers are too wide for the card's "
            "shared memory; choose a lower dim, or engine local"
        )
    scores_shared = base + scores <= room
    used = base + scores * scores_shared
    n_groups = threads // group
    round_bytes = n_groups * sizes.row * sizes.item
    n_rounds = math.ceil(sizes.most / n_groups)
    held = min((room - used) // round_bytes, n_rounds) if holds else 0
    return Layout(threads, blocks, group, packs, held, scores_shared, used + held * round_bytes)


_RESERVED = 1024
"""Bytes of shared memory that every block takes for itself."""


def _base_bytes(sizes: Sizes, threads: int, limits: Limits) -> int:
    """Shared memory that a block needs in any case; see `share_out` in kernels.cu."""
    n_warps = threads // limits.lanes
    numbers = 2 * sizes.own + (2 + n_warps) * sizes.query_row + 3 * n_warps + 1
    return _padded(numbers, sizes.pack) * sizes.item


def _padded(width: int, pack: int) -> int:
    return math.ceil(width / pack) * pack


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()
