"""The datasets known by name, and where their files are."""

import os
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from whereof.data._cache import cache_folder, check_files
from whereof.data._entries import ENTRIES
from whereof.data._entry import Entry
from whereof.data._nearest import nearest
from whereof.data._paths import is_folder
from whereof.errors import WhereofError
from whereof.events import Events

CATALOGUE: Final[dict[str, Entry]] = {entry.name: entry for entry in ENTRIES}


@dataclass(frozen=True)
class Place:
    """Where a dataset's files are."""

    kind: str
    """bundled, copy (one of the user's), cached or absent."""
    folder: Path | Traversable | None = None
    """None where absent."""


def find_entry(name: str) -> Entry:
    """The entry of a name, whatever its case."""
    entry = CATALOGUE.get(name.lower())
    if entry is None:
        near = nearest(name, CATALOGUE)
        hint = f"did you mean {', '.join(map(repr, near))}? " if near else ""
        raise WhereofError(f"unknown dataset {name!r}; {hint}there are {', '.join(CATALOGUE)}")
    return entry


def locate(entry: Entry, data_dir: str | Path | None = None) -> Place:
    """Where a dataset is: with the package, below the data folder, or in the cache.

    A data folder that is given holds it, or it is absent; the one that the environment names may
    hold only some of the datasets.
    """
    if entry.bundled:
        return Place("bundled", resources.files("whereof.data").joinpath(entry.name))
    if root := data_dir or os.environ.get("WHEREOF_DATA"):
        folder = Path(root).expanduser() / entry.name
        if is_folder(folder):
            return Place("copy", folder)
    if not data_dir and is_folder(folder := cache_folder() / entry.name):
        return Place("cached", folder)
    return Place("absent")


def find_folder(
    entry: Entry, data_dir: str | Path | None = None, events: Events | None = None
) -> Path | Traversable:
    """The folder with a dataset's files, which are fetched where they are absent."""
    place = locate(entry, data_dir)
    if isinstance(place.folder, Path) and place.kind == "cached":
        check_files(entry, place.folder)
    if place.folder is not None:
        return place.folder
    if data_dir:
        folder = Path(data_dir).expanduser() / entry.name
        raise WhereofError(
            f"the data of {entry.name} is not here: no folder {folder}; name the folder that "
            f"holds {entry.name}/, or leave --data-dir out to download it"
        )
    # Imported when it comes to it: it brings in much that nothing else needs.
    from whereof.data._download import fetch

    return fetch(entry, cache_folder(), events)


def fetch_dataset(
    name: str, data_dir: str | Path | None = None, events: Events | None = None
) -> Path | Traversable:
    """The folder of a named dataset, downloaded first where it is not here yet.

    Parameters
    ----------
    name
        One of `CATALOGUE`.
    data_dir
        The folder that holds the dataset's; where it is given, nothing is downloaded.
    """
    return find_folder(find_entry(name), data_dir, events)
