"""Columns of text, each distinct text held once: what every reader makes of its file."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Column:
    """A column of texts by code."""

    codes: NDArray[np.int32]
    """(n_rows,)"""
    names: Sequence[str]
    """The distinct texts by code, in the order in which they first appear; a column that is
    encoded along with another has the names of both."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Column":
        encoder = Encoder()
        codes = encoder.encode(list(texts))
        return cls(codes, encoder.names())

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[str]:
        return map(self.names.__getitem__, self.codes.tolist())

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "Column":
        """The column of these rows, with the names that they have."""
        codes = self.codes[rows]
        used, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        recoded = np.empty(len(used), np.int32)
        recoded[order] = np.arange(len(used))
        return Column(recoded[inverse], [self.names[code] for code in used[order]])


@dataclass(frozen=True, eq=False)
class Cells(Sequence[str]):
    """Texts as they stand in the bytes of a file."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    """(n_cells,)"""
    ends: NDArray[np.int64]
    """(n_cells,)"""

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Cells":
        data = [text.encode() for text in texts]
        ends = np.cumsum([0, *map(len, data)])
        return cls(np.frombuffer(b"".join(data), np.uint8), ends[:-1], ends[1:])

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, row: Any) -> Any:
        return self.data[self.starts[row] : self.ends[row]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        data = self.data.tobytes()
        pairs = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return (data[start:end].decode() for start, end in pairs)


class Encoder:
    """Gives every distinct text a code, in the order in which they first appear."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = defaultdict(count().__next__)

    def __len__(self) -> int:
        return len(self._codes)

    def encode(self, texts: Sequence[str] | Column) -> NDArray[np.int32]:
        """(n_texts,) the code of each; new ones take the next codes."""
        if isinstance(texts, Column):
            return self.encode(texts.names)[texts.codes]
        return np.fromiter(map(self._codes.__getitem__, texts), np.int32, len(texts))

    def newest(self, n_names: int) -> Iterable[str]:
        """The names that came last."""
        return islice(reversed(self._codes), n_names)

    def names(self) -> list[str]:
        return list(self._codes)


@dataclass(frozen=True, eq=False)
class FactTable:
    """What one file holds of facts, column by column, all of one length."""

    columns: tuple[Column, ...]
    """(subject, relation, object), or (subject, object)."""
    ratings: NDArray[np.float32] | None = None
    """(n_rows,) beside (user, item)."""
    sources: Column | None = None
    entity_labels: Mapping[str, str] = field(default_factory=dict)
    """Name -> label, where the file itself has labels."""
    relation_labels: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """One line for each thing that reading left out."""
    read_as: Mapping[str, str] = field(default_factory=dict)
    """Which column, by its name in the file, was taken for what."""

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def take(self, rows: NDArray[np.integer]) -> "FactTable":
        """The table of these rows."""
        return replace(
            self,
            columns=tuple(column.take(rows) for column in self.columns),
            ratings=None if self.ratings is None else self.ratings[rows],
            sources=None if self.sources is None else self.sources.take(rows),
        )
