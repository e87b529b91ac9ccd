"""The columns of a table of facts: what each means, and how its cells are read."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from numbers import Number
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from whereof.data.options import OTHERS, ReadOptions
from whereof.data.vocabulary import did_you_mean
from whereof.errors import WhereofError
from whereof.memory import release_memory
from whereof.settings import is_whole, shown, to_float
from whereof.types import PLACES
from whereof.units import count

Part: TypeAlias = Mapping[str, list[Any]]
"""Some rows of a table, by role: Arrow arrays of names, or arrays of numbers."""

EXPECTED: Final = "2 (subject, object) or 3 (subject, relation, object)"
NUMBERS: Final[Mapping[str, Any]] = {
    "rating": np.float32,
    "weight": np.float64,
    "time": np.float64,
}
"""The type of the roles that are numbers."""
_EXACT: Final = 1 << 24
"""Ratings are float32, which represents every whole number up to here exactly."""
_LARGEST: Final = 1 << 53
_MISSING: Final = ("NoneType", "NAType", "NaTType")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_WORDS: Final = {
    "subject": "subject head h s user customer",
    "relation": "relation rel r predicate p",
    "object": "object tail t o item movie film book product song track artist",
    "rating": "rating score stars",
    "time": "timestamp time date",
    "source": "source provenance",
    "weight": "weight",
}
_ROLES: Final = {word: role for role, words in _WORDS.items() for word in words.split()}
_EDGE: Final = {"source": "subject", "target": "object"}


@dataclass(frozen=True, eq=False, repr=False)
class FactTable:
    """The facts of one file, column by column, all of one length."""

    columns: Mapping[str, Any]
    """By role: subject, relation, object and source are Arrow arrays of codes with a dictionary of
    names, rating is (n_rows,) float32, weight and time are (n_rows,) float64."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Name -> label, if the file itself has labels."""
    notes: tuple[str, ...] = ()
    """Notes on what reading skipped."""
    read_as: Mapping[str, str] = field(default_factory=dict)
    """Column names of the file, by role."""
    unread: tuple[str, ...] = ()
    """Names of the other columns, without times."""
    times: tuple[str, ...] = ()
    """Names of columns of times that were not read."""

    def __len__(self) -> int:
        return len(self.columns.get("subject", ()))

    @property
    def fact_columns(self) -> list[Any]:
        """(subject, relation, object) or (subject, object); empty without facts."""
        return [self.columns[place] for place in PLACES[3] if place in self.columns]

    def take(self, rows: slice | NDArray[np.int64]) -> "FactTable":
        """Some rows; names that are not in them are forgotten."""

        def part(column: Any) -> Any:
            if isinstance(rows, slice) or isinstance(column, np.ndarray):
                return column[rows]
            return column.take(pa.array(rows)).dictionary_decode().dictionary_encode()

        return replace(self, columns={role: part(each) for role, each in self.columns.items()})


@dataclass(frozen=True)
class ColumnLayout:
    """The meaning of a table's columns. Positions count from 0."""

    places: Mapping[str, int]
    """The position of each role: subject, relation, object and OTHERS, if it is there."""
    read_as: Mapping[str, str] = field(default_factory=dict)
    """The name of each role's column; empty without a header."""
    header: bool = False
    """Whether the first row is a header."""
    unread: tuple[str, ...] = ()
    """Names of the columns without a role; empty without a header."""
    times: tuple[str, ...] = ()
    """Names of columns of times that are not read; empty without a header."""

    def read(self, role: str, cell: Any, where: str) -> str | float:
        """A rating or a weight as a number, any other cell as text; a bad cell is an error."""
        column = repr(self.read_as[role]) if self.read_as else self.places[role] + 1
        if role in NUMBERS:
            if (value := to_number(role, cell)) is not None:
                return value
            fault = number_fault(role, cell)
        elif is_missing(cell):
            fault = f"column {column} is empty"
        elif _is_name(cell):
            return str(cell)
        else:
            fault = f"column {column} has {shown(cell)}, which is neither text nor a whole number"
        remedy = ", or drop the column" if role == "source" else ""
        raise WhereofError(f"{where}: {fault}; correct it or leave the row out{remedy}")


