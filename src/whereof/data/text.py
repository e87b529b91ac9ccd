"""Text files: rows separated by TAB or comma, plain or gzipped, read with several threads.

A file is read in blocks of whole lines, and Arrow parses and encodes each block in parallel. A
block that Arrow cannot read, or that contains a fault, is read again row by row: that finds the
line of the fault.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

import numpy as np
import pyarrow as pa

from whereof.data import columns
from whereof.data.columns import ColumnLayout, FactTable, Part
from whereof.data.options import ReadOptions
from whereof.errors import WhereofError
from whereof.settings import check_path
from whereof.units import count

BLOCK: Final = 1 << 24
"""The bytes that are read at a time."""
_PARALLEL: Final = 1 << 21
"""The bytes that one thread parses at a time."""
_LONGEST_LINE: Final = 1 << 20
_LONGEST_CELL: Final = 1 << 25
_BOM: Final = b"\xef\xbb\xbf"
_GZIP: Final = b"\x1f\x8b"


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading and unpack gzip; errors become one-line messages."""
    check_path(path)
    try:
        with path.open("rb") as file:
            start: bytes = cast(Any, file).peek(len(_GZIP))  # a pipe cannot be rewound
            packed = start.startswith(_GZIP)
            if start and not packed and path.name.endswith(".gz"):
                raise WhereofError(f"{path}: not a gzip file; drop .gz from its name if it is text")
            yield cast(IO[bytes], gzip.GzipFile(fileobj=file) if packed else file)
    except (OSError, EOFError, zlib.error) as error:
        fault = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        if isinstance(error, FileNotFoundError):
            fault = "no such file; check the path"
        elif isinstance(error, EOFError | gzip.BadGzipFile | zlib.error):
            fault = f"truncated or damaged gzip data ({error}); fetch the file again"
        elif path.is_dir():  # not IsADirectoryError: Windows reports a lack of permission
            fault = "a folder, expected a file; name a file in it"
        raise WhereofError(f"{path}: {fault}") from None


class _Lines(NamedTuple):
    """Whole rows of UTF-8 text, each ending in a newline."""

    data: bytes
    line: int
    """The number of the first line."""

    def lines(self) -> Iterator[str]:
        return io.TextIOWrapper(io.BytesIO(self.data), encoding="utf-8", newline="\n")


