"""Rows of TAB-separated text: a cell is what stands between two TABs."""

from collections.abc import Iterator

import numpy as np

from whence.data._gathering import Stretch
from whence.data._streams import Block, Place, read_blocks
from whence.errors import WhenceError

_TAB, _NEWLINE = b"\t\n"


def read_tsv(path: Place) -> Iterator[Stretch]:
    """The rows of a file; the first stretch is one row, which the others must be as wide as."""
    first: Stretch | None = None
    for block in read_blocks(path):
        if first is None:
            first, block = _first_row(path, block)
            if first is None:
                continue
            yield first
        if block.data:
            yield _rows(path, block, first)


def _first_row(path: Place, block: Block) -> tuple[Stretch | None, Block]:
    """The first line with something on it, and what comes after it."""
    start, number = 0, block.line
    while start < len(block.data):
        end = block.data.index(b"\n", start)
        line = block.data[start:end].decode()
        start, number = end + 1, number + 1
        if not _blank(line):
            first = Stretch([[cell] for cell in line.split("\t")], f"{path}:", [number - 1])
            return first, Block(block.data[start:], number)
    return None, Block(b"", number)


def _rows(path: Place, block: Block, first: Stretch) -> Stretch:
    width, text = len(first.columns), block.data.decode()
    if _even(block.data, width):
        cells = text.replace("\n", "\t").split("\t")[:-1]
        numbers = range(block.line, block.line + len(cells) // width)
        return Stretch([cells[at::width] for at in range(width)], f"{path}:", numbers)
    # Not splitlines: it would also break a name at U+0085 or U+2028.
    lines = [pair for pair in enumerate(text.split("\n"), block.line) if not _blank(pair[1])]
    for number, line in lines:
        check_width(line.count("\t") + 1, f"{path}:{number}", first)
    cells = "\t".join(line for _, line in lines).split("\t")
    columns = [cells[at::width] if lines else [] for at in range(width)]
    return Stretch(columns, f"{path}:", [number for number, _ in lines])


def _even(data: bytes, width: int) -> bool:
    """Whether every line has as many cells."""
    marks = np.frombuffer(data, np.uint8)
    marks = marks[(marks == _TAB) | (marks == _NEWLINE)]
    line = np.array([_TAB] * (width - 1) + [_NEWLINE], np.uint8)
    return len(marks) % width == 0 and bool((marks.reshape(-1, width) == line).all())


def _blank(line: str) -> bool:
    """Whether a line has nothing on it; one of TABs only has empty cells and is an error."""
    return not line.strip(" \r")


def check_width(width: int, where: str, first: Stretch) -> None:
    if width != len(first.columns):
        count = "1 column" if width == 1 else f"{width} columns"
        raise WhenceError(
            f"{where}: {count}, expected {len(first.columns)} as on line {first.numbers[0]}"
        )