def choose_layout(
    cells: Sequence[str], where: str, options: ReadOptions, *, named: bool = False
) -> ColumnLayout:
    """The layout of a table with first row `cells`, which is the column names if `named`."""
    asked = [text.strip() for text in options.columns.split(",")] if options.columns else []
    # Asking for a column by name says that there is a header.
    wanted = {role: getattr(options, role) for role in OTHERS}
    texts = (*asked, *filter(None, wanted.values()))
    header = named or options.header
    if header is None and not all(map(is_whole, texts)):
        header = True
    row = _FirstRow(cells, where, header, reads_roles=not asked)
    others = {role: row.find(text) if text else row.role(role) for role, text in wanted.items()}
    if not wanted["time"]:
        others["time"] = None  # read only if asked for
    columns = tuple(map(row.find, asked)) or row.fact(others)
    if len(columns) not in PLACES:
        raise WhereofError(f"columns has length {len(columns)}; give {EXPECTED}")
    if len(columns) == 3 and options.rating:
        raise WhereofError(f"{where}: ratings require 2 columns, user and item: name these two")
    if len(columns) == 3:
        others["rating"] = None
    places = dict(zip(PLACES[len(columns)], columns, strict=True))
    places |= {role: at for role, at in others.items() if at is not None}
    _check_different(places, row, wanted)
    rest = [at for at in range(len(cells)) if at not in places.values()] if row.header else []
    return ColumnLayout(
        places,
        read_as={role: row.cells[places[role]] for role in _WORDS if role in places and row.header},
        header=row.header and not named,
        unread=tuple(row.cells[at] for at in rest if row.roles[at] != "time"),
        times=tuple(row.cells[at] for at in rest if row.roles[at] == "time"),
    )


def _check_different(
    places: Mapping[str, int], row: "_FirstRow", wanted: Mapping[str, str | None]
) -> None:
    """Raise an error if one column has two roles; wanted: the columns that options name."""
    roles: dict[int, list[str]] = {}
    for role, at in places.items():
        roles.setdefault(at, []).append(role)
    for at, found in roles.items():
        if len(found) == 1:
            continue
        column, remedy = repr(row.cells[at]) if row.header else at + 1, "choose different columns"
        if any(wanted.get(role, role) is None for role in found):  # read by its name
            ends = ",".join(row.cells[places[end]] for end in PLACES[2])
            remedy = f"choose the columns of a fact, and name them with columns, such as {ends}"
        used = " and as ".join(found)
        raise WhereofError(f"{row.where}: column {column} is used as {used}; {remedy}")


def find_column(text: str, cells: Sequence[str], where: str, *, header: bool) -> int:
    """The position (from 0) of a column given by name or by number (from 1)."""
    if is_whole(text):
        if not 1 <= int(text) <= len(cells):
            raise WhereofError(f"{where}: no column {text}; there are {len(cells)}, from 1")
        return int(text) - 1
    if not header:
        raise WhereofError(
            f"{where}: {text!r} names a column, and there is no header; give its number, from 1"
        )
    names = [cell.strip() for cell in cells]
    found = [at for at, name in enumerate(names) if name == text]
    found = found or [at for at, name in enumerate(names) if name.casefold() == text.casefold()]
    if len(found) > 1:
        raise WhereofError(f"{where}: {len(found)} columns named {text!r}; give its number, from 1")
    if not found:
        hint = did_you_mean(text, names, 1)
        raise WhereofError(f"{where}: no column {text!r}; {hint}there are {', '.join(names)}")
    return found[0]


def _word(name: str) -> str:
    return name.casefold().replace("_", "").removesuffix("id")


def role_of(name: str) -> str:
    """The role that the name of a column stands for; empty if there is none."""
    return _ROLES.get(_word(name), "")


def is_heading(cell: str, role: str = "") -> bool:
    """Whether a cell looks like the heading of a column of names, or of the column of a role.

    A single letter, such as s, looks like a name.
    """
    word = _word(cell.strip())
    found = _ROLES.get(word, "") if len(word) > 1 else ""
    return found == role if role else word in ("", "entity", "name") or found in PLACES[3]


