"""Read Parquet files, frames of pandas, polars and Arrow, and dicts of columns."""

import gzip
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Number
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whereof.data.columns import FactTable, Part, as_arrow, gather
from whereof.data.layout import ColumnLayout, choose_layout, shown
from whereof.data.options import ReadOptions
from whereof.data.text import FilePath, open_bytes, to_rating
from whereof.errors import WhereofError

_N_ROWS: Final = 1 << 20
_MISSING: Final = ("NoneType", "NAType", "NaTType")


def read_parquet(path: FilePath, options: ReadOptions) -> FactTable:
    """The facts of a Parquet file."""
    from pyarrow import parquet

    with _seekable(path) as file:
        try:
            source = parquet.ParquetFile(file)
            names = source.schema_arrow.names
            layout = choose_layout(names, str(path), options, named=True)
            batches = _batches(source, names, [*layout.places.values()])
            return gather(_arrow_parts(batches, layout, f"{path}: row "), layout)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = str(error).partition("\n")[0]
            raise WhereofError(f"{path}: cannot be read as Parquet: {reason}") from None


def read_frame(frame: Any, options: ReadOptions) -> FactTable:
    """The facts of a frame or of a dict of columns; whole numbers become text."""
    options.refuse(("format", "header"), "a table has no format and no header line to choose")
    if hasattr(frame, "column_names"):  # of Arrow
        layout = choose_layout(frame.schema.names, "table", options, named=True)
        batches = frame.to_batches() if hasattr(frame, "to_batches") else [frame]
        chosen = (batch.select([*layout.places.values()]) for batch in batches)
        return gather(_arrow_parts(chosen, layout, "table: row "), layout)
    names = _column_names(frame)
    layout = choose_layout([str(name) for name in names], "table", options, named=True)
    columns = {role: _column(frame, names, at) for role, at in layout.places.items()}
    lengths = [len(column) for column in columns.values()]
    if len(set(lengths)) > 1:
        raise WhereofError(f"table: the columns have {lengths} rows; make them equal")
    part = {role: [_encode(columns[role], layout, role)] for role in layout.texts}
    if "rating" in columns:
        part["rating"] = [_ratings(_values(columns["rating"]), layout, "table: row ", 1)]
    return gather([part], layout)


@contextmanager
def _seekable(path: FilePath) -> Iterator[IO[bytes]]:
    """A file with random access, which Parquet needs: a copy if it is gzipped."""
    with open_bytes(path) as file:
        if file.seekable() and not isinstance(file, gzip.GzipFile):
            yield file
            return
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(file, copy)
            yield copy


def _batches(source: Any, names: Sequence[str], used: list[int]) -> Iterable[Any]:
    """Batches of the used columns; of all columns if a name is ambiguous."""
    # Parquet finds columns by name, and reads a dot in a name as a nested field.
    if len({name.partition(".")[0] for name in names}) == len(names):
        batches: Iterable[Any] = source.iter_batches(_N_ROWS, columns=[names[at] for at in used])
        return batches
    return (batch.select(used) for batch in source.iter_batches(_N_ROWS))


def _arrow_parts(batches: Iterable[Any], layout: ColumnLayout, place: str) -> Iterator[Part]:
    """Batches of the used columns, in the order of the layout."""
    row = 1
    for batch in batches:
        part: dict[str, list[Any]] = {}
        for role, array in zip(layout.places, batch.columns, strict=True):
            if role == "rating":
                cells = array.to_numpy(zero_copy_only=False).tolist()
                part[role] = [_ratings(cells, layout, place, row)]
            else:
                part[role] = [_encode_arrow(array, layout, role, place, row)]
        yield part
        row += batch.num_rows


