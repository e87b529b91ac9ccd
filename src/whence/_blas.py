"""How many threads NumPy's linear algebra takes: one, where others share the work already."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

_PLACES = ("../numpy.libs", ".dylibs")
"""Where wheels of NumPy keep their libraries, seen from the package."""
_NAMES = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_")


@dataclass(frozen=True)
class _Threads:
    get: Callable[[], int]
    set: Callable[[int], None]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold OpenBLAS to one thread meanwhile: its own ones wait in a loop that takes a core each."""
    threads = _find_threads()
    if threads is None:
        yield
        return
    before = threads.get()
    threads.set(1)
    try:
        yield
    finally:
        threads.set(before)


@lru_cache
def _find_threads() -> _Threads | None:
    """The functions of the OpenBLAS that came with NumPy, if one did."""
    package = Path(np.__file__).parent
    for file in (file for place in _PLACES for file in (package / place).glob("*openblas*")):
        for name in _NAMES:
            try:
                library = ctypes.CDLL(str(file))
                return _Threads(library[name.format("get")], library[name.format("set")])
            except (OSError, AttributeError):
                continue
    return None
