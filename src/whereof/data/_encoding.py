"""A column made out of bytes, by a compiled table of names: for files of millions of lines."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof._jit import kernel
from whereof.data._columns import Cells

_OFFSET, _PRIME, _GOLDEN = (
    np.uint64(n) for n in (0xCBF29CE484222325, 0x100000001B3, 0x9E3779B97F4A7C15)
)
_SHIFT = np.uint64(32)


class _Table(NamedTuple):
    """What the encoder knows of names, for the kernel: see `ByteEncoder`."""

    names: Any
    bounds: Any
    hashes: Any
    slots: Any


class ByteEncoder:
    """The twin of `Encoder` that looks names up by their bytes, without a text for every cell."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._bytes: NDArray[np.uint8] = np.zeros(0, np.uint8)
        """Of all names, one after the other."""
        self._bounds: NDArray[np.int64] = np.zeros(1, np.int64)
        """(n_names + 1,) name i is bytes[bounds[i]:bounds[i + 1]]."""
        self._hashes: NDArray[np.uint64] = np.zeros(0, np.uint64)
        """(n_names,)"""
        self._slots = np.zeros(0, np.int32)
        """An open hash table of codes; -1 where it is free."""

    def __len__(self) -> int:
        return len(self._names)

    def encode(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """(n_texts,) the code of each; new ones take the next codes."""
        cells = texts if isinstance(texts, Cells) else Cells.of(texts)
        n_before = len(self._names)
        self._reserve(len(cells), int((cells.ends - cells.starts).sum()))
        codes = np.empty(len(cells), np.int32)
        table = _Table(self._bytes, self._bounds, self._hashes, self._slots)
        n_names = _encode((cells.data, cells.starts, cells.ends), codes, n_before, table)
        bounds = self._bounds[n_before : n_names + 1]
        fresh, bounds = self._bytes[bounds[0] : bounds[-1]], bounds - bounds[0]
        self._names += Cells(fresh, bounds[:-1], bounds[1:])
        return codes

    def newest(self, n_names: int) -> Iterable[str]:
        """The names that came last."""
        return self._names[len(self._names) - n_names :]

    def names(self) -> list[str]:
        return self._names

    def _reserve(self, n_cells: int, n_bytes: int) -> None:
        """Make room for as many new names, doubling what there is."""
        n_names = len(self._names)
        used = int(self._bounds[n_names])
        self._bytes = _grown(self._bytes, used, used + n_bytes)
        self._bounds = _grown(self._bounds, n_names + 1, n_names + 1 + n_cells)
        self._hashes = _grown(self._hashes, n_names, n_names + n_cells)
        if len(self._slots) < 2 * (n_names + n_cells):
            self._slots = np.full(1 << (4 * (n_names + n_cells)).bit_length(), -1, np.int32)
            _place(self._hashes[:n_names], self._slots)


def _grown(array: NDArray[Any], n_used: int, n_needed: int) -> NDArray[Any]:
    if n_needed <= len(array):
        return array
    larger = np.zeros(2 * n_needed, array.dtype)
    larger[:n_used] = array[:n_used]
    return larger


@kernel
def _encode(cells, codes, n_names, table):
    """The code of every cell; names that are new get the next codes. Returns how many there are.

    cells: (data, starts, ends), as in `Cells`.
    """
    data, starts, ends = cells
    names, bounds, hashes, slots = table
    mask = np.uint64(slots.shape[0] - 1)
    for i in range(starts.shape[0]):
        start, length = starts[i], ends[i] - starts[i]
        key = _OFFSET
        for j in range(start, start + length):
            key = (key ^ np.uint64(data[j])) * _PRIME
        slot = _first_slot(key, mask)
        while True:
            code = slots[slot]
            if code < 0:
                code = n_names
                slots[slot], hashes[code] = code, key
                for j in range(length):
                    names[bounds[code] + j] = data[start + j]
                bounds[code + 1] = bounds[code] + length
                n_names += 1
                break
            if hashes[code] == key and bounds[code + 1] - bounds[code] == length:
                same = True
                for j in range(length):
                    same &= names[bounds[code] + j] == data[start + j]
                if same:
                    break
            slot = np.int64(np.uint64(slot + 1) & mask)
        codes[i] = code
    return n_names


@kernel
def _place(hashes, slots):
    """Fill an empty table with the codes of names whose hashes are known."""
    mask = np.uint64(slots.shape[0] - 1)
    for code in range(hashes.shape[0]):
        slot = _first_slot(hashes[code], mask)
        while slots[slot] >= 0:
            slot = np.int64(np.uint64(slot + 1) & mask)
        slots[slot] = code


@kernel
def _first_slot(key, mask):
    return np.int64(((key * _GOLDEN) >> _SHIFT) & mask)
