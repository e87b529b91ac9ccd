"""Columns of text that fit a width, however long the names in them are."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment, Segments
from rich.style import Style

_GAP = "  "
_LEAST = 3
"""Cells that are left of the longest name."""


@dataclass(frozen=True)
class Column:
    """One column: its title and its cells, of one line each."""

    title: str
    cells: Sequence[str]
    right: bool = False
    cut: bool = False
    """Cut cells in the middle where there is too little room."""
    styles: Sequence[str] | None = None
    """One a cell, as rich names them; an empty one is none."""


def aligned(columns: Sequence[Column], width: int) -> Segments:
    """A table in one piece: rich's own takes seconds over 10,000 rows."""
    columns = [column for column in columns if column.title or any(column.cells)]
    widths = _widths(columns, width)
    titles = _GAP.join(
        _padded(column.title, size, column.right)
        for column, size in zip(columns, widths, strict=True)
    )
    segments = []
    if titles.strip():
        segments += [Segment(titles.rstrip(), Style(bold=True)), Segment.line()]
    styles = {name: Style.parse(name) for column in columns for name in column.styles or ()}
    for row in range(max((len(column.cells) for column in columns), default=0)):
        for number, (column, size) in enumerate(zip(columns, widths, strict=True)):
            text = (_GAP if number else "") + _padded(column.cells[row], size, column.right)
            text = text.rstrip() if number == len(columns) - 1 else text
            segments.append(Segment(text, styles[column.styles[row]] if column.styles else None))
        segments.append(Segment.line())
    return Segments(segments)


def fitted(text: str, names: Sequence[str], width: int) -> str:
    """A line with names in the places of `{}`, the longest cut in the middle until it fits."""
    room = width - cell_len(text.format(*[""] * len(names)))
    sizes = shared([cell_len(name) for name in names], room)
    return text.format(*map(middle, names, sizes))


def shared(sizes: Sequence[int], room: int) -> list[int]:
    """What each gets of a room: all that it wants, or an equal part of what is left."""
    given, left = list(sizes), room
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    for position, index in enumerate(order):
        part = left // (len(order) - position)
        given[index] = min(sizes[index], max(part, _LEAST))
        left -= given[index]
    return given


def middle(text: str, width: int) -> str:
    """A text cut in the middle where it takes more than so many cells."""
    if cell_len(text) <= width:
        return text
    head = (width - 1) // 2
    tail = set_cell_size(text[::-1], width - 1 - head)[::-1]
    return f"{set_cell_size(text, head)}…{tail}"


def on_one_line(text: str) -> str:
    """A name without what would break a line or move the cursor."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    sizes = [max(map(cell_len, (column.title, *column.cells))) for column in columns]
    cut = [number for number, column in enumerate(columns) if column.cut]
    fixed = sum(size for number, size in enumerate(sizes) if number not in cut)
    room = width - fixed - len(_GAP) * (len(columns) - 1)
    for number, size in zip(cut, shared([sizes[number] for number in cut], room), strict=True):
        sizes[number] = size
    return sizes


def _padded(text: str, width: int, right: bool) -> str:
    text = middle(text, width)
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks
