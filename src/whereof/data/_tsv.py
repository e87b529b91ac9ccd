"""Rows of TAB-separated text: a cell is what stands between two TABs."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from whereof.data._columns import Cells
from whereof.data._gathering import Stretch
from whereof.data._streams import Block, FilePath, read_blocks
from whereof.errors import WhereofError

_LARGE: Final = 1 << 23


def read_tsv(path: FilePath) -> Iterator[Stretch]:
    """The rows of a file; the first stretch is one row, which the others must be as wide as."""
    first: Stretch | None = None
    for block in read_blocks(path):
        for stretch in split_rows(path, block, first, b"\t"):
            first = first or stretch
            yield stretch


def split_rows(
    path: FilePath, block: Block, first: Stretch | None, separator: bytes
) -> Iterator[Stretch]:
    """The rows of a block without quotes; the first one alone where there was none before.

    The cells of a large block are left in its bytes, which takes a compiled encoder; those of a
    small one are lists.
    """
    lazy = len(block.data) > _LARGE
    if first is None:
        line, block = _first_line(block)
        if not line.data:
            return
        width = line.data.count(separator) + 1
        first = _stretch(path, line.data, [line.line], width, separator, lazy=lazy)
        yield first
    width, data = len(first.columns), block.data
    numbers: Sequence[int] = range(block.line, block.line + data.count(b"\n"))
    if not _even(data, width, separator):
        numbers, data = _filled_lines(path, block, first, separator)
    if data:
        yield _stretch(path, data, numbers, width, separator, lazy=lazy)


def _filled_lines(
    path: FilePath, block: Block, first: Stretch, separator: bytes
) -> tuple[list[int], bytes]:
    """The lines that are not blank, and their numbers; one of another width is refused."""
    numbers, filled = [], []
    for number, line in enumerate(block.data.split(b"\n"), block.line):
        if not _blank(line):
            check_width(line.count(separator) + 1, f"{path}:{number}", first)
            numbers.append(number)
            filled.append(line + b"\n")
    return numbers, b"".join(filled)


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


def _stretch(
    path: FilePath, data: bytes, numbers: Sequence[int], width: int, separator: bytes, *, lazy: bool
) -> Stretch:
    """Lines that all have as many cells, by column."""
    marks = np.frombuffer(data, np.uint8)
    ends = _ends(marks, separator)
    starts = np.concatenate([np.zeros(1, np.int64), ends + 1])[:-1]
    columns = [
        Cells(marks, np.ascontiguousarray(starts[at::width]), np.ascontiguousarray(ends[at::width]))
        for at in range(width)
    ]
    return Stretch(columns if lazy else [[*cells] for cells in columns], f"{path}:", numbers)


def _ends(marks: NDArray[np.uint8], separator: bytes) -> NDArray[np.int64]:
    """Where cells end."""
    return np.flatnonzero((marks == separator[0]) | (marks == ord("\n")))


def _even(data: bytes, width: int, separator: bytes) -> bool:
    """Whether every line has as many cells."""
    marks = np.frombuffer(data, np.uint8)
    marks = marks[_ends(marks, separator)]
    line = np.array([separator[0]] * (width - 1) + [ord("\n")], np.uint8)
    return len(marks) % width == 0 and bool((marks.reshape(-1, width) == line).all())


def _blank(line: bytes) -> bool:
    """Whether a line has nothing on it; one of TABs only has empty cells and is an error."""
    return not line.strip(b" \r\n")


def check_width(width: int, where: str, first: Stretch) -> None:
    """Refuse a row that is not as wide as the first."""
    if width != len(first.columns):
        count = "1 column" if width == 1 else f"{width} columns"
        raise WhereofError(
            f"{where}: {count}, expected {len(first.columns)} as on line {first.numbers[0]}"
        )
