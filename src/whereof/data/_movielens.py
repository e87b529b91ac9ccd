"""MovieLens 100k in its own files: who rated what, split as in the paper."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from whereof.data._columns import FactTable
from whereof.data._formats import read_facts
from whereof.data._options import ReadOptions
from whereof.data._streams import FilePath, open_bytes
from whereof.errors import WhereofError

_N_VALID: Final = 5000
"""The paper validates on so many lines of ua.test, the first ones."""
_RATINGS: Final = ReadOptions(format="tsv", header=False, columns="1,2", rating="3")


@dataclass(frozen=True, eq=False)
class MovieLens:
    """Facts (user, item) with their ratings, and the titles of the items."""

    train: FactTable
    valid: FactTable
    test: FactTable
    titles: dict[str, str]


def read_movielens(folder: FilePath) -> MovieLens:
    """The ua split of a folder with ua.base, ua.test and u.item, plain or gzipped."""
    held_out = read_facts(_find(folder, "ua.test"), _RATINGS, "test")
    rows = np.arange(len(held_out))
    return MovieLens(
        train=read_facts(_find(folder, "ua.base"), _RATINGS, "train"),
        valid=held_out.take(rows[:_N_VALID]),
        test=held_out.take(rows[_N_VALID:]),
        titles=_read_titles(_find(folder, "u.item")),
    )


def _find(folder: FilePath, name: str) -> FilePath:
    """A file of a folder, or its gzipped copy."""
    for candidate in (folder.joinpath(name), folder.joinpath(name + ".gz")):
        if candidate.is_file():
            return candidate
    raise WhereofError(f"{folder}: no {name} in this folder; put {name} or {name}.gz there")


def _read_titles(path: FilePath) -> dict[str, str]:
    with open_bytes(path) as file:
        # Its README does not say so, but the titles are in Latin-1.
        lines = file.read().decode("latin-1").replace("\r\n", "\n").split("\n")
    titles: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        item, _, rest = line.partition("|")
        title = rest.partition("|")[0]
        if line and not (item and title):
            raise WhereofError(f"{path}:{number}: expected item, title, ..., separated by '|'")
        titles |= {item: title} if line else {}
    return titles
