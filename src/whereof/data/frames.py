"""Read Parquet files, frames of pandas, polars and Arrow, and dicts of columns."""

import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from whereof.data import columns
from whereof.data.columns import ColumnLayout, FactTable, Part
from whereof.data.options import ReadOptions
from whereof.data.text import open_bytes
from whereof.errors import WhereofError
from whereof.settings import shown


def read_parquet(path: Path, options: ReadOptions) -> FactTable:
    """The facts of a Parquet file."""
    with _open_parquet(path) as source:
        names = source.schema_arrow.names
        layout = columns.choose_layout(names, str(path), options, named=True)
        used = [*layout.places.values()]
        # Parquet finds columns by name, and reads a dot in a name as a nested field.
        clear = len({name.partition(".")[0] for name in names}) == len(names)
        table = source.read([names[at] for at in used]) if clear else source.read().select(used)
    return _fact_table(
        dict(zip(layout.places, table.columns, strict=True)), layout, f"{path}: row "
    )


def parquet_names(path: Path) -> list[str]:
    """The names of the columns of a Parquet file."""
    with _open_parquet(path) as source:
        return [*source.schema_arrow.names]


@contextmanager
def _open_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file for reading; errors become one-line messages."""
    from pyarrow import parquet

    with open_bytes(path) as file:
        # Parquet needs random access.
        direct = file.seekable() and not isinstance(file, gzip.GzipFile)
        try:
            yield parquet.ParquetFile(file if direct else pa.BufferReader(file.read()))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = str(error).partition("\n")[0]
            raise WhereofError(f"{path}: cannot be read as Parquet: {reason}") from None


def read_frame(
    frame: Any, options: ReadOptions, where: str = "table", row: str = "row"
) -> FactTable:
    """The facts of a frame or of a dict of columns; whole numbers become text.

    where, row: what messages call the frame and its rows.
    """
    options.refuse(("format", "header"), f"a {where} has neither a format nor a header line")
    lazy = not hasattr(frame, "__len__")
    if lazy or not (isinstance(frame, Mapping) or hasattr(frame, "columns")):
        raise WhereofError(
            f"cannot read facts from {type(frame).__name__}; give a path, a catalogue name, "
            "a table of pandas, polars or Arrow, a dict of columns, or a NetworkX or rdflib graph"
        )
    names = [*map(str, column_names(frame))]
    layout = columns.choose_layout(names, where, options, named=True)
    table = {role: column_at(frame, at) for role, at in layout.places.items()}
    for role, column in table.items():
        sliced = hasattr(column, "__getitem__") and getattr(column, "ndim", 1) == 1
        if not sliced or isinstance(column, (str, bytes, Mapping)):
            raise WhereofError(
                f"{where}: column {names[layout.places[role]]!r} is {shown(column)}; "
                "give a list or an array of cells"
            )
    lengths = [len(column) for column in table.values()]
    if len(set(lengths)) > 1:
        raise WhereofError(f"{where}: the columns have {lengths} rows; make them equal")
    return _fact_table(table, layout, f"{where}: {row} ")


def column_names(frame: Any) -> list[Any]:
    """The names of the columns of a frame or a dict."""
    return list(getattr(frame, "column_names", None) or getattr(frame, "columns", frame))


def column_at(frame: Any, at: int) -> Any:
    """A column of a frame or a dict; by position if two columns may have one name."""
    if hasattr(frame, "column_names"):
        return frame.column(at)
    return frame.iloc[:, at] if hasattr(frame, "iloc") else frame[column_names(frame)[at]]


def cells_of(column: Any) -> list[Any]:
    """The cells of a column, as Python objects."""
    methods = (getattr(column, name, None) for name in ("to_pylist", "to_list", "tolist"))
    convert = next(filter(None, methods), None)
    return list(convert() if convert else column)


def _fact_table(table: Mapping[str, Any], layout: ColumnLayout, place: str) -> FactTable:
    """The facts in columns by role; `place` is what messages say before the number of a row."""
    converted = {role: _convert(column, columns.type_of(role)) for role, column in table.items()}
    whole = not any(column is None for column in converted.values())
    part = columns.checked(converted) if whole else None
    return columns.gather([part or _read_slowly(table, layout, place)], layout)


def _convert(column: Any, kind: Any) -> Any:
    """A column as an Arrow array of text or numbers; None if its cells must be read one by one."""
    try:
        array = column.to_arrow() if hasattr(column, "to_arrow") else column
        if not isinstance(array, pa.ChunkedArray):
            array = pa.chunked_array([pa.array(array)])
        found = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        texts = (pa.string(), pa.large_string(), pa.string_view())
        if kind == pa.string() and not (found in texts or pa.types.is_integer(found)):
            return None
        array = array.cast(kind)
        array.validate(full=True)  # names that are not UTF-8
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None
    return None if array.null_count else array


def _read_slowly(table: Mapping[str, Any], layout: ColumnLayout, place: str) -> Part:
    """Read cell by cell: columns of several types, and faults, whose row an error names."""
    part: dict[str, list[Any]] = {}
    for role, column in table.items():
        try:
            rows = [*enumerate(cells_of(column), 1)]
        except UnicodeDecodeError:
            fault = f"a {role} is not UTF-8; save the table with text in UTF-8"
            raise WhereofError(f"{place.removesuffix('row ')}{fault}") from None
        # Missing cells first: they turn the whole numbers of a pandas column into fractions.
        rows.sort(key=lambda numbered: not columns.is_missing(numbered[1]))
        cells = [layout.read(role, cell, f"{place}{row}") for row, cell in rows]
        part[role] = [columns.as_array(role, cells)]
    return part
