"""TAB-separated UTF-8 text, plain or gzipped, as columns of names."""

import gzip
import zlib
from collections.abc import Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from whence.errors import WhenceError

_BOM: Final = b"\xef\xbb\xbf"
_GZIP: Final = b"\x1f\x8b"
_FACTS: Final = {2: "(subject, object)", 3: "(subject, relation, object)"}
_LABELS: Final = {2: "(name, label)"}


def read_tsv(path: Path | Traversable) -> list[list[str]]:
    """The two (subject, object) or three (subject, relation, object) columns of a file of facts."""
    return _columns(path, _read_lines(path), _FACTS)


def read_labels(path: Path | Traversable) -> dict[str, str]:
    """Name -> label, from lines of two columns."""
    lines = _read_lines(path)
    labels: dict[str, str] = {}
    for row, (name, label) in enumerate(zip(*_columns(path, lines, _LABELS), strict=True)):
        if labels.setdefault(name, label) != label:
            number = [n for n, line in enumerate(lines, 1) if not _blank(line)][row]
            raise WhenceError(
                f"{path}:{number}: second label {label!r} for {name!r}, "
                f"already {labels[name]!r}; keep one"
            )
    return labels


def _read_lines(path: Path | Traversable) -> list[str]:
    data = _read_bytes(path).removeprefix(_BOM)
    if (at := data.find(b"\0")) >= 0:
        raise WhenceError(
            f"{path}:{_line_at(data, at)}: a NUL byte: this is binary data; "
            "expected TAB-separated UTF-8 text"
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise WhenceError(
            f"{path}:{_line_at(data, error.start)}: not UTF-8 (byte {data[error.start]:#04x}); "
            "save the file as UTF-8"
        ) from None
    # Not splitlines: it would also break a name at U+0085 or U+2028.
    return text.replace("\r\n", "\n").split("\n")


def _read_bytes(path: Path | Traversable) -> bytes:
    """The bytes of a file, unpacked if they are gzipped."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise WhenceError(f"{path}: no such file; check the path") from None
    except OSError as error:
        # Not IsADirectoryError: Windows calls it a lack of permission.
        if path.is_dir():
            raise WhenceError(f"{path}: a folder, expected a file; name a file in it") from None
        raise WhenceError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not data.startswith(_GZIP):
        if path.name.endswith(".gz") and data:
            raise WhenceError(f"{path}: not a gzip file; drop .gz from its name if it is text")
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError, zlib.error) as error:
        raise WhenceError(
            f"{path}: truncated or damaged gzip data ({error}); fetch the file again"
        ) from None


def _line_at(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def _blank(line: str) -> bool:
    """Whether a line has nothing on it; one of TABs only has empty cells and is an error."""
    return not line or not line.strip(" \r")


def _columns(
    path: Path | Traversable, lines: Sequence[str], layouts: dict[int, str]
) -> list[list[str]]:
    """The cells by column; the first line that is not blank decides among the layouts."""
    filled = [line for line in lines if not _blank(line)]
    if not filled:
        raise WhenceError(f"{path}: an empty file; expected lines of {_describe(layouts)}")
    width = filled[0].count("\t") + 1
    layouts = {width: layouts[width]} if width in layouts else layouts
    cells = "\t".join(filled).split("\t")
    columns = [cells[i::width] for i in range(width)]
    ragged = width not in layouts or any(line.count("\t") != width - 1 for line in filled)
    if ragged or any(not cell.strip() for column in columns for cell in set(column)):
        raise _first_fault(path, lines, layouts)
    return columns


def _first_fault(
    path: Path | Traversable, lines: Sequence[str], layouts: dict[int, str]
) -> WhenceError:
    """The error of the first line that is ragged or has an empty cell."""
    for number, line in enumerate(lines, 1):
        if _blank(line):
            continue
        cells = line.split("\t")
        if len(cells) not in layouts:
            count = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
            hint = "; separate them by TAB" if len(cells) == 1 else ""
            expected = _describe(layouts)
            return WhenceError(f"{path}:{number}: {count}, expected {expected}{hint}")
        for column, cell in enumerate(cells, 1):
            if not cell.strip():
                return WhenceError(
                    f"{path}:{number}: column {column} is empty, "
                    f"expected {_describe(layouts)}; fill it or delete the line"
                )
    raise AssertionError("called for a file without a fault")


def _describe(layouts: dict[int, str]) -> str:
    return " or ".join(f"{width} {names}" for width, names in layouts.items())