class _FirstRow:
    """The first row of a table and what follows from it."""

    def __init__(
        self, cells: Sequence[str], where: str, header: bool | None, *, reads_roles: bool
    ) -> None:
        self.cells = [cell.strip() for cell in cells]
        self.where = where
        words = [*map(_word, self.cells)]
        known = _ROLES | _EDGE if _EDGE.keys() <= {*words} else _ROLES
        roles = [known.get(word, "") for word in words]
        # A header has two roles or more in whole words, or only different roles if in letters.
        whole = {known[word] for word in words if word in known and len(word) > 1}
        letters = all(roles) and len({*roles}) == len(roles) and {*PLACES[2]} <= {*roles}
        self.guessed = header is None and (len(whole) > 1 or letters)
        self.header = header or self.guessed
        self.roles = roles if self.header and reads_roles else [""] * len(cells)

    def role(self, role: str) -> int | None:
        """The position of the column with this role in the header."""
        found = [at for at, word in enumerate(self.roles) if word == role]
        if len(found) > 1:
            names = " and ".join(repr(self.cells[at]) for at in found)
            option = role if role in OTHERS else "columns"
            raise WhereofError(
                f"{self.where}: {names} are both {role} columns; say which with {option}"
            )
        return found[0] if found else None

    def find(self, text: str) -> int:
        return find_column(text, self.cells, self.where, header=self.header)

    def fact(self, others: Mapping[str, int | None]) -> tuple[int, ...]:
        """The columns of a fact: by their roles, else the remaining columns in order."""
        rating = others["rating"]
        rest = [at for at in range(len(self.cells)) if at not in others.values()]
        free = [at for at in rest if not self.roles[at]]
        ends = {end: self.role(end) for end in PLACES[2]}
        missing = [end for end, at in ends.items() if at is None]
        if len(missing) == 1 and len(free) == 1:
            ends[missing[0]] = free.pop()
        subject, target, relation = ends["subject"], ends["object"], self.role("relation")
        if subject is None or target is None:
            return self._remaining([at for at in rest if self.roles[at] != "time"], rating)
        if relation is None and rating is None and len(free) == 1 and subject < free[0] < target:
            relation = free[0]
        return (subject, target) if relation is None else (subject, relation, target)

    def _remaining(self, columns: list[int], rating: int | None) -> tuple[int, ...]:
        named = any(self.roles)
        # Ratings follow user and item; a column after them is probably a time.
        if rating is not None and not named and columns[1:2] < [rating] < columns[2:3]:
            columns = columns[:2]
        order = PLACES[2 if (named and rating is not None) or len(columns) == 2 else 3]
        roles = [self.roles[at] or role for at, role in zip(columns, order, strict=False)]
        if len(columns) == len(order) and roles == [*order]:
            return tuple(columns)
        if named:
            raise WhereofError(
                f"{self.where}: cannot tell subject and object among {', '.join(self.cells)}; "
                "name them with columns" + (", or say --no-header" if self.guessed else "")
            )
        remedy = "separate them by TAB, or by comma in .csv files"
        if len(self.cells) > 1:
            remedy = "say which with columns, such as 1,2,3 or head,relation,tail"
        n_columns = count(len(self.cells), "column")
        raise WhereofError(f"{self.where}: {n_columns}, expected {EXPECTED}; {remedy}")


def gather(parts: Iterable[Part], layout: ColumnLayout) -> FactTable:
    """Join parts to one table of facts."""
    chunks: dict[str, list[Any]] = {role: [] for role in layout.places}
    for part in parts:
        for role, found in part.items():
            chunks[role] += found

    def join(role: str) -> Any:
        if role in NUMBERS:
            return np.concatenate([np.zeros(0, NUMBERS[role]), *chunks[role]])
        # Encoding all chunks at once hashes every name once. Arrow's own allocator gives memory
        # back and takes it again whenever a hash table grows.
        names = pa.chunked_array(chunks[role], pa.string())
        return pc.dictionary_encode(names, memory_pool=pa.system_memory_pool()).combine_chunks()

    with ThreadPoolExecutor() as pool:
        columns = dict(zip(chunks, pool.map(join, chunks), strict=True))
    chunks.clear()  # the texts of all facts
    release_memory()
    return FactTable(columns, read_as=layout.read_as, unread=layout.unread, times=layout.times)


def type_of(role: str) -> Any:
    """The Arrow type of a column that is read."""
    return pa.float64() if role in NUMBERS else pa.string()


