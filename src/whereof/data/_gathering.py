"""From stretches of rows to a table of facts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from whereof.data._columns import Cells, Column, Encoder, FactTable
from whereof.data._layout import Layout
from whereof.errors import WhereofError

_SHOWN: Final = 60


@dataclass(frozen=True)
class Stretch:
    """Some rows of a table, by column."""

    columns: Sequence[Any]
    """Each a list of cells or a Column; None for one that is not asked for."""
    place: str
    """What to put before a row's number to say where it is, such as `facts.tsv:`."""
    numbers: Sequence[int]
    """Of the rows, or of their lines."""

    def where(self, row: int) -> str:
        return f"{self.place}{self.numbers[row]}"


def gather(stretches: Iterable[Stretch], layout: Layout) -> FactTable:
    """The table of facts in these rows; an empty name or a rating that is none is refused."""
    encoders: dict[int, Any] = {}
    codes = {at: [np.zeros(0, np.int32)] for at in layout.texts}
    ratings = [np.zeros(0, np.float32)]
    for stretch in stretches:
        encoders = encoders or _encoders(layout, stretch)
        for at, encoder in encoders.items():
            n_before = len(encoder)
            codes[at].append(encoder.encode(stretch.columns[at]))
            if not all(map(str.strip, encoder.newest(len(encoder) - n_before))):
                raise _empty_cell(stretch, layout)
        if layout.rating is not None:
            ratings.append(_numbers(stretch, stretch.columns[layout.rating]))
    names = {encoder: encoder.names() for encoder in encoders.values()}
    columns = {
        at: Column(np.concatenate(codes[at]), names[encoders[at]] if encoders else [])
        for at in layout.texts
    }
    return FactTable(
        columns=tuple(columns[at] for at in layout.columns),
        ratings=np.concatenate(ratings) if layout.rating is not None else None,
        sources=columns[layout.source] if layout.source is not None else None,
        read_as=layout.read_as,
    )


def _encoders(layout: Layout, stretch: Stretch) -> dict[int, Any]:
    """One for each column of names; the entities of three-way facts share theirs."""
    make: Callable[[], Any] = Encoder
    if isinstance(stretch.columns[layout.columns[0]], Cells):
        from whereof.data._encoding import ByteEncoder  # numba, which small files do without

        make = ByteEncoder
    encoders = {at: make() for at in layout.texts}
    if len(layout.columns) == 3:
        encoders[layout.columns[2]] = encoders[layout.columns[0]]
    return encoders


def _empty_cell(stretch: Stretch, layout: Layout) -> WhereofError:
    """The error of the first row with an empty cell where one is needed."""
    row, at = min(
        (row, at)
        for at in layout.texts
        for row, cell in enumerate(stretch.columns[at])
        if not cell.strip()
    )
    return WhereofError(
        f"{stretch.where(row)}: column {layout.names[at]} is empty; correct it or leave the row out"
    )


def _numbers(stretch: Stretch, cells: Sequence[Any]) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):
            ratings = np.array(list(cells), np.float64).astype(np.float32)
    except (TypeError, ValueError, OverflowError):
        ratings = np.zeros(0, np.float32)
    if ratings.shape != (len(cells),):
        ratings = np.array([_number(cell) for cell in cells], np.float32)
    wrong = np.flatnonzero(~np.isfinite(ratings))
    if len(wrong):
        row = int(wrong[0])
        raise WhereofError(
            f"{stretch.where(row)}: rating {shown(cells[row])} is not a finite number; "
            "correct it or leave the row out"
        )
    return ratings


def shown(cell: Any) -> str:
    """A cell in a message: on one line, and not for ever."""
    text = " ".join(repr(cell).split("\n"))
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def is_number(cell: Any) -> bool:
    """Whether a cell can be a rating."""
    return bool(np.isfinite(_number(cell)))


def _number(cell: Any) -> float:
    """NaN for what is none."""
    try:
        return float(np.float32(cell)) if np.ndim(cell) == 0 else float("nan")
    except (TypeError, ValueError, OverflowError):
        return float("nan")
