"""Read a dataset from a file, a folder, a catalogue name or a table in Python."""

import os
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from whereof.data.build import build_dataset, hold_out
from whereof.data.catalogue import CATALOGUE, find_folder
from whereof.data.columns import FactTable
from whereof.data.dataset import Dataset, ratings_as_objects
from whereof.data.frames import read_frame, read_parquet
from whereof.data.labels import as_labels, find_labels
from whereof.data.options import ReadOptions
from whereof.data.text import FilePath, open_bytes, read_text
from whereof.data.vocabulary import nearest
from whereof.errors import WhereofError
from whereof.events import Events
from whereof.settings import plain

_STDIN: Final = "/dev/stdin"
"""The file that `-` means."""
_FORMATS: Final = {
    ".txt": "tsv",
    ".tsv": "tsv",
    "": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".nt": "ntriples",
    ".ttl": "turtle",
}
_FACTS: Final = tuple(end + packed for packed in ("", ".gz") for end in _FORMATS)
_LABELS: Final = tuple(e + p for p in ("", ".gz") for e in (".txt", ".tsv", "", ".csv"))
_N_VALID: Final = 5000
"""The paper validates on the first lines of MovieLens' ua.test."""
_MOVIELENS: Final = ReadOptions(format="tsv", header=False, columns="1,2", rating="3")


def read_dataset(
    source: Any,
    /,
    *,
    events: Events | None = None,
    objects_if_rated: bool = False,
    **options: Any,
) -> Dataset:
    """Read a dataset.

    Parameters
    ----------
    source
        A file of training facts, a folder with a train file and optionally valid, test and label
        files, a name in `CATALOGUE`, or a table: of pandas, polars or Arrow, or a dict of columns.
        A file or a folder with a train file has precedence over a catalogue name.
    events
        Receives the progress of a download.
    objects_if_rated
        Value of `ratings_as_objects` if it is not given and the data has ratings.
    **options
        Fields of `ReadOptions`: what to read, and how.
    """
    chosen = ReadOptions.from_dict(options | _as_options(options))
    dataset = _read(source, chosen, events)
    if chosen.ratings_as_objects is None and objects_if_rated and dataset.ratings is not None:
        chosen = chosen.replace(ratings_as_objects=True)
        note = "ratings taken as objects: facts are (user, item, rating)"
        dataset = replace(dataset, notes=(*dataset.notes, note))
    dataset = replace(dataset, read={**_about(source, chosen), **dataset.read})
    if chosen.ratings_as_objects:
        dataset = ratings_as_objects(dataset)
    if chosen.held_out:
        return hold_out(dataset, chosen.valid_fraction, chosen.test_fraction, chosen.split_seed)
    return dataset


def read_facts(path: FilePath, options: ReadOptions, split: str) -> FactTable:
    """The facts of one file; `split` separates its blank nodes from those of other files."""
    form = options.format or _FORMATS[_extension(path.name)]
    if form in ("ntriples", "turtle"):
        from whereof.data.rdf import read_rdf

        return read_rdf(path, form, options, split)
    if form == "parquet":
        return read_parquet(path, options)
    return read_text(path, options, comma=form == "csv")


def _as_options(given: dict[str, Any]) -> dict[str, Any]:
    """Normalise options: columns to text as typed, labels in a frame to a dict."""
    found: dict[str, Any] = {
        name: str(given[name])
        for name in ("rating", "source")
        if isinstance(plain(given.get(name)), int)
    }
    columns = given.get("columns")
    if isinstance(columns, Iterable) and not isinstance(columns, str):
        found["columns"] = ",".join(map(str, columns))
    for kind in ("entity", "relation"):
        labels = given.get(f"{kind}_labels")
        if hasattr(labels, "items") or hasattr(labels, "columns"):
            found[f"{kind}_labels"] = as_labels(labels, kind)
    return found


def _about(source: Any, options: ReadOptions) -> dict[str, Any]:
    """What was read, and the options that differ from the defaults, as JSON values."""
    about: dict[str, Any] = {"data": source if isinstance(source, (str, os.PathLike)) else "table"}
    for item in fields(options):
        value = getattr(options, item.name)
        if value != item.default:
            about[item.name] = "given" if isinstance(value, dict) else value
    return {
        # Bytes of a path that are not UTF-8 are escaped.
        name: str(value).encode(errors="backslashreplace").decode()
        if isinstance(value, (str, os.PathLike))
        else value
        for name, value in about.items()
    }


