"""Named datasets and where their files are; catalogue.toml lists them."""

import os
import sys
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from whereof.data.vocabulary import did_you_mean
from whereof.errors import WhereofError
from whereof.events import Events

_HERE: Final = Path(__file__).parent


@dataclass(frozen=True)
class File:
    """One file of a dataset, and where to get it."""

    name: str
    url: str
    """URL of the file, or of an archive that contains a file with this name."""
    sha256: str | None = None
    """SHA-256 of the unpacked file; None if it is not known in advance."""
    convert: str | None = None
    """How to extract labels from the download: "before comma" or "json"."""


@dataclass(frozen=True)
class Entry:
    """A named dataset; sizes are those of the published files."""

    name: str
    title: str
    citation: str
    homepage: str
    n_facts: int
    n_valid: int
    n_test: int
    n_entities: int
    """Number of entities in the training facts; if no file has a checksum, the published number."""
    n_relations: int
    """Number of relations, counted like the entities; 0 in two-way data."""
    licence: str = "unstated"
    """In one or two words."""
    terms: str = "its source states none"
    files: tuple[File, ...] = ()
    """Empty if the files come with the package."""
    layout: str = "triples"
    """The kind of files: "triples" (train, valid, test and labels) or "movielens"."""

    @property
    def bundled(self) -> bool:
        return not self.files

    @property
    def labelled(self) -> bool:
        return any(file.name in ("entity2text.txt", "u.item") for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        files = [{"name": f.name, "url": f.url, "sha256": f.sha256} for f in self.files]
        return asdict(self) | {"labelled": self.labelled, "files": files}


def _load() -> dict[str, Entry]:
    found = {}
    tables = tomllib.loads((_HERE / "catalogue.toml").read_text(encoding="utf-8"))
    for dataset, own in tables.items():
        table = tables.get(own.pop("like", None), {}) | own
        sizes = {f"n_{what}": n for what, n in table.pop("sizes").items()}
        files = [
            file | {"name": name, "url": file["url"].format(dataset=dataset, name=name)}
            for file in table.pop("files", ())
            for name in file.get("names", [file.get("name")])
        ]
        found[dataset] = table | sizes | {"name": dataset, "files": files}
    return msgspec.convert(found, dict[str, Entry])


CATALOGUE: Final = _load()


@dataclass(frozen=True)
class Place:
    """The place of a dataset's files."""

    kind: str
    """bundled, copy (in a folder of the user), cached or absent."""
    folder: Path | None = None


def find_entry(name: str) -> Entry:
    """The entry with this name, regardless of case."""
    entry = CATALOGUE.get(name.lower())
    if entry is None:
        hint = did_you_mean(name, CATALOGUE)
        raise WhereofError(f"unknown dataset {name!r}; {hint}there are {', '.join(CATALOGUE)}")
    return entry


def locate(entry: Entry, data_dir: str | Path | None = None) -> Place:
    """Locate a dataset: in the package, in the data folder or in the cache.

    If `data_dir` is given, only that folder is searched. The folder that the environment names may
    contain some of the datasets only.
    """
    if entry.bundled:
        return Place("bundled", _HERE / entry.name)
    given = data_dir or os.environ.get("WHEREOF_DATA")
    for kind, root in {"copy": given, "cached": None if data_dir else cache_folder()}.items():
        folder = Path(root or "").expanduser() / entry.name
        if root and os.path.isdir(folder):  # noqa: PTH112 (Path refuses a name that is too long)
            return Place(kind, folder)
    return Place("absent")


def find_folder(
    entry: Entry, data_dir: str | Path | None = None, events: Events | None = None
) -> Path:
    """The folder of a dataset's files, downloaded if absent.

    If `data_dir` is given, the dataset's folder must be in it, and nothing is downloaded.
    """
    from whereof.data.download import check_files, fetch  # slow to import

    place = locate(entry, data_dir)
    if place.folder is None and data_dir:
        folder = Path(data_dir).expanduser() / entry.name
        raise WhereofError(
            f"no folder {folder}; pass the folder that contains {entry.name}/ as --data-dir, "
            "or leave out --data-dir to download the dataset"
        )
    if place.folder is None:
        return fetch(entry, cache_folder(), events)
    if place.kind == "cached":
        check_files(entry, place.folder)
    return place.folder


def cache_folder() -> Path:
    """The cache folder, with one folder per dataset."""
    if given := os.environ.get("WHEREOF_CACHE"):
        return Path(given).expanduser()
    usual = {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    return Path(os.environ.get(variable) or Path.home() / usual) / "whereof"
