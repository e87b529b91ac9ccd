"""Parquet files and Arrow tables."""

import gzip
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, Final

from whereof._extras import need
from whereof.data._columns import Column, FactTable
from whereof.data._gathering import Stretch, gather
from whereof.data._layout import Layout, choose_layout
from whereof.data._options import ReadOptions
from whereof.data._streams import FilePath, open_bytes
from whereof.errors import WhereofError

_N_ROWS: Final = 1 << 20


def read_parquet(path: FilePath, options: ReadOptions) -> FactTable:
    """The facts of a Parquet file."""
    arrow = need("pyarrow", "parquet", "reading Parquet")
    parquet = need("pyarrow.parquet", "parquet", "reading Parquet")
    with _seekable(path) as file:
        try:
            source = parquet.ParquetFile(file)
            names = source.schema_arrow.names
            layout = choose_layout(names, str(path), options, named=True)
            batches = _batches(source, names, layout.used)
            return gather(_stretches(batches, layout, f"{path}: row "), layout)
        except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = str(error).partition("\n")[0]
            raise WhereofError(f"{path}: cannot be read as Parquet: {reason}") from None


def read_arrow(table: Any, options: ReadOptions) -> FactTable:
    """The facts of an Arrow table, or of one of its batches."""
    layout = choose_layout(table.schema.names, "table", options, named=True)
    batches = table.to_batches() if hasattr(table, "to_batches") else [table]
    chosen = (batch.select(list(layout.used)) for batch in batches)
    return gather(_stretches(chosen, layout, "table: row "), layout)


@contextmanager
def _seekable(path: FilePath) -> Iterator[IO[bytes]]:
    """A file that can be read from its end, as Parquet is: a copy, of one that is packed."""
    with open_bytes(path) as file:
        if file.seekable() and not isinstance(file, gzip.GzipFile):
            yield file
            return
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(file, copy)
            yield copy


def _batches(source: Any, names: Sequence[str], used: Sequence[int]) -> Iterable[Any]:
    """Batches of the used columns; all are read where one's name may stand for others too."""
    # Parquet finds columns by name, and takes a point in one for a nested field.
    if len({name.partition(".")[0] for name in names}) == len(names):
        batches: Iterable[Any] = source.iter_batches(_N_ROWS, columns=[names[at] for at in used])
        return batches
    return (batch.select(list(used)) for batch in source.iter_batches(_N_ROWS))


def _stretches(batches: Iterable[Any], layout: Layout, place: str) -> Iterator[Stretch]:
    """Batches of the used columns alone, in the layout's order."""
    start = 1
    for batch in batches:
        numbers = range(start, start + batch.num_rows)
        cells: list[Any] = [None] * len(layout.names)
        for at, array in zip(layout.used, batch.columns, strict=True):
            if at == layout.rating:
                cells[at] = array.to_numpy(zero_copy_only=False).tolist()
            else:
                cells[at] = _column(array, place, numbers, layout.names[at])
        yield Stretch(cells, place, numbers)
        start = numbers.stop


def _column(array: Any, place: str, numbers: range, name: str) -> Column:
    types = need("pyarrow.types", "parquet", "reading Arrow")
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()  # a null may stand among its values
    if array.null_count:
        row = array.is_null().to_pylist().index(True)
        raise WhereofError(
            f"{place}{numbers[row]}: column {name} is empty; correct it or leave the row out"
        )
    texts = (types.is_string, types.is_large_string, types.is_string_view, types.is_integer)
    if not any(fits(array.type) for fits in texts):
        raise WhereofError(
            f"{place}{numbers[0]}: column {name} holds {array.type}, neither text nor "
            "whole numbers; convert it first"
        )
    encoded = array.cast("string").dictionary_encode()
    return Column(encoded.indices.to_numpy(), encoded.dictionary.to_pylist())
