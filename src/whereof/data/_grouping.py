"""Facts in groups by their owners, counted and dealt out in two passes."""

import numpy as np
from numpy.typing import NDArray

from whereof._jit import kernel
from whereof.types import Facts


def group(owners: Facts, n_owners: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Bounds and members of every owner's group; owners: (n_facts, 1 or 2).

    Members are facts, ascending; one that names an owner twice is a member once.
    """
    bounds = np.zeros(n_owners + 1, np.int64)
    _count(owners, bounds[1:])
    np.cumsum(bounds, out=bounds)
    members = np.empty(bounds[-1], np.int32)
    _distribute(owners, bounds[:-1].copy(), members)
    return bounds, members


@kernel
def _count(owners, counts):
    for i in range(owners.shape[0]):
        for j in range(owners.shape[1]):
            if j == 0 or owners[i, j] != owners[i, 0]:
                counts[owners[i, j]] += 1


@kernel
def _distribute(owners, cursors, members):
    for i in range(owners.shape[0]):
        for j in range(owners.shape[1]):
            if j == 0 or owners[i, j] != owners[i, 0]:
                members[cursors[owners[i, j]]] = i
                cursors[owners[i, j]] += 1
