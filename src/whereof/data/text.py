"""Text files: rows separated by TAB or comma, plain or gzipped, read with several threads.

A file is read in blocks of whole lines, and Arrow parses and encodes each block in parallel. A
block that Arrow cannot read, or that contains a fault, is read again row by row: that finds the
line of the fault.
"""

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whereof.data.columns import FactTable, Part, as_arrow, as_numpy, gather
from whereof.data.layout import EXPECTED, ColumnLayout, choose_layout
from whereof.data.options import ReadOptions
from whereof.errors import WhereofError

FilePath: TypeAlias = Path | Traversable
"""Where a file is: on disk, or in an installed package."""

BLOCK: Final = 1 << 26
"""The bytes that are read at a time."""
_PARALLEL: Final = 1 << 22
"""The bytes that one thread parses at a time."""
_LONGEST_LINE: Final = 1 << 20
_LONGEST_CELL: Final = 1 << 25
_BOM: Final = b"\xef\xbb\xbf"
_GZIP: Final = b"\x1f\x8b"


@contextmanager
def open_bytes(path: FilePath) -> Iterator[IO[bytes]]:
    """Open a file for reading and unpack gzip; errors become one-line messages."""
    try:
        with path.open("rb") as file:
            start: bytes = cast(Any, file).peek(len(_GZIP))  # a pipe cannot be rewound
            packed = start.startswith(_GZIP)
            if start and not packed and path.name.endswith(".gz"):
                raise WhereofError(f"{path}: not a gzip file; drop .gz from its name if it is text")
            yield cast(IO[bytes], gzip.GzipFile(fileobj=file) if packed else file)
    except FileNotFoundError:
        raise WhereofError(f"{path}: no such file; check the path") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise WhereofError(
            f"{path}: truncated or damaged gzip data ({error}); fetch the file again"
        ) from None
    except OSError as error:
        # Not IsADirectoryError: Windows reports a lack of permission.
        if path.is_dir():
            raise WhereofError(f"{path}: a folder, expected a file; name a file in it") from None
        raise WhereofError(f"{path}: cannot be read: {error.strerror or error}") from None


@dataclass(frozen=True)
class _Lines:
    """Whole lines of UTF-8 text, each ending in a newline."""

    data: bytes
    line: int
    """The number of the first line."""

    def lines(self) -> Iterator[str]:
        return io.TextIOWrapper(io.BytesIO(self.data), encoding="utf-8", newline="\n")

    def below(self, line: int) -> "_Lines":
        """The block from this line on."""
        start = 0
        for _ in range(self.line, line):
            start = self.data.index(b"\n", start) + 1
        return _Lines(self.data[start:], line)


class Row(NamedTuple):
    """One row of a text file."""

    line: int
    """The number of its first line."""
    cells: list[str]
    stop: int
    """The number of the line below it: a quoted cell may contain newlines."""


def read_lines(path: FilePath) -> Iterator[str]:
    """The lines of a text file, each with its newline."""
    for block in _read_blocks(path):
        yield from block.lines()


def read_rows(path: FilePath, *, comma: bool) -> Iterator[Row]:
    """The rows of a text file that are not blank."""
    for block in _blocks(path, comma):
        yield from _rows(path, block, comma)


def read_text(path: FilePath, options: ReadOptions, *, comma: bool) -> FactTable:
    """The facts of a text file."""
    blocks = _blocks(path, comma)
    first, block = _first_row(path, blocks, comma)
    where = f"{path}:{first.line}"
    layout = choose_layout(first.cells, where, options)
    if options.header is None and not layout.header and "rating" in layout.places:
        cell = first.cells[layout.places["rating"]]
        if to_rating(cell) is None:
            # Most likely the name of the column.
            raise WhereofError(
                f"{where}: rating {cell!r} is not a finite number; correct it, "
                f"or say --header if line {first.line} names the columns"
            )
    if layout.header:
        block = block.below(first.stop)
    parts = (
        _read_in_parallel(block.data, layout, len(first.cells), comma)
        or _read_slowly(path, _rows(path, block, comma), layout, first)
        for block in chain([block], blocks)
    )
    table = gather(parts, layout)
    if not len(table):
        raise WhereofError(f"{path}: no facts below the header; add some")
    notes = (f"line {first.line} {layout.note}",) if layout.note else ()
    return replace(table, notes=notes)


def to_rating(cell: Any) -> float | None:
    """A rating as a number; None if it is not a number, or not finite in single precision."""
    try:
        with np.errstate(over="ignore"):
            value = float(np.float32(cell)) if np.ndim(cell) == 0 else math.nan
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _read_blocks(path: FilePath) -> Iterator[_Lines]:
    """The checked text of a file, without Windows line ends and byte order mark."""
    line = 1
    with open_bytes(path) as file:
        data = file.read(BLOCK).removeprefix(_BOM)
        while data:
            data += file.readline(_LONGEST_LINE + 1)
            data = data if data.endswith(b"\n") else data + b"\n"
            _check(path, data, line)
            n_lines = data.count(b"\n")
            yield _Lines(data.replace(b"\r\n", b"\n") if b"\r" in data else data, line)
            line += n_lines
            data = file.read(BLOCK)


