"""Tables in Python: pandas, polars and Arrow, none of which is imported, and dicts of columns."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from numbers import Number
from typing import Any, Final

import numpy as np

from whereof.data._columns import FactTable
from whereof.data._gathering import Stretch, gather, shown
from whereof.data._layout import Layout, choose_layout
from whereof.data._options import ReadOptions
from whereof.errors import WhereofError

_N_ROWS: Final = 1 << 20
_NAMES: Final = (str, int, np.integer)
_MISSING: Final = ("NoneType", "NAType", "NaTType")


def read_table(table: Any, options: ReadOptions) -> FactTable:
    """The facts in a table; whole numbers become their digits."""
    options.refuse(("format", "header"), "a table has no format and no header line to choose")
    if hasattr(table, "column_names"):
        from whereof.data._arrow import read_arrow

        return read_arrow(table, options)
    names = _column_names(table)
    layout = choose_layout([str(name) for name in names], "table", options, named=True)
    return gather(_stretches(table, names, layout), layout)


def _column_names(table: Any) -> list[Any]:
    if isinstance(table, Mapping):
        return list(table)
    # A lazy frame has columns but no length.
    if hasattr(table, "__len__") and hasattr(table, "columns"):
        return list(table.columns)
    raise WhereofError(
        f"cannot read facts from {type(table).__name__}; give a path, a catalogue name, "
        "a table of pandas, polars or Arrow, or a dict of columns"
    )


def _stretches(table: Any, names: Sequence[Any], layout: Layout) -> Iterator[Stretch]:
    columns = {at: _column(table, names, at) for at in layout.used}
    lengths = [len(column) for column in columns.values()]
    if len(set(lengths)) > 1:
        raise WhereofError(f"table: the columns have {lengths} rows; make them equal")
    for start in range(0, lengths[0], _N_ROWS):
        rows = slice(start, start + _N_ROWS)
        numbers = range(start + 1, start + 1 + _N_ROWS)
        cells: list[Any] = [None] * len(names)
        for at, column in columns.items():
            cells[at] = _values(column, rows)
        stretch = Stretch(cells, "table: row ", numbers)
        for at in layout.texts:
            cells[at] = _texts(stretch, at, layout)
        yield stretch


def _column(table: Any, names: Sequence[Any], at: int) -> Any:
    # By position in pandas, where two columns may have one name.
    column = table.iloc[:, at] if hasattr(table, "iloc") else table[names[at]]
    sliced = hasattr(column, "__len__") and hasattr(column, "__getitem__")
    if not sliced or isinstance(column, (str, bytes, Mapping)) or getattr(column, "ndim", 1) != 1:
        raise WhereofError(
            f"table: column {str(names[at])!r} is {shown(column)}; give a list or an array of cells"
        )
    return column


def _values(column: Any, rows: slice) -> list[Any]:
    """Some cells of a column, as Python has them."""
    part = column.iloc[rows] if hasattr(column, "iloc") else column[rows]
    for convert in ("to_list", "tolist"):
        if hasattr(part, convert):
            return list(getattr(part, convert)())
    return list(part)


def _texts(stretch: Stretch, at: int, layout: Layout) -> list[str]:
    cells = stretch.columns[at]
    if all(issubclass(kind, _NAMES) and kind is not bool for kind in set(map(type, cells))):
        texts = list(map(str, cells))
        with suppress(UnicodeEncodeError):
            "".join(texts).encode()
            return texts
    missing = [row for row, cell in enumerate(cells) if _is_missing(cell)]
    row = missing[0] if missing else [*map(_is_no_name, cells)].index(True)
    what = "is empty" if missing else f"has {shown(cells[row])}, no text or whole number"
    raise WhereofError(
        f"{stretch.where(row)}: column {layout.names[at]} {what}; correct it or leave the row out"
    )


def _is_missing(cell: Any) -> bool:
    is_nan = isinstance(cell, Number) and bool(cell != cell)
    return is_nan or type(cell).__name__ in _MISSING


def _is_no_name(cell: Any) -> bool:
    if isinstance(cell, str):
        return any("\ud800" <= letter <= "\udfff" for letter in cell)
    return isinstance(cell, bool) or not isinstance(cell, _NAMES)