def _read(source: Any, options: ReadOptions, events: Events | None) -> Dataset:
    """Read an existing path, else a catalogue name."""
    if not isinstance(source, (str, os.PathLike)):
        return build_dataset(
            options.name or "table",
            read_frame(source, options),
            entity_labels=find_labels(options.entity_labels),
            relation_labels=find_labels(options.relation_labels),
        )
    text = _STDIN if str(source) == "-" else str(source)
    path = Path(text)
    entry = CATALOGUE.get(text.lower())
    # Path refuses impossible names, such as one with a NUL; os.path says that there is none.
    exists = os.path.exists(text)  # noqa: PTH110
    if exists and not path.is_dir():  # a file, or a pipe
        name = path.name.removesuffix(".gz").removesuffix(_extension(path.name))
        return _read_files(name, {"train": path}, options)
    if exists and (entry is None or _pick(path, ("train",), _FACTS)):
        name = path.name if path.name not in ("", "..") else path.resolve().name
        return _read_files(name, _folder_files(path), options)
    if entry is not None:
        folder = find_folder(entry, options.data_dir, events)
        if entry.layout == "movielens":
            return _read_movielens(entry.name, folder, options)
        return _read_files(entry.name, _folder_files(folder), options)
    near = nearest(text, CATALOGUE)
    hint = f"did you mean {', '.join(map(repr, near))}? " if near else ""
    raise WhereofError(
        f"{text!r} is neither a file, a folder nor a catalogue name; {hint}"
        f"the catalogue has {', '.join(CATALOGUE)}"
    )


def _extension(name: str) -> str:
    name = name.removesuffix(".gz")
    return next((end for end in _FORMATS if end and name.endswith(end)), "")


def _folder_files(folder: FilePath) -> dict[str, FilePath]:
    """The files of a dataset in a folder by purpose, found by name."""
    labels = ("2text", "2label", "_labels")
    found = {
        "train": _pick(folder, ("train",), _FACTS),
        "valid": _pick(folder, ("valid", "validation", "dev"), _FACTS),
        "test": _pick(folder, ("test",), _FACTS),
        "entity": _pick(folder, tuple(f"entity{end}" for end in labels), _LABELS),
        "relation": _pick(folder, tuple(f"relation{end}" for end in labels), _LABELS),
    }
    if found["train"] is None:
        raise WhereofError(
            f"{folder}: no train file in this folder; expected train.txt, .tsv, .csv, .parquet, "
            ".nt or .ttl, plain or .gz, and optionally valid and test beside it"
        )
    return {what: path for what, path in found.items() if path is not None}


def _pick(folder: FilePath, stems: tuple[str, ...], extensions: tuple[str, ...]) -> FilePath | None:
    """The one file of the folder with such a name; None if there is none."""
    candidates = [folder.joinpath(stem + end) for stem in stems for end in extensions]
    try:
        found = [candidate for candidate in candidates if candidate.is_file()]
    except OSError as error:
        raise WhereofError(f"{folder}: cannot be read: {error.strerror or error}") from None
    if len(found) > 1:
        names = ", ".join(candidate.name for candidate in found)
        raise WhereofError(
            f"{folder}: {len(found)} files for {stems[0]}: {names}; keep one of them"
        )
    return found[0] if found else None


def _read_files(name: str, files: dict[str, FilePath], options: ReadOptions) -> Dataset:
    if options.held_out and (there := files.get("valid") or files.get("test")):
        raise WhereofError(
            f"{there} contains held-out facts already; leave out valid_fraction and test_fraction, "
            f"or give {files['train']} alone"
        )
    tables = {
        split: read_facts(files[split], options, split)
        for split in ("train", "valid", "test")
        if split in files
    }
    return build_dataset(
        options.name or name,
        tables["train"],
        tables.get("valid", ()),
        tables.get("test", ()),
        entity_labels=find_labels(options.entity_labels, files.get("entity")),
        relation_labels=find_labels(options.relation_labels, files.get("relation")),
    )


def _read_movielens(name: str, folder: FilePath, options: ReadOptions) -> Dataset:
    """Read the original files of MovieLens 100k: ua.base, ua.test and u.item, plain or gzipped."""
    if options.held_out:
        raise WhereofError(
            f"{name} has validation and test facts; leave out valid_fraction and test_fraction"
        )
    chosen = ("format", "columns", "header", "rating", "source")
    options.refuse(chosen, f"the files of {name} have a fixed format")
    held_out = read_facts(_find(folder, "ua.test"), _MOVIELENS, "test")
    titles = _read_titles(_find(folder, "u.item"))
    return build_dataset(
        options.name or name,
        read_facts(_find(folder, "ua.base"), _MOVIELENS, "train"),
        held_out.take(slice(_N_VALID)),
        held_out.take(slice(_N_VALID, None)),
        entity_labels=find_labels(options.entity_labels) or titles,
        relation_labels=find_labels(options.relation_labels),
    )


def _find(folder: FilePath, name: str) -> FilePath:
    """A file of a folder, or its gzipped copy."""
    for candidate in (folder.joinpath(name), folder.joinpath(name + ".gz")):
        if candidate.is_file():
            return candidate
    raise WhereofError(f"{folder}: no {name} in this folder; put {name} or {name}.gz there")


def _read_titles(path: FilePath) -> dict[str, str]:
    with open_bytes(path) as file:
        # The titles are in Latin-1, although the README does not say so.
        lines = file.read().decode("latin-1").replace("\r\n", "\n").split("\n")
    titles: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        item, _, rest = line.partition("|")
        title = rest.partition("|")[0]
        if line and not (item and title):
            raise WhereofError(f"{path}:{number}: expected item, title, ..., separated by '|'")
        titles |= {item: title} if line else {}
    return titles
