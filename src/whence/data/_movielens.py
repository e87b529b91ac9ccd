"""MovieLens 100k in its own files: who rated what, split as in the paper."""

import math
from collections.abc import Iterator, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from whence.data._columns import Column, FactTable
from whence.data._plain import find_plain, read_plain
from whence.errors import WhenceError

_N_VALID: Final = 5000
"""The paper validates on so many lines of ua.test, the first ones."""


class MovieLens(NamedTuple):
    """Facts (user, item) with their ratings, and the titles of the items."""

    train: FactTable
    valid: FactTable
    test: FactTable
    titles: dict[str, str]


class _Rating(NamedTuple):
    user: str
    item: str
    value: float


def read_movielens(folder: Path | Traversable) -> MovieLens:
    """The ua split of a folder with ua.base, ua.test and u.item, plain or gzipped."""
    held_out = _read_ratings(find_plain(folder, "ua.test"))
    return MovieLens(
        train=_table(_read_ratings(find_plain(folder, "ua.base"))),
        valid=_table(held_out[:_N_VALID]),
        test=_table(held_out[_N_VALID:]),
        titles=_read_titles(find_plain(folder, "u.item")),
    )


def _table(ratings: Sequence[_Rating]) -> FactTable:
    users = Column.of(rating.user for rating in ratings)
    items = Column.of(rating.item for rating in ratings)
    return FactTable((users, items), np.array([rating.value for rating in ratings], np.float32))


def _read_ratings(path: Path | Traversable) -> list[_Rating]:
    ratings = []
    for number, (user, item, text, *_) in _rows(path, "\t", "user, item, rating, time", 4):
        value = _number(text)
        if value is None:
            raise WhenceError(f"{path}:{number}: rating {text!r}; give a number")
        ratings.append(_Rating(user, item, value))
    return ratings


def _read_titles(path: Path | Traversable) -> dict[str, str]:
    return {item: title for _, (item, title, *_) in _rows(path, "|", "item, title, ...", 2)}


def _rows(
    path: Path | Traversable, separator: str, cells: str, least: int
) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not blank, cut into cells, each with its number."""
    # Its README does not say so, but the titles are in Latin-1.
    for number, line in enumerate(read_plain(path).decode("latin-1").split("\n"), 1):
        row = line.rstrip("\r").split(separator)
        if row == [""]:
            continue
        if len(row) < least or not all(row[:least]):
            raise WhenceError(f"{path}:{number}: expected {cells}, separated by {separator!r}")
        yield number, row


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
