"""Columns of text, each distinct text held once: what every reader makes of its file."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Column:
    """A column of texts by code."""

    codes: NDArray[np.int32]
    """(n_rows,)"""
    names: Sequence[str]
    """The distinct texts by code, in the order in which they first appear."""

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Column":
        encoder = Encoder()
        encoder.add(list(texts))
        return encoder.column()

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


class Encoder:
    """Makes a column out of its texts, a stretch at a time."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = defaultdict(count().__next__)
        self._stretches: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]

    def add(self, texts: Sequence[str] | Column) -> Iterator[str]:
        """Add a stretch; the names in it that are new."""
        n_before = len(self._codes)
        if isinstance(texts, Column):
            self._stretches.append(self._look_up(texts.names)[texts.codes])
        else:
            self._stretches.append(self._look_up(texts))
        return islice(reversed(self._codes), len(self._codes) - n_before)

    def _look_up(self, texts: Sequence[str]) -> NDArray[np.int32]:
        return np.fromiter(map(self._codes.__getitem__, texts), np.int32, len(texts))

    def column(self) -> Column:
        return Column(np.concatenate(self._stretches), list(self._codes))


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

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0
