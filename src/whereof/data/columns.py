"""Tables of facts as columns of names: the result of every reader."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from whereof.data.layout import ColumnLayout

CODES: Final = pa.dictionary(pa.int32(), pa.string())
"""The Arrow type of a column of names: codes, and the name of each code."""
Part: TypeAlias = Mapping[int, Any]
"""Some rows of a table, by column position: chunks of type CODES, or float32 ratings."""


@dataclass(frozen=True, eq=False, repr=False)
class FactTable:
    """The facts of one file, column by column, all of one length."""

    columns: tuple[Any, ...]
    """(subject, relation, object) or (subject, object), each an Arrow array of type CODES."""
    ratings: NDArray[np.float32] | None = None
    """(n_rows,) beside (user, item)."""
    sources: Any = None
    """An Arrow array of type CODES, or None."""
    entity_labels: Mapping[str, str] = field(default_factory=dict)
    """Name -> label, if the file itself has labels."""
    relation_labels: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Notes on what reading skipped."""
    read_as: Mapping[str, str] = field(default_factory=dict)
    """Sources names of the file, by role."""

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The names of every fact."""
        return zip(*(column.to_pylist() for column in self.columns), strict=True)

    def take(self, rows: slice) -> "FactTable":
        """The table of these rows."""
        return replace(
            self,
            columns=tuple(column[rows] for column in self.columns),
            ratings=None if self.ratings is None else self.ratings[rows],
            sources=None if self.sources is None else self.sources[rows],
        )


def encode(texts: Sequence[str]) -> Any:
    """Texts as an Arrow array of type CODES."""
    # pa.array would import pandas.
    data = [text.encode() for text in texts]
    bounds = np.cumsum([0, *map(len, data)], dtype=np.int32)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(b"".join(data))]
    return pa.Array.from_buffers(pa.string(), len(data), buffers).dictionary_encode()


def gather(parts: Iterable[Part], layout: ColumnLayout) -> FactTable:
    """Join parts to one table of facts."""
    chunks: dict[int, list[Any]] = {at: [] for at in layout.texts}
    ratings = [np.zeros(0, np.float32)]
    for part in parts:
        for at in layout.texts:
            chunks[at] += part[at]
        if layout.rating is not None:
            ratings.append(part[layout.rating])
    with ThreadPoolExecutor() as pool:
        columns = dict(zip(chunks, pool.map(_unify, chunks.values()), strict=True))
    return FactTable(
        columns=tuple(columns[at] for at in layout.columns),
        ratings=np.concatenate(ratings) if layout.rating is not None else None,
        sources=columns[layout.source] if layout.source is not None else None,
        read_as=layout.read_as,
    )


def _unify(chunks: Sequence[Any]) -> Any:
    """Join chunks with different codes to one array of type CODES."""
    return pa.chunked_array(chunks, CODES).unify_dictionaries().combine_chunks()


def as_numpy(array: Any, dtype: type[Any]) -> NDArray[Any]:
    """The values of an Arrow array; its own to_numpy would import pandas."""
    values = np.frombuffer(array.buffers()[1] or b"", dtype)
    return values[array.offset : array.offset + len(array)]
