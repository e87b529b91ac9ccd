"""Rows of TAB-separated text: a cell is what stands between two TABs."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from whence.data._columns import Cells
from whence.data._gathering import Stretch
from whence.data._streams import Block, FilePath, read_blocks
from whence.errors import WhenceError

_TAB, _NEWLINE = b"\t\n"
_LARGE: Final = 1 << 23


def read_tsv(path: FilePath) -> Iterator[Stretch]:
    """The rows of a file; the first stretch is one row, which the others must be as wide as.

    The cells of a large file are left in its bytes, which takes a compiled encoder; those of a
    small one are lists.
    """
    first: Stretch | None = None
    lazy = False
    for block in read_blocks(path):
        if first is None:
            lazy = len(block.data) > _LARGE
            line, block = _first_line(block)
            if not line.data:
                continue
            first = _stretch(path, line.data, [line.line], line.data.count(b"\t") + 1, lazy=lazy)
            yield first
        if block.data:
            yield _rows(path, block, first, lazy=lazy)


def _first_line(block: Block) -> tuple[Block, Block]:
    """The first line with something on it, and what comes after it."""
    start, number = 0, block.line
    while start < len(block.data):
        end = block.data.index(b"\n", start) + 1
        line = Block(block.data[start:end], number)
        start, number = end, number + 1
        if not _blank(line.data):
            return line, Block(block.data[start:], number)
    return Block(b"", number), Block(b"", number)


def _rows(path: FilePath, block: Block, first: Stretch, *, lazy: bool) -> Stretch:
    width, data = len(first.columns), block.data
    numbers: Sequence[int] = range(block.line, block.line + data.count(b"\n"))
    if not _even(data, width):
        lines = [*zip(numbers, data.split(b"\n")[:-1], strict=True)]
        lines = [(number, line) for number, line in lines if not _blank(line)]
        for number, line in lines:
            check_width(line.count(b"\t") + 1, f"{path}:{number}", first)
        numbers = [number for number, _ in lines]
        data = b"".join(line + b"\n" for _, line in lines)
    return _stretch(path, data, numbers, width, lazy=lazy)


def _stretch(
    path: FilePath, data: bytes, numbers: Sequence[int], width: int, *, lazy: bool
) -> Stretch:
    """Lines that all have as many cells, by column."""
    marks = np.frombuffer(data, np.uint8)
    ends = _ends(marks)
    starts = np.concatenate([np.zeros(1, np.int64), ends + 1])[:-1]
    columns = [
        Cells(marks, np.ascontiguousarray(starts[at::width]), np.ascontiguousarray(ends[at::width]))
        for at in range(width)
    ]
    return Stretch(columns if lazy else [[*cells] for cells in columns], f"{path}:", numbers)


def _ends(marks: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Where cells end."""
    return np.flatnonzero((marks == _TAB) | (marks == _NEWLINE))


def _even(data: bytes, width: int) -> bool:
    """Whether every line has as many cells."""
    marks = np.frombuffer(data, np.uint8)
    marks = marks[_ends(marks)]
    line = np.array([_TAB] * (width - 1) + [_NEWLINE], np.uint8)
    return len(marks) % width == 0 and bool((marks.reshape(-1, width) == line).all())


def _blank(line: bytes) -> bool:
    """Whether a line has nothing on it; one of TABs only has empty cells and is an error."""
    return not line.strip(b" \r\n")


def check_width(width: int, where: str, first: Stretch) -> None:
    """Refuse a row that is not as wide as the first."""
    if width != len(first.columns):
        count = "1 column" if width == 1 else f"{width} columns"
        raise WhenceError(
            f"{where}: {count}, expected {len(first.columns)} as on line {first.numbers[0]}"
        )
