"""Tables of facts as columns of names: the result of every reader."""

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
    entity_labels: Mapping[str, str] = field(default_factory=dict)
    """Name -> label, if the file itself has labels."""
    relation_labels: Mapping[str, str] = field(default_factory=dict)
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


def as_arrow(texts: Sequence[str]) -> Any:
    """Texts as an Arrow array."""
    # pa.array would import pandas.
    data = [text.encode() for text in texts]
    bounds = np.cumsum([0, *map(len, data)], dtype=np.int32)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.string(), len(data), buffers)


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
    names = pa.chunked_array(chunks, pa.string())
    # Arrow's own allocator gives memory back and takes it again whenever a hash table grows.
    codes = pc.dictionary_encode(names, memory_pool=pa.system_memory_pool())
    return codes.combine_chunks()


def as_numpy(array: Any, dtype: type[Any]) -> NDArray[Any]:
    """The values of an Arrow array; its own to_numpy would import pandas."""
    values = np.frombuffer(array.buffers()[1] or b"", dtype)
    return values[array.offset : array.offset + len(array)]