def checked(table: Mapping[str, Any]) -> Part | None:
    """The chunks of columns by role; None if a name is blank or a number is not allowed."""
    part = {role: column.chunks for role, column in table.items()}
    for role in part.keys() & NUMBERS:
        numbers = [as_numpy(chunk, np.float64) for chunk in part[role]]
        if not all(_allowed(role, each).all() for each in numbers):
            return None
        part[role] = [each.astype(NUMBERS[role]) for each in numbers]
    names = (chunk for role in part if role not in NUMBERS for chunk in part[role])
    return None if any(map(_has_blank, names)) else part


def _has_blank(names: Any) -> bool:
    empty = len(names) and pc.min(pc.binary_length(names)).as_py() == 0
    return bool(empty or pc.any(pc.utf8_is_space(names)).as_py())


def _allowed(role: str, numbers: Any) -> Any:
    """Which numbers (float64) are finite, not negative (weights) and stay apart (ratings)."""
    if role == "rating":
        with np.errstate(over="ignore"):
            same = np.asarray(numbers, np.float32) == numbers
        size = np.abs(numbers)
        return np.isfinite(numbers) & ((size <= _EXACT) | (same & (size < _LARGEST)))
    return np.isfinite(numbers) & (numbers >= (0 if role == "weight" else -math.inf))


def to_number(role: str, cell: Any) -> float | None:
    """A rating, weight or time as a number; None if it is not allowed, or too large for its type.

    A time may also be a date, which becomes seconds since 1970.
    """
    if role == "time":
        cell = _seconds(cell)
    try:
        value = _float64(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return float(NUMBERS[role](value)) if _allowed(role, value) else None


def _float64(cell: Any) -> np.float64:
    """The number in a cell; NaN if it is an array."""
    value = to_float(cell) if isinstance(cell, str) else cell
    return np.float64(value if np.ndim(value) == 0 else math.nan)


def _seconds(cell: Any) -> Any:
    """The seconds of a date such as 2026-01-31 or 2026-01-31 12:30; any other cell as it is."""
    if isinstance(cell, str) and "-" in cell[1:]:
        try:
            cell = datetime.fromisoformat(cell.strip())
        except ValueError:
            return cell
    if isinstance(cell, date) and not isinstance(cell, datetime):
        cell = datetime(cell.year, cell.month, cell.day)
    if not isinstance(cell, datetime):
        return cell
    return (cell if cell.tzinfo else cell.replace(tzinfo=UTC)).timestamp()


def number_fault(role: str, cell: Any) -> str:
    """What is wrong with a cell that is not a rating, not a weight, or not a time."""
    kinds = {"weight": "a finite number that is 0 or larger", "time": "a number or a date"}
    with suppress(TypeError, ValueError, OverflowError):
        if role == "rating" and math.isfinite(_float64(cell)):
            return (
                f"rating {shown(cell)} is too large to be kept exactly: whole numbers are kept up "
                f"to {_EXACT:,}; divide all ratings by one number"
            )
    return f"{role} {shown(cell)} is not {kinds.get(role, 'a finite number')}"


def is_missing(cell: Any) -> bool:
    """Whether a cell is blank or has no value."""
    if isinstance(cell, str):
        return not cell.strip()
    return type(cell).__name__ in _MISSING or (isinstance(cell, Number) and bool(cell != cell))


def _is_name(cell: Any) -> bool:
    if isinstance(cell, str):
        return not _SURROGATE.search(cell)
    return isinstance(cell, int | np.integer) and not isinstance(cell, bool)


def as_array(role: str, cells: Sequence[Any]) -> Any:
    """Numbers, or names as an Arrow array."""
    if role in NUMBERS:
        return np.array(cells, NUMBERS[role])
    # pa.array would import pandas.
    data = [text.encode() for text in cells]
    bounds = np.cumsum([0, *map(len, data)], dtype=np.int32)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.string(), len(data), buffers)


def as_numpy(array: Any, dtype: type[Any]) -> NDArray[Any]:
    """The values of an Arrow array; its own to_numpy would import pandas."""
    values = np.frombuffer(array.buffers()[1] or b"", dtype)
    return values[array.offset : array.offset + len(array)]
