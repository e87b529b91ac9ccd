"""Sets of facts that are rolled back together."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whereof.types import FactIds

_CHUNK = 1 << 15
"""Facts whose changes are held in memory at a time."""


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of facts to be rolled back together: set i is fact_ids[bounds[i]:bounds[i + 1]]."""

    fact_ids: FactIds
    bounds: NDArray[np.int64]

    @classmethod
    def each(cls, fact_ids: FactIds) -> "Sets":
        """Every fact alone."""
        return cls(fact_ids, np.arange(len(fact_ids) + 1))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def take(self, chosen: NDArray[np.int64]) -> "Sets":
        """Some of the sets, in that order."""
        starts, sizes = self.bounds[chosen], np.diff(self.bounds)[chosen]
        bounds = np.append(0, np.cumsum(sizes))
        within = np.arange(bounds[-1]) - np.repeat(bounds[:-1], sizes)
        return Sets(self.fact_ids[np.repeat(starts, sizes) + within], bounds)

    def parts(self) -> Iterator["Sets"]:
        """The sets in their order, as many at a time as memory is to hold; one part at least."""
        size = max(_CHUNK * len(self) // max(len(self.fact_ids), 1), 1)
        for start in range(0, max(len(self), 1), size):
            bounds = self.bounds[start : start + size + 1]
            yield Sets(self.fact_ids[bounds[0] : bounds[-1]], bounds - bounds[0])
