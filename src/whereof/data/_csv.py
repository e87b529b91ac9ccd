"""Rows of comma-separated text, with cells in quotes where they need them."""

import csv
from collections.abc import Iterator
from typing import Final

from whereof.data._gathering import Stretch
from whereof.data._streams import Block, FilePath, read_blocks
from whereof.data._tsv import check_width, split_rows
from whereof.errors import WhereofError

_LONGEST: Final = 1 << 25


def read_csv(path: FilePath) -> Iterator[Stretch]:
    """The rows of a file; the first stretch is one row, which the others must be as wide as."""
    first: Stretch | None = None
    for block in _whole_cells(read_blocks(path)):
        # A carriage return stands in quotes, or is refused.
        quoted = b'"' in block.data or b"\r" in block.data
        rows = _quoted_rows(path, block, first) if quoted else split_rows(path, block, first, b",")
        for stretch in rows:
            first = first or stretch
            yield stretch


def _whole_cells(blocks: Iterator[Block]) -> Iterator[Block]:
    """Blocks that end outside of quotes: with an even number of them so far.

    One that grows beyond all sense is let go as it is, for its fault to be found.
    """
    rest: Block | None = None
    for block in blocks:
        whole = Block(rest.data + block.data, rest.line) if rest else block
        rest = whole if whole.data.count(b'"') % 2 and len(whole.data) < _LONGEST else None
        if rest is None:
            yield whole
    if rest is not None:
        yield rest


def _quoted_rows(path: FilePath, block: Block, first: Stretch | None) -> Iterator[Stretch]:
    rows = [*_parse(path, block)]
    if first is None and rows:
        number, cells = rows.pop(0)
        first = Stretch([[cell] for cell in cells], f"{path}:", [number])
        yield first
    if first is None or not rows:
        return
    for number, cells in rows:
        check_width(len(cells), f"{path}:{number}", first)
    columns = [*zip(*(cells for _, cells in rows), strict=True)]
    yield Stretch(columns, f"{path}:", [number for number, _ in rows])


def _parse(path: FilePath, block: Block) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, with the number of its first line."""
    reader = csv.reader(block.lines(), strict=True)
    number = block.line
    try:
        for cells in reader:
            if len(cells) > 1 or "".join(cells).strip():
                yield number, cells
            number = block.line + reader.line_num
    except csv.Error as error:
        lone = "new-line character" in str(error)
        reason = "a carriage return alone, outside of quotes" if lone else error
        raise WhereofError(
            f"{path}:{number}: {reason}; expected comma-separated text with whole quotes"
        ) from None
