"""A dataset from a file, a folder, a catalogue name or a table in Python."""

import os
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from whereof.data._building import build_dataset
from whereof.data._catalogue import CATALOGUE, find_folder
from whereof.data._dataset import Dataset
from whereof.data._formats import read_facts
from whereof.data._labels import read_labels
from whereof.data._locating import Files, folder_files, has_train_file, one_file
from whereof.data._movielens import read_movielens
from whereof.data._nearest import nearest
from whereof.data._options import ReadOptions
from whereof.data._paths import is_file, is_folder
from whereof.data._ratings import ratings_as_objects
from whereof.data._splitting import hold_out
from whereof.data._streams import FilePath
from whereof.data._tables import read_table
from whereof.errors import WhereofError
from whereof.events import Events
from whereof.settings import plain

_STDIN: Final = "/dev/stdin"
"""What - stands for."""


def read_dataset(
    source: Any,
    /,
    *,
    events: Events | None = None,
    objects_if_rated: bool = False,
    **options: Any,
) -> Dataset:
    """The dataset that a source stands for.

    Parameters
    ----------
    source
        A file of training facts, a folder with a train file and optionally valid, test and label
        files, a name in `CATALOGUE`, or a table: of pandas, polars or Arrow, or a dict of columns.
        A file or a folder with a train file goes before a catalogue name.
    events
        Receives the progress of a download.
    objects_if_rated
        What `ratings_as_objects` is where it is not given and the data has ratings.
    **options
        Fields of `ReadOptions`: what to read of it, and how.
    """
    chosen = ReadOptions.from_dict(options | _columns_as_text(options))
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


def _columns_as_text(options: dict[str, Any]) -> dict[str, str]:
    """Columns that are given by number, or as a list, as they are typed."""
    texts = {
        name: str(options[name])
        for name in ("rating", "source")
        if isinstance(plain(options.get(name)), int)
    }
    columns = options.get("columns")
    if isinstance(columns, Iterable) and not isinstance(columns, str):
        texts["columns"] = ",".join(map(str, columns))
    return texts


def _about(source: Any, options: ReadOptions) -> dict[str, Any]:
    """What was read, and the options that are not as by default, as JSON can hold them."""
    about = {"data": source if isinstance(source, (str, os.PathLike)) else "table"}
    for item in fields(options):
        value = getattr(options, item.name)
        if value != item.default:
            about[item.name] = "given" if isinstance(value, dict) else value
    return {name: _plain(value) for name, value in about.items()}


def _plain(value: Any) -> Any:
    """A path as text; bytes of one that are no UTF-8 are written out."""
    if not isinstance(value, (str, os.PathLike)):
        return value
    return str(value).encode(errors="backslashreplace").decode()


def _read(source: Any, options: ReadOptions, events: Events | None) -> Dataset:
    """All facts of an existing path that can be read as data, else of a catalogue name."""
    if not isinstance(source, (str, os.PathLike)):
        return build_dataset(
            options.name or "table",
            read_table(source, options),
            entity_labels=_labels(options.entity_labels),
            relation_labels=_labels(options.relation_labels),
        )
    text = _STDIN if str(source) == "-" else str(source)
    path = Path(text)
    entry = CATALOGUE.get(text.lower())
    # An empty text is no path, although Path("") is the working folder.
    if text and is_file(path):
        return _read_files(one_file(path), options)
    if text and is_folder(path) and (entry is None or has_train_file(path)):
        name = path.name if path.name not in ("", "..") else path.resolve().name
        return _read_files(folder_files(name, path), options)
    if entry is not None:
        folder = find_folder(entry, options.data_dir, events)
        if entry.layout == "movielens":
            return _read_movielens(entry.name, folder, options)
        return _read_files(folder_files(entry.name, folder), options)
    near = nearest(text, CATALOGUE)
    hint = f"did you mean {', '.join(map(repr, near))}? " if near else ""
    raise WhereofError(
        f"{text!r} is neither a file, a folder nor a catalogue name; {hint}"
        f"the catalogue has {', '.join(CATALOGUE)}"
    )


def _read_files(files: Files, options: ReadOptions) -> Dataset:
    if options.held_out and (there := files.valid or files.test):
        raise WhereofError(
            f"{there}: held out already; leave out valid_fraction and test_fraction, "
            f"or give {files.train} alone"
        )
    return build_dataset(
        options.name or files.name,
        read_facts(files.train, options, "train"),
        read_facts(files.valid, options, "valid") if files.valid else (),
        read_facts(files.test, options, "test") if files.test else (),
        entity_labels=_labels(options.entity_labels, files.entity_labels),
        relation_labels=_labels(options.relation_labels, files.relation_labels),
    )


def _read_movielens(name: str, folder: FilePath, options: ReadOptions) -> Dataset:
    if options.held_out:
        raise WhereofError(
            f"{name} has validation and test facts; leave out valid_fraction and test_fraction"
        )
    chosen = ("format", "columns", "header", "rating", "source")
    options.refuse(chosen, f"{name} is read as it is published")
    films = read_movielens(folder)
    return build_dataset(
        options.name or name,
        films.train,
        films.valid,
        films.test,
        entity_labels=_labels(options.entity_labels) or films.titles,
        relation_labels=_labels(options.relation_labels),
    )


def _labels(given: Any, found: FilePath | None = None) -> dict[str, str] | None:
    """The labels that were given, in a file or as a dict; else those that were found."""
    if isinstance(given, dict):
        return given
    path = Path(given) if given is not None else found
    return read_labels(path) if path is not None else None
