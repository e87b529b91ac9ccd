"""The bytes of a file, plain or gzipped, and its text in blocks of whole lines."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import IO, Any, Final, TypeAlias, cast

import numpy as np

from whereof.errors import WhereofError

FilePath: TypeAlias = Path | Traversable
"""Where a file is: on disk, or in an installed package."""

_BLOCK: Final = 1 << 24
_LONGEST_LINE: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"
_GZIP: Final = b"\x1f\x8b"


@contextmanager
def open_bytes(path: FilePath) -> Iterator[IO[bytes]]:
    """A file's bytes, unpacked if they are gzipped; what goes wrong meanwhile is said in a line."""
    try:
        with path.open("rb") as file:
            yield _unpacked(path, file)
    except FileNotFoundError:
        raise WhereofError(f"{path}: no such file; check the path") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise WhereofError(
            f"{path}: truncated or damaged gzip data ({error}); fetch the file again"
        ) from None
    except OSError as error:
        # Not IsADirectoryError: Windows calls it a lack of permission.
        if path.is_dir():
            raise WhereofError(f"{path}: a folder, expected a file; name a file in it") from None
        raise WhereofError(f"{path}: cannot be read: {error.strerror or error}") from None


def _unpacked(path: FilePath, file: Any) -> IO[bytes]:
    # peek, because a pipe cannot be wound back.
    start: bytes = file.peek(len(_GZIP))
    if start.startswith(_GZIP):
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    if start and path.name.endswith(".gz"):
        raise WhereofError(f"{path}: not a gzip file; drop .gz from its name if it is text")
    return cast(IO[bytes], file)


@dataclass(frozen=True)
class Block:
    """Whole lines of UTF-8 text, all ended by a newline."""

    data: bytes
    line: int
    """The number of the first one."""

    def lines(self) -> Iterator[str]:
        return io.StringIO(self.data.decode(), newline="\n")


def read_blocks(path: FilePath) -> Iterator[Block]:
    """The text of a file, checked; Windows line ends and a byte order mark are left out."""
    line, rest = 1, b""
    with open_bytes(path) as file:
        data = file.read(_BLOCK).removeprefix(_BOM)
        while data:
            lines, newline, rest = (rest + data).rpartition(b"\n")
            if newline:
                block = _checked(path, lines + newline, line)
                yield block
                line += block.data.count(b"\n")
            # A line that never ends is not read on for its end.
            _check_length(path, len(rest), line)
            data = file.read(_BLOCK)
    if rest:
        yield _checked(path, rest + b"\n", line)


def read_lines(path: FilePath) -> Iterator[str]:
    """The lines of a text file, checked, each with its newline."""
    for block in read_blocks(path):
        yield from block.lines()


def _checked(path: FilePath, data: bytes, line: int) -> Block:
    if (at := data.find(b"\0")) >= 0:
        raise WhereofError(
            f"{path}:{_line_at(at, data, line)}: a NUL byte: this is binary data; "
            "expected UTF-8 text"
        )
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    lengths = np.diff(ends, prepend=-1)
    longest = int(lengths.argmax())
    _check_length(path, int(lengths[longest]), line + longest)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise WhereofError(
            f"{path}:{_line_at(error.start, data, line)}: not UTF-8 "
            f"(byte {data[error.start]:#04x}); save the file as UTF-8"
        ) from None
    return Block(data.replace(b"\r\n", b"\n"), line)


def _line_at(at: int, data: bytes, line: int) -> int:
    return line + data.count(b"\n", 0, at)


def _check_length(path: FilePath, length: int, line: int) -> None:
    if length > _LONGEST_LINE:
        raise WhereofError(
            f"{path}:{line}: a line of more than {_LONGEST_LINE >> 20} MiB; "
            "expected one fact on each line"
        )