def _check(path: FilePath, data: bytes, line: int) -> None:
    """Raise an error for binary data, very long lines, and text that is not UTF-8."""
    if (at := data.find(b"\0")) >= 0:
        raise WhereofError(
            f"{path}:{_line_at(at, data, line)}: a NUL byte: this is binary data; "
            "expected UTF-8 text"
        )
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + _LONGEST_LINE) + 1
        if not end:
            raise WhereofError(
                f"{path}:{_line_at(start, data, line)}: a line of more than "
                f"{_LONGEST_LINE >> 20} MiB; expected one fact on each line"
            )
        start = end
    bounds = pa.py_buffer(np.array([0, len(data)], np.int64))
    text = pa.Array.from_buffers(pa.large_string(), 1, [None, bounds, pa.py_buffer(data)])
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        try:
            data.decode()  # says where
        except UnicodeDecodeError as error:
            raise WhereofError(
                f"{path}:{_line_at(error.start, data, line)}: not UTF-8 "
                f"(byte {data[error.start]:#04x}); save the file as UTF-8"
            ) from None


def _line_at(at: int, data: bytes, line: int) -> int:
    return line + data.count(b"\n", 0, at)


def _blocks(path: FilePath, comma: bool) -> Iterator[_Lines]:
    """Blocks of whole rows: one that ends within quotes is joined with the next.

    A block that grows too large is passed on, so that its error is found.
    """
    rest: _Lines | None = None
    for block in _read_blocks(path):
        whole = _Lines(rest.data + block.data, rest.line) if rest else block
        odd = comma and whole.data.count(b'"') % 2 and len(whole.data) < BLOCK + _LONGEST_CELL
        rest = whole if odd else None
        if rest is None:
            yield whole
    if rest is not None:
        yield rest


def _first_row(path: FilePath, blocks: Iterable[_Lines], comma: bool) -> tuple[Row, _Lines]:
    """The first row of a file that is not blank, and its block."""
    for block in blocks:
        for row in _rows(path, block, comma):
            return row, block
    raise WhereofError(f"{path}: an empty file; expected lines of {EXPECTED}")


def _rows(path: FilePath, block: _Lines, comma: bool) -> Iterator[Row]:
    """The rows of a block that are not blank, one by one."""
    if not comma:
        for number, line in enumerate(block.lines(), block.line):
            # A line of TABs has empty cells, which are an error.
            if line.strip(" \r\n"):
                yield Row(number, line.removesuffix("\n").split("\t"), number + 1)
        return
    reader = csv.reader(block.lines(), strict=True)
    number = block.line
    try:
        for cells in reader:
            stop = block.line + reader.line_num
            if len(cells) > 1 or "".join(cells).strip():
                yield Row(number, cells, stop)
            number = stop
    except csv.Error as error:
        lone = "new-line character" in str(error)
        reason = "a carriage return alone, outside of quotes" if lone else error
        raise WhereofError(
            f"{path}:{number}: {reason}; expected comma-separated text with balanced quotes"
        ) from None


def _read_in_parallel(data: bytes, layout: ColumnLayout, width: int, comma: bool) -> Part | None:
    """The used columns of a block; None if it must be read row by row."""
    from pyarrow import csv as arrow_csv

    quoted = comma and b'"' in data
    if not data or b"\r" in data or (quoted and not _is_well_quoted(data)):
        return None
    names = [*map(str, range(width))]
    types = {names[at]: pa.string() for at in layout.texts.values()}
    if (rating := layout.places.get("rating")) is not None:
        types[names[rating]] = pa.float64()
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            arrow_csv.ReadOptions(column_names=names, block_size=_PARALLEL),
            arrow_csv.ParseOptions(
                delimiter="," if comma else "\t",
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
            ),
            arrow_csv.ConvertOptions(
                check_utf8=False, include_columns=[*types], column_types=types, null_values=[]
            ),
            # Arrow's own allocator gives memory back and takes it again for every block.
            memory_pool=pa.system_memory_pool(),
        )
    except pa.ArrowInvalid:
        return None
    part = {role: table[names[at]].chunks for role, at in layout.texts.items()}
    if any(_has_blank(chunk) for chunks in part.values() for chunk in chunks):
        return None
    if rating is not None:
        with np.errstate(over="ignore"):
            ratings = [as_numpy(chunk, np.float64) for chunk in table[names[rating]].chunks]
            part["rating"] = [each.astype(np.float32) for each in ratings]
        if not all(np.isfinite(each).all() for each in part["rating"]):
            return None
    return part


def _has_blank(names: Any) -> bool:
    empty = len(names) and pc.min(pc.binary_length(names)).as_py() == 0
    return bool(empty or pc.any(pc.utf8_is_space(names)).as_py())


def _is_well_quoted(data: bytes) -> bool:
    """Whether every opening quote starts a cell and every closing quote ends one."""
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == ord('"'))
    # Two quotes inside a cell count as a closing and an opening quote. The last byte is a newline.
    outside = np.zeros(256, bool)
    outside[[*b',\n"']] = True
    opening, closing = text[quotes[::2] - 1], text[quotes[1::2] + 1]
    return len(opening) == len(closing) and bool(outside[opening].all() and outside[closing].all())


def _read_slowly(path: FilePath, rows: Iterable[Row], layout: ColumnLayout, first: Row) -> Part:
    """The used columns of some rows; an error names the line of the first bad row."""
    columns: dict[str, list[Any]] = {role: [] for role in layout.places}
    for row in rows:
        where, cells = f"{path}:{row.line}", row.cells
        if len(cells) != len(first.cells):
            count = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
            raise WhereofError(
                f"{where}: {count}, expected {len(first.cells)} as on line {first.line}"
            )
        for role, at in layout.texts.items():
            if not cells[at].strip():
                raise layout.empty(where, role)
            columns[role].append(cells[at])
        if "rating" in columns:
            cell = cells[layout.places["rating"]]
            rating = to_rating(cell)
            if rating is None:
                raise layout.bad_rating(where, cell)
            columns["rating"].append(rating)
    return {
        role: [cells if role == "rating" else as_arrow(cells)] for role, cells in columns.items()
    }
