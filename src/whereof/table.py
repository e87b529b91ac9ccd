"""Tables as data: what is shown, and in which unit. The room `present` draws them.

`Tabular` gives a result as a table of Arrow, pandas or polars, for other programs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from whereof.errors import need
from whereof.units import show


@dataclass(frozen=True)
class Column:
    """One column of a table, or one axis of a chart."""

    name: str
    """The name for programs."""
    title: str
    """The heading for people."""
    unit: str = "text"
    """One of `whereof.units.UNITS`."""
    pair: str = ""
    """`interval` if values are (low, high), `deviation` if they are (mean, deviation)."""


@dataclass(frozen=True)
class Cell:
    """A value with its own unit, colour or text."""

    value: Any
    unit: str | None = None
    """None: the column's unit."""
    mark: str = ""
    """Text after the value, such as `***`."""
    tone: str = ""
    """`supports`, `opposes`, `changed` or `faint`; terminal and page choose the colour."""
    link: str = ""
    """The address that the value leads to on a page."""


@dataclass(frozen=True)
class Table:
    """Rows under columns; None is a value that is not known."""

    name: str
    """The name of the table in files and links."""
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    """Values, or a `Cell` where one differs from its column."""
    note: str = ""
    """What the numbers mean, below the table."""
    most: int | None = None
    """The number of rows that are shown; the rest is counted."""

    @classmethod
    def by_columns(
        cls, name: str, title: str, columns: Iterable[tuple[Column, Sequence[Any]]], **more: Any
    ) -> "Table":
        """A table from the values of every column, without columns that are all None."""
        kept = [each for each in columns if any(value is not None for value in each[1])]
        rows = list(zip(*(values for _, values in kept), strict=True))
        return cls(name, title, [column for column, _ in kept], rows, **more)


def cell_text(value: Any, column: Column) -> str:
    """The text of a cell, by its own unit or that of its column."""
    cell = value if isinstance(value, Cell) else Cell(value)
    return show(cell.value, cell.unit or column.unit, column.pair) + cell.mark


class Tabular:
    """A result that is also a table for other programs. Subclasses write `to_arrow`."""

    def to_arrow(self) -> Any:
        """An Arrow table."""
        raise NotImplementedError

    def to_pandas(self, *part: str) -> Any:
        """The same as a pandas table; `part` is what `to_arrow` takes, if it takes anything."""
        need("pandas", "pandas", "a table of pandas")
        return self.to_arrow(*part).to_pandas()

    def to_polars(self, *part: str) -> Any:
        """The same as a polars table; `part` is what `to_arrow` takes, if it takes anything."""
        polars = need("polars", "polars", "a table of polars")
        return polars.from_arrow(self.to_arrow(*part))


def arrow_schema(types: Mapping[str, Any]) -> Any:
    """The Arrow schema of columns with these types, such as `float | None`."""
    import pyarrow as pa

    known = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    known[tuple[int, ...]] = pa.list_(pa.int64())
    kinds = {name: get_args(kind | None)[0] for name, kind in types.items()}
    return pa.schema((name, known[kind]) for name, kind in kinds.items())


def arrow_table(schema: Any, rows: Iterable[Iterable[Any]]) -> Any:
    """An Arrow table of rows."""
    import pyarrow as pa

    columns = [*zip(*rows, strict=True)] or [()] * len(schema)
    arrays = [*map(pa.array, columns, schema.types)]
    return pa.Table.from_arrays(arrays, schema=schema)


def table_from(records: Sequence[Mapping[str, Any]]) -> Any:
    """An Arrow table of records of JSON values; a column of numbers and words becomes text."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for name in records[0]:
        values = [record[name] for record in records]
        if len({isinstance(value, str) for value in values if value is not None}) > 1:
            values = [None if value is None else str(value) for value in values]
        columns[name] = pa.array(values)
    return pa.table(columns)
