"""Columns of text, each distinct text held once: what every reader makes of its file."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

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


class Encoder:
    """Makes a column out of its texts, a stretch at a time."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = defaultdict(count().__next__)
        self._stretches: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]

    def add(self, texts: Sequence[str]) -> None:
        look_up = map(self._codes.__getitem__, texts)
        self._stretches.append(np.fromiter(look_up, np.int32, len(texts)))

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
        return len(self.columns[0])
