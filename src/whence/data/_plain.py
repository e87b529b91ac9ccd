"""The plain content of a file that may be gzipped."""

import gzip
import zlib
from importlib.resources.abc import Traversable
from pathlib import Path

from whence.errors import WhenceError


def find_plain(folder: Path | Traversable, name: str) -> Path | Traversable:
    """A file of a folder, or its gzipped copy."""
    for candidate in (folder.joinpath(name), folder.joinpath(name + ".gz")):
        if candidate.is_file():
            return candidate
    raise WhenceError(f"{folder}: no {name} in this folder; put {name} or {name}.gz there")


def read_plain(path: Path | Traversable) -> bytes:
    """The content of a file, unpacked if its name ends in .gz."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.name.endswith(".gz") else content
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise WhenceError(
            f"{path}: truncated or damaged gzip data ({error}); fetch the file again"
        ) from None
    except OSError as error:
        raise WhenceError(f"{path}: cannot be read: {error.strerror or error}") from None
