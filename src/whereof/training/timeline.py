"""The order of facts, the learning rate of every update, and Adam's future drift."""

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.training.config import TrainConfig
from whereof.training.optimizers import fill_tails
from whereof.training.phases import Calendar
from whereof.training.sampling import shuffled
from whereof.training.tables import N_TAILS, Block
from whereof.types import FactIds, Numbers

_BLOCK = 1 << 16
NO_WEIGHTS = np.zeros(0)


@dataclass(frozen=True)
class Timeline:
    """The updates of a training run, with or without facts of weight 0, which are skipped.

    Blocks start at fixed positions, so that a resumed run uses the same blocks.
    """

    config: TrainConfig
    calendar: Calendar
    n_directions: int
    weights: Numbers = field(default_factory=lambda: NO_WEIGHTS)
    """(n_facts,), or empty if all are 1."""
    _orders: dict[int, FactIds] = field(default_factory=dict, repr=False)

    @property
    def block_size(self) -> int:
        """Number of facts in a block: a multiple of the batch size."""
        batch = self.config.batch_size
        return max(_BLOCK // batch, 1) * batch

    def updates_before(self, epoch: int) -> int:
        """Number of updates, with skipped ones, before an epoch."""
        if not self.calendar.phases:
            return epoch * self._n_updates(0)
        return sum(map(self._n_updates, range(epoch)))

    def _n_updates(self, epoch: int) -> int:
        """Number of updates of an epoch, with skipped ones."""
        return math.ceil(self.calendar.size(epoch) / self.config.batch_size) * self.n_directions

    def order(self, epoch: int) -> FactIds:
        """Fact ids in the order of an epoch, which counts from 0; the last order is cached."""
        if epoch not in self._orders:
            self._orders.clear()
            seed = np.uint64(self.config.seed)
            order = self.calendar.facts(epoch, seed)
            if self.config.order != "file":
                order = order[shuffled(seed, len(order), epoch)]
            if self.config.order == "blocks":
                turns = np.argsort(shuffled(seed, self.calendar.n_facts // _BLOCK + 1, epoch))
                order = order[np.argsort(turns[order // _BLOCK], kind="stable")]
            self._orders[epoch] = order[: self.calendar.size(epoch)]
        return self._orders[epoch]

    def block(self, epoch: int, start: int, count: int) -> Block:
        """The block of an epoch that starts at a position, after `count` updates."""
        order = self.order(epoch)
        stop = min(start + self.block_size, len(order))
        first = start // self.config.batch_size * self.n_directions
        last = math.ceil(stop / self.config.batch_size) * self.n_directions
        updates = np.arange(first, last) + self.updates_before(epoch)
        drift = (np.zeros((0, N_TAILS)), np.zeros((0, N_TAILS)), np.zeros(0))
        if self.config.optimizer == "adam":
            drift = self._drift(epoch, first, last, count)
        return Block(epoch, order[start:stop], self.rates(updates), count, *drift)

    def rates(self, updates: NDArray[Any]) -> Numbers:
        """The learning rates of updates, which count from 0 and include skipped ones."""
        config = self.config
        if config.schedule == "exponential":
            return np.asarray(config.rate * config.decay ** (updates / config.decay_steps))
        if config.schedule == "inverse":
            return np.asarray(config.rate / (updates + 1.0))
        return np.full(len(updates), float(config.rate))

    def fact_of_step(self, epoch: int, step: int) -> int | None:
        """The id of the fact that is scored in this place of an epoch, inverses included."""
        order, size = self.order(epoch), self.config.batch_size
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            if len(self.weights):
                batch = batch[self.weights[batch] > 0]
            if step < len(batch) * self.n_directions:
                return int(batch[step % len(batch)])
            step -= len(batch) * self.n_directions
        return None

    def _drift(self, epoch: int, first: int, last: int, count: int) -> tuple[Any, Any, Any]:
        """Future drift after every live update of a block, and the powers by which it decays."""
        beta1, beta2 = self.config.beta1, self.config.beta2
        powers, fades = fading(beta1, beta2)
        live = self._live(epoch)[first:last]
        n_live = int(live.sum())
        updates = self._next_live(epoch, first, n_live + 1 + len(fades))
        counts = count + 1.0 + np.arange(len(updates))
        steps = self.rates(updates) * np.sqrt(1 - beta2**counts) / (1 - beta1**counts)
        tails = np.zeros((n_live + 1, N_TAILS))
        fill_tails(steps, beta1, beta2, tails)
        return tails, powers, fades

    def _live(self, epoch: int) -> NDArray[np.bool_]:
        """Which updates of an epoch happen: those with a fact that is not skipped."""
        if not len(self.weights):
            return np.ones(self._n_updates(epoch), np.bool_)
        there = self.weights[self.order(epoch)] > 0
        starts = np.arange(0, len(there), self.config.batch_size)
        return np.repeat(np.logical_or.reduceat(there, starts), self.n_directions)

    def _next_live(self, epoch: int, first: int, n: int) -> FactIds:
        """The next n updates that happen; fewer at the end of training."""
        found: list[FactIds] = [np.zeros(0, np.int64)]
        n_found = 0
        while n_found < n and (self.weights.any() or not len(self.weights)):
            live = np.flatnonzero(self._live(epoch)[first:]) + first
            found.append(live + self.updates_before(epoch))
            n_found += len(live)
            epoch, first = epoch + 1, 0
        return np.concatenate(found)[:n]


@cache
def fading(beta1: float, beta2: float) -> tuple[Numbers, Numbers]:
    """(horizon, 4) powers and (horizon,) decay factors of a block; many retrainings share them."""
    horizon = math.ceil(44 / -math.log(max(beta1, 1e-10))) + 2  # beta1^horizon < 1e-19
    missed = np.arange(horizon)
    bases = beta1 * beta2 ** (np.arange(N_TAILS) / 2)
    return bases[None, :] ** missed[:, None], np.asarray(beta2**missed, np.float64)
