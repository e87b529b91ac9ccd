"""Phases of training: an updated run was trained on some facts first, then on more facts.

Facts, entities and relations that arrive later get the next ids. An epoch of the first phase uses
all facts. An epoch of a later phase uses the new facts of this phase and some earlier facts, drawn
at random for every epoch. A phase continues from the rows and the optimizer state of the phase
before. So repeating all phases gives the same bits.
"""

from dataclasses import dataclass

import numpy as np

from whereof.training.config import Phase
from whereof.training.sampling import REPLAY_STREAM, shuffled
from whereof.types import FactIds


@dataclass(frozen=True)
class Calendar:
    """How many facts every epoch has. Without phases all epochs have all facts."""

    n_facts: int
    phases: tuple[Phase, ...] = ()

    def size(self, epoch: int) -> int:
        """Number of facts of an epoch, counted from 0. The last one of a phase may be shorter."""
        if not self.phases:
            return self.n_facts
        number, first = self._find(epoch)
        whole, left = self._size(number), self.phases[number].n_trained
        return min(whole, left - (epoch - first) * whole) if self._ends(number) else whole

    def before(self, epoch: int) -> int:
        """Number of facts trained on before an epoch."""
        if not self.phases:
            return epoch * self.n_facts
        number, first = self._find(epoch)
        earlier = sum(phase.n_trained for phase in self.phases[:number])
        return earlier + (epoch - first) * self._size(number)

    def n_epochs(self, n_trained: int) -> int:
        """Number of epochs in training on this number of facts. A begun epoch counts too."""
        if not self.phases:
            return -(-n_trained // self.n_facts)
        n_epochs = 0
        for number, phase in enumerate(self.phases):
            part = n_trained if not self._ends(number) else min(n_trained, phase.n_trained)
            n_epochs += -(-part // self._size(number))
            n_trained -= part
        return n_epochs

    def phase(self, epoch: int) -> Phase | None:
        """The phase of an epoch; None without phases."""
        return self.phases[self._find(epoch)[0]] if self.phases else None

    def facts(self, epoch: int, seed: np.uint64) -> FactIds:
        """The ids of an epoch's facts, ascending. A shorter epoch does not train on all of them."""
        if not self.phases:
            return np.arange(self.n_facts)
        number, _ = self._find(epoch)
        phase, n_earlier = self.phases[number], self._n_earlier(number)
        new = np.arange(n_earlier, phase.n_facts)
        drawn = shuffled(seed, n_earlier, epoch, REPLAY_STREAM)[: phase.n_replayed]
        return np.concatenate([np.sort(drawn), new])

    def _find(self, epoch: int) -> tuple[int, int]:
        """The number of the phase of an epoch, and the first epoch of the phase."""
        first = 0
        for number, phase in enumerate(self.phases):
            n_epochs = -(-phase.n_trained // self._size(number))
            if epoch < first + n_epochs or not self._ends(number):
                return number, first
            first += n_epochs
        raise AssertionError("the last phase has no end")

    def _ends(self, number: int) -> bool:
        """Whether a phase has an end. The last phase has none: it may get more epochs."""
        return number < len(self.phases) - 1

    def _n_earlier(self, number: int) -> int:
        return self.phases[number - 1].n_facts if number else 0

    def _size(self, number: int) -> int:
        """Number of facts of a whole epoch of a phase."""
        phase, n_earlier = self.phases[number], self._n_earlier(number)
        return phase.n_facts - n_earlier + min(phase.n_replayed, n_earlier)
