"""How much memory there is, and how memory-mapped arrays that are larger are read from the disk.

If a program reads in order, the system reads ahead. For random rows, this costs a millisecond per
row. Without it, the program waits for every page. So Whereof says which rows it will need.
"""

import ctypes
import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

_GAP = 1 << 16
"""Bytes between two rows that are read too, so that both are one read."""

_random: WeakSet[mmap.mmap] = WeakSet()
"""The maps without read-ahead."""


def total_memory() -> int | None:
    """Bytes of memory that this process may use; None if the system does not say."""
    found = []
    with suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError):
        listed = Path("/proc/self/cgroup").read_text("utf-8")
        found += group_limits(listed, Path("/sys/fs/cgroup"))
    return min(found, default=None)


def group_limits(listed: str, root: Path) -> list[int]:
    """The memory limits of control groups and of those above them; a container has one.

    listed: a line for each hierarchy of groups, as in /proc/self/cgroup; root: of all of them.
    """
    found = []
    for line in listed.splitlines():
        _, kinds, name = line.split(":", 2)
        if "memory" in kinds.split(","):  # version 1
            top, file = root / "memory", "memory.limit_in_bytes"
        elif not kinds:
            top, file = root, "memory.max"
        else:
            continue
        # In a container, the name may be that of the machine, where only the top is there.
        own = top / name.lstrip("/")
        for group in (own, *own.parents):
            if group == root.parent:
                break
            with suppress(OSError, ValueError):  # no limit is "max"
                found.append(int((group / file).read_text("ascii")))
    return found


def release_memory() -> None:
    """Return freed memory to the system, if the allocator still holds it."""
    if sys.platform == "linux":
        with suppress(AttributeError):  # only glibc has it
            ctypes.CDLL(None).malloc_trim(0)


def expect_random_access(array: NDArray[Any]) -> None:
    """Turn off read-ahead for a memory-mapped array; see `prefetch`."""
    file = _map_of(array)
    if file is not None and hasattr(mmap, "MADV_RANDOM"):
        file.madvise(mmap.MADV_RANDOM)
        _random.add(file)


@contextmanager
def in_order(array: NDArray[Any]) -> Iterator[None]:
    """Turn read-ahead on again, to read the whole array once."""
    file = _map_of(array)
    if file not in _random or file is None:
        yield
        return
    file.madvise(mmap.MADV_NORMAL)
    try:
        yield
    finally:
        file.madvise(mmap.MADV_RANDOM)


def prefetch(array: NDArray[Any], rows: NDArray[np.integer]) -> None:
    """Start to read rows of an array that expects random access."""
    file = _map_of(array)
    if file not in _random or file is None or not len(rows):
        return
    size = array.strides[0]
    first = array.ctypes.data - np.frombuffer(file, np.uint8).ctypes.data
    starts, stops = _spans(first + np.sort(rows).astype(np.int64) * size, size)
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        file.madvise(mmap.MADV_WILLNEED, start, stop - start)


def _spans(places: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts, at pages, and stops of the reads for rows of a size at ascending places."""
    after = np.flatnonzero(np.diff(places) > size + _GAP) + 1
    starts = places[np.append(0, after)] // mmap.PAGESIZE * mmap.PAGESIZE
    return starts, places[np.append(after - 1, len(places) - 1)] + size


def _map_of(array: Any) -> mmap.mmap | None:
    """The map that an array, or the array that it is a view of, lies in."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap.mmap) else None
