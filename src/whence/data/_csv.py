"""Rows of comma-separated text, with cells in quotes where they need them."""

import csv
from collections.abc import Iterator
from itertools import islice

from whence.data._gathering import Stretch
from whence.data._streams import FilePath, read_lines
from whence.data._tsv import check_width
from whence.errors import WhenceError

_N_ROWS = 100_000


def read_csv(path: FilePath) -> Iterator[Stretch]:
    """The rows of a file; the first stretch is one row, which the others must be as wide as."""
    rows = _rows(path)
    head = next(rows, None)
    if head is None:
        return
    first = Stretch([[cell] for cell in head[1]], f"{path}:", [head[0]])
    yield first
    while some := list(islice(rows, _N_ROWS)):
        for number, cells in some:
            check_width(len(cells), f"{path}:{number}", first)
        numbers = [number for number, _ in some]
        yield Stretch([*zip(*(cells for _, cells in some), strict=True)], f"{path}:", numbers)


def _rows(path: FilePath) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, with the number of its first line."""
    reader = csv.reader(read_lines(path), strict=True)
    number = 1
    try:
        for cells in reader:
            if len(cells) > 1 or "".join(cells).strip():
                yield number, cells
            number = reader.line_num + 1
    except csv.Error as error:
        raise WhenceError(
            f"{path}:{number}: {error}; expected comma-separated text with whole quotes"
        ) from None
