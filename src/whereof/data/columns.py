"""Tables of facts as columns of names: the result of every reader."""

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from whereof.data.layout import PLACES, ColumnLayout

Part: TypeAlias = Mapping[str, list[Any]]
"""Some rows of a table, by role: Arrow arrays of names, or arrays of ratings."""


@dataclass(frozen=True, eq=False, repr=False)
class FactTable:
    """The facts of one file, column by column, all of one length."""

    columns: Mapping[str, Any]
    """By role: subject, relation, object and source are Arrow arrays of codes with a dictionary of
    names, rating is (n_rows,) float32."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Name -> label, if the file itself has labels."""
    notes: tuple[str, ...] = ()
    """Notes on what reading skipped."""
    read_as: Mapping[str, str] = field(default_factory=dict)
    """Column names of the file, by role."""

    def __len__(self) -> int:
        return len(self.columns.get("subject", ()))

    @property
    def fact_columns(self) -> list[Any]:
        """(subject, relation, object) or (subject, object); empty without facts."""
        return [self.columns[place] for place in PLACES[3] if place in self.columns]

    def take(self, rows: slice) -> "FactTable":
        """The table of these rows."""
        return replace(self, columns={role: each[rows] for role, each in self.columns.items()})


def gather(parts: Iterable[Part], layout: ColumnLayout) -> FactTable:
    """Join parts to one table of facts."""
    chunks: dict[str, list[Any]] = {role: [] for role in layout.places}
    for part in parts:
        for role, found in part.items():
            chunks[role] += found
    with ThreadPoolExecutor() as pool:
        columns = dict(zip(chunks, pool.map(_join, chunks, chunks.values()), strict=True))
    return FactTable(columns, read_as=layout.read_as)


def _join(role: str, chunks: Sequence[Any]) -> Any:
    if role == "rating":
        return np.concatenate([np.zeros(0, np.float32), *chunks], dtype=np.float32)
    # Encoding all chunks at once hashes every name once.
    return encode(pa.chunked_array(chunks, pa.string())).combine_chunks()


def encode(names: Any) -> Any:
    """Names as codes with a dictionary, in the order in which they first appear."""
    # Arrow's own allocator gives memory back and takes it again whenever a hash table grows.
    return pc.dictionary_encode(names, memory_pool=pa.system_memory_pool())


def type_of(role: str) -> Any:
    """The Arrow type of a column that is read."""
    return pa.float64() if role == "rating" else pa.string()


def checked(table: Mapping[str, Any]) -> Part | None:
    """The chunks of columns by role; None if a name is blank or a rating is not finite."""
    part = {role: column.chunks for role, column in table.items()}
    if "rating" in part:
        numbers = (as_numpy(chunk, np.float64) for chunk in part["rating"])
        with np.errstate(over="ignore"):
            part["rating"] = [each.astype(np.float32) for each in numbers]
        if not all(np.isfinite(each).all() for each in part["rating"]):
            return None
    names = (chunk for role in part if role != "rating" for chunk in part[role])
    return None if any(map(_has_blank, names)) else part


def _has_blank(names: Any) -> bool:
    empty = len(names) and pc.min(pc.binary_length(names)).as_py() == 0
    return bool(empty or pc.any(pc.utf8_is_space(names)).as_py())


def to_rating(cell: Any) -> float | None:
    """A rating as a number; None if it is not a number, or not finite in single precision."""
    try:
        with np.errstate(over="ignore"):
            value = float(np.float32(cell)) if np.ndim(cell) == 0 else math.nan
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def as_array(role: str, cells: Sequence[Any]) -> Any:
    """Ratings, or names as an Arrow array."""
    if role == "rating":
        return np.array(cells, np.float32)
    # pa.array would import pandas.
    data = [text.encode() for text in cells]
    bounds = np.cumsum([0, *map(len, data)], dtype=np.int32)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.string(), len(data), buffers)


def as_numpy(array: Any, dtype: type[Any]) -> NDArray[Any]:
    """The values of an Arrow array; its own to_numpy would import pandas."""
    values = np.frombuffer(array.buffers()[1] or b"", dtype)
    return values[array.offset : array.offset + len(array)]