class TextRow(NamedTuple):
    """One row of a text file."""

    line: int
    """The number of its first line."""
    cells: list[str]
    stop: int
    """The number of the line below it: a quoted cell may contain newlines."""


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a text file, each with its newline."""
    for block in _blocks(path, comma=False):
        yield from block.lines()


def read_rows(path: Path) -> Iterator[TextRow]:
    """The rows of a text file that are not blank; a .csv file is separated by comma."""
    comma = path.name.lower().removesuffix(".gz").endswith(".csv")
    for block in _blocks(path, comma=comma):
        yield from _rows(path, block, comma)


def read_text(path: Path, options: ReadOptions, *, comma: bool) -> FactTable:
    """The facts of a text file."""
    # The pool is not inside a generator: the garbage collector would close it in any thread.
    with ThreadPoolExecutor(1) as pool:
        return _read_table(path, options, _read_ahead(_blocks(path, comma=comma), pool), comma)


def _read_table(
    path: Path, options: ReadOptions, blocks: Iterator[_Lines], comma: bool
) -> FactTable:
    for block in blocks:
        if first := next(_rows(path, block, comma), None):
            break
    else:
        raise WhereofError(f"{path}: an empty file; expected columns: {columns.EXPECTED}")
    where = f"{path}:{first.line}"
    layout = columns.choose_layout(first.cells, where, options)
    for role in () if layout.header or options.header is not None else columns.NUMBERS:
        cell = first.cells[layout.places[role]] if role in layout.places else "0"
        if columns.to_number(role, cell) is None:
            # Most likely the name of the column.
            raise WhereofError(
                f"{where}: {columns.number_fault(role, cell)}; correct it, "
                f"or say --header if line {first.line} names the columns"
            )
    if layout.header:
        block = _Lines(block.data.split(b"\n", first.stop - block.line)[-1], first.stop)
    parts = (
        _read_in_parallel(block.data, layout, len(first.cells), comma)
        or _read_slowly(path, _rows(path, block, comma), layout, first)
        for block in chain([block], blocks)
    )
    table = columns.gather(parts, layout)
    if not len(table):
        raise WhereofError(f"{path}: no facts below the header; add some")
    return table


def _blocks(path: Path, *, comma: bool) -> Iterator[_Lines]:
    """The checked text of a file, without Windows line ends and byte order mark.

    A block that ends within quotes is joined with the next. One that grows too large is passed on,
    so that its error is found.
    """
    line = 1
    rest = _Lines(b"", line)
    with open_bytes(path) as file:
        data = file.read(BLOCK).removeprefix(_BOM)
        while data:
            data += file.readline(_LONGEST_LINE + 1)
            data = data if data.endswith(b"\n") else data + b"\n"
            at, fault = _find_fault(data)
            if fault:
                n_before = data.count(b"\n", 0, at)
                raise WhereofError(f"{path}:{line + n_before}: {fault}")
            line += data.count(b"\n")
            data = data.replace(b"\r\n", b"\n") if b"\r" in data else data
            rest = _Lines(rest.data + data if rest.data else data, rest.line)
            odd = comma and rest.data.count(b'"') % 2
            if not odd or len(rest.data) >= BLOCK + _LONGEST_CELL:
                yield rest
                rest = _Lines(b"", line)
            data = file.read(BLOCK)
    if rest.data:
        yield rest


def _read_ahead(blocks: Iterator[_Lines], pool: ThreadPoolExecutor) -> Iterator[_Lines]:
    """The same blocks, while another thread reads the next one."""
    following = pool.submit(next, blocks, None)
    while (block := following.result()) is not None:
        following = pool.submit(next, blocks, None)
        yield block


def _find_fault(data: bytes) -> tuple[int, str]:
    """The position of a fault (binary data, a very long line, not UTF-8), and a message or ""."""
    if (at := data.find(b"\0")) >= 0:
        return at, "a NUL byte: this is binary data; expected UTF-8 text"
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + _LONGEST_LINE) + 1
        if not end:
            size = f"more than {_LONGEST_LINE >> 20} MiB"
            return start, f"a line of {size}; expected one fact on each line"
        start = end
    bounds = pa.py_buffer(np.array([0, len(data)], np.int64))
    text = pa.Array.from_buffers(pa.large_string(), 1, [None, bounds, pa.py_buffer(data)])
    try:
        text.validate(full=True)  # faster than decoding
    except pa.ArrowInvalid:
        try:
            data.decode()  # says where
        except UnicodeDecodeError as error:
            at = error.start
            return at, f"not UTF-8 (byte {data[at]:#04x}); save the file as UTF-8"
    return 0, ""


def _rows(path: Path, block: _Lines, comma: bool) -> Iterator[TextRow]:
    """The rows of a block that are not blank, one by one."""
    if not block.data.strip(b" \r\n"):  # a small gzip file may hold millions of blank lines
        return
    if not comma:
        for number, line in enumerate(block.lines(), block.line):
            # A line of TABs has empty cells, which are an error.
            if line.strip(" \r\n"):
                yield TextRow(number, line.removesuffix("\n").split("\t"), number + 1)
        return
    reader = csv.reader(block.lines(), strict=True)
    number = block.line
    try:
        for cells in reader:
            stop = block.line + reader.line_num
            if len(cells) > 1 or "".join(cells).strip():
                yield TextRow(number, cells, stop)
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
    types = {names[at]: columns.type_of(role) for role, at in layout.places.items()}
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
    return columns.checked({role: table[names[at]] for role, at in layout.places.items()})


def _is_well_quoted(data: bytes) -> bool:
    """Whether every opening quote starts a cell and every closing quote ends one."""
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == ord('"'))
    # Two quotes inside a cell count as a closing and an opening quote. The last byte is a newline.
    outside = np.zeros(256, bool)
    outside[[*b',\n"']] = True
    opening, closing = text[quotes[::2] - 1], text[quotes[1::2] + 1]
    return len(opening) == len(closing) and bool(outside[opening].all() and outside[closing].all())


def _read_slowly(path: Path, rows: Iterable[TextRow], layout: ColumnLayout, first: TextRow) -> Part:
    """The used columns of some rows; an error names the line of the first bad row."""
    part: dict[str, list[Any]] = {role: [] for role in layout.places}
    for row in rows:
        where, cells = f"{path}:{row.line}", row.cells
        if len(cells) != len(first.cells):
            raise WhereofError(
                f"{where}: {count(len(cells), 'column')}, expected {len(first.cells)} "
                f"as on line {first.line}"
            )
        for role, at in layout.places.items():
            part[role].append(layout.read(role, cells[at], where))
    return {role: [columns.as_array(role, cells)] for role, cells in part.items()}
