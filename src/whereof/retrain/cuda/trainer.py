"""A training run on a GPU, with trace and ledgers, advanced in steps of many facts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.retrain.cuda.card import Card, open_card
from whereof.retrain.cuda.fleet import Fleet
from whereof.retrain.cuda.memory import COPIED, LEDGERS
from whereof.training.problem import Problem
from whereof.training.step import METER
from whereof.training.tables import N_TAILS, RowTable
from whereof.training.trainer import Training

_NAMES = (("entities", "entity_counts", ""), ("relations", "relation_counts", "_relations"))


class CudaTrainer(Training):
    """Trains a problem on a GPU. Its snapshots and those of `Trainer` are interchangeable."""

    def __init__(
        self, problem: Problem, trace: NDArray[Any] | None = None, card: Card | None = None
    ) -> None:
        super().__init__(problem, trace, len(METER))
        card = open_card("device cuda") if card is None else card
        self._fleet = Fleet(card, problem, [np.zeros(0, np.int64)], tracked=True)
        self._trace_at = 0  # the count at which the trace was last copied

    def advance(self, n_facts: int) -> int:
        fleet, arrays = self._fleet, self._fleet.arrays
        if self.epoch_ended:
            self.epoch, self.position = self.epoch + 1, 0
        fleet.enter(self.epoch, self.position)
        stop = min(self.position + n_facts, fleet.chunk.stop)
        arrays["meter"][:] = 0
        fleet.advance(self.position, stop)
        found = fleet.to_host(arrays["meter"])
        self.meter[:2] += found[:2]
        self.meter[2:] = np.maximum(self.meter[2:], found[2:])
        self.count[:] = fleet.to_host(arrays["counts"])
        n, self.position = stop - self.position, stop
        return n

    @property
    def trace(self) -> NDArray[Any]:
        if len(self._trace) and self._trace_at != int(self.count[0]):
            self._trace[...] = self._fleet.to_host(self._fleet.arrays["trace"])
            self._trace_at = int(self.count[0])
        return self._trace

    def read(self) -> tuple[RowTable, RowTable]:
        arrays = self._fleet.arrays
        if not self.problem.rule.deferred:
            return self._tables()
        before = {name: arrays[name].copy() for name in COPIED}
        self._fleet.settle()
        tables = self._tables()
        arrays |= before
        return tables

    def _tables(self) -> tuple[RowTable, RowTable]:
        """The current tables, without padding."""
        found, rule = [], self.problem.rule
        host, arrays = self._fleet.to_host, self._fleet.arrays
        for name, counts, end in _NAMES:
            padded = host(arrays[name])[0]
            state = np.concatenate([padded[:, part] for part, _ in self._parts(name)], axis=1)
            touched, tails = np.zeros(0, np.int64), np.zeros((0, N_TAILS))
            if rule.deferred:
                touched = host(arrays[counts])[0].astype(np.int64)
                times = host(arrays["times"])
                tails = times[np.minimum(touched, len(times) - 1), :N_TAILS].copy()
            owned, drift, projection = (host(arrays[f"{each}{end}"]) for each in LEDGERS)
            none = owned[:0]
            kept = (drift if rule.deferred else none, projection if rule.constrained else none)
            found.append(RowTable(state, touched, tails, owned, none, *kept, none))
        return found[0], found[1]

    def _parts(self, name: str) -> list[tuple[slice, slice]]:
        """Columns of a table's rows and of their moments: with padding, and without."""
        sizes, widths = self._fleet.sizes, self.problem.widths
        padded, width = sizes.row, widths.entity
        if name == "relations":
            padded, width = sizes.relation_row, widths.relation
        starts = ((part * padded, part * width) for part in range(sizes.parts))
        return [(slice(one, one + width), slice(two, two + width)) for one, two in starts]

    def snapshot(self) -> dict[str, NDArray[Any]]:
        block = self._fleet.timeline.block_size
        start = max(self.position - 1, 0) // block * block
        first = (self.epoch * len(self.problem.facts) + start) * self.problem.n_directions
        return self._snapshot(self._tables(), first)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        fleet = self._fleet
        xp = fleet.card.xp
        for name, counts, end in _NAMES:
            for padded, plain in self._parts(name):
                fleet.arrays[name][0][:, padded] = xp.asarray(arrays[f"{name}.state"][:, plain])
            if self.problem.rule.deferred:
                fleet.arrays[counts][0] = xp.asarray(arrays[f"{name}.touched"])
            for ledger in LEDGERS:
                if len(arrays[f"{name}.{ledger}"]):
                    fleet.arrays[f"{ledger}{end}"][:] = xp.asarray(arrays[f"{name}.{ledger}"])
        fleet.arrays["counts"][:] = xp.asarray(self.count)
        if len(self._trace):
            fleet.arrays["trace"][:] = xp.asarray(self._trace).astype(fleet.arrays["trace"].dtype)
            self._trace_at = int(self.count[0])