def _encode_arrow(array: Any, layout: ColumnLayout, role: str, place: str, row: int) -> Any:
    """A column of an Arrow batch; `row` is the number of its first row."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()  # a null may be among its values
    if array.null_count:
        raise layout.empty(f"{place}{row + array.is_null().to_pylist().index(True)}", role)
    if not _is_text(array.type):
        raise WhereofError(
            f"{place}{row}: column {layout.names[role]} holds {array.type}, neither text nor "
            "whole numbers; convert it first"
        )
    array = array.cast("string")
    blank = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(array)), 0)
    if pc.any(blank).as_py():
        raise layout.empty(f"{place}{row + blank.to_pylist().index(True)}", role)
    return array


def _is_text(kind: Any) -> bool:
    types = pa.types
    fits = (types.is_string, types.is_large_string, types.is_string_view, types.is_integer)
    return any(fit(kind) for fit in fits)


def _column_names(frame: Any) -> list[Any]:
    if isinstance(frame, Mapping):
        return list(frame)
    # A lazy frame has columns but no length.
    if hasattr(frame, "__len__") and hasattr(frame, "columns"):
        return list(frame.columns)
    raise WhereofError(
        f"cannot read facts from {type(frame).__name__}; give a path, a catalogue name, "
        "a table of pandas, polars or Arrow, or a dict of columns"
    )


def _column(frame: Any, names: Sequence[Any], at: int) -> Any:
    # By position in pandas, where two columns may have one name.
    column = frame.iloc[:, at] if hasattr(frame, "iloc") else frame[names[at]]
    sliced = hasattr(column, "__len__") and hasattr(column, "__getitem__")
    if not sliced or isinstance(column, (str, bytes, Mapping)) or getattr(column, "ndim", 1) != 1:
        raise WhereofError(
            f"table: column {str(names[at])!r} is {shown(column)}; give a list or an array of cells"
        )
    return column


def _values(column: Any) -> list[Any]:
    """The cells of a column, as Python objects."""
    convert = getattr(column, "to_list", None) or getattr(column, "tolist", None)
    return list(convert() if convert else column)


def _encode(column: Any, layout: ColumnLayout, role: str) -> Any:
    """Encode a column of a frame: with Arrow if all cells have one type, else cell by cell."""
    try:
        array = column.to_arrow() if hasattr(column, "to_arrow") else pa.array(column)
    except (pa.ArrowException, OverflowError, TypeError, ValueError, UnicodeEncodeError):
        array = None
    if array is not None and not array.null_count and _is_text(array.type):
        array = array.combine_chunks() if hasattr(array, "combine_chunks") else array
        return _encode_arrow(array, layout, role, "table: row ", 1)
    cells = _values(column)
    for row, cell in enumerate(cells, 1):
        if _is_missing(cell):
            raise layout.empty(f"table: row {row}", role)
    for row, cell in enumerate(cells, 1):
        if not _is_name(cell):
            raise WhereofError(
                f"table: row {row}: column {layout.names[role]} has {shown(cell)}, which is "
                "neither text nor a whole number; correct it or leave the row out"
            )
    return as_arrow([*map(str, cells)])


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, str):
        return not cell.strip()
    return type(cell).__name__ in _MISSING or (isinstance(cell, Number) and bool(cell != cell))


def _is_name(cell: Any) -> bool:
    if isinstance(cell, str):
        return not any("\ud800" <= letter <= "\udfff" for letter in cell)
    return isinstance(cell, int | np.integer) and not isinstance(cell, bool)


def _ratings(cells: list[Any], layout: ColumnLayout, place: str, row: int) -> Any:
    """(n_cells,) float32; `row` is the number of the first one."""
    try:
        with np.errstate(over="ignore"):
            ratings = np.array(cells, np.float64).astype(np.float32)
    except (TypeError, ValueError, OverflowError):
        ratings = np.zeros(0, np.float32)
    if ratings.shape == (len(cells),) and np.isfinite(ratings).all():
        return ratings
    numbers = [to_rating(cell) for cell in cells]
    if None in numbers:
        at = numbers.index(None)
        raise layout.bad_rating(f"{place}{row + at}", cells[at])
    return np.array(numbers, np.float32)
