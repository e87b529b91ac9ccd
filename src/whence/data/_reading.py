"""A dataset from a file, a folder or a catalogue name."""

from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from whence.data._building import build_dataset
from whence.data._catalogue import CATALOGUE, find_folder
from whence.data._dataset import Dataset
from whence.data._nearest import nearest
from whence.data._options import ReadOptions
from whence.data._paths import is_file, is_folder
from whence.data._tsv import read_labels, read_tsv
from whence.errors import WhenceError

_EXTENSIONS: Final = (".txt", ".tsv", "", ".txt.gz", ".tsv.gz", ".gz")
_TRAIN: Final = ("train",)
_VALID: Final = ("valid", "validation", "dev")
_TEST: Final = ("test",)
_ENTITY_LABELS: Final = ("entity2text", "entity2label", "entity_labels")
_RELATION_LABELS: Final = ("relation2text", "relation2label", "relation_labels")


def read_dataset(source: str | Path, **options: Any) -> Dataset:
    """The dataset that a source stands for.

    Parameters
    ----------
    source
        A file of training facts, a folder with a train file and optionally valid, test and label
        files, or a name in `CATALOGUE`. A file or a folder with a train file goes before a
        catalogue name.
    **options
        Fields of `ReadOptions`: what to read of it, and how.
    """
    chosen = ReadOptions.from_dict(options)
    files = _locate(source, _path(chosen.data_dir))
    entity_file = _path(chosen.entity_labels) or files.entity_labels
    relation_file = _path(chosen.relation_labels) or files.relation_labels
    return build_dataset(
        files.name,
        read_tsv(files.train),
        read_tsv(files.valid) if files.valid else (),
        read_tsv(files.test) if files.test else (),
        entity_labels=read_labels(entity_file) if entity_file else None,
        relation_labels=read_labels(relation_file) if relation_file else None,
    )


@dataclass(frozen=True)
class _Files:
    """The files that make one dataset, and its name."""

    name: str
    train: Path | Traversable
    valid: Path | Traversable | None = None
    test: Path | Traversable | None = None
    entity_labels: Path | Traversable | None = None
    relation_labels: Path | Traversable | None = None


def _path(value: Any) -> Path | None:
    return Path(value) if value is not None else None


def _locate(source: str | Path, data_dir: Path | None) -> _Files:
    """The files of a source: an existing path that can be read as data, else a catalogue name."""
    text, path = str(source), Path(source)
    entry = CATALOGUE.get(text.lower())
    # An empty text is no path, although Path("") is the working folder.
    if text and is_file(path):
        return _Files(_stem(path.name), path)
    if text and is_folder(path) and (entry is None or _pick(path, _TRAIN)):
        name = path.name if path.name not in ("", "..") else path.resolve().name
        return _folder_files(name, path)
    if entry is not None:
        return _folder_files(entry.name, find_folder(entry, data_dir))
    near = nearest(text, CATALOGUE)
    hint = f"did you mean {', '.join(map(repr, near))}? " if near else ""
    raise WhenceError(
        f"{text!r} is neither a file, a folder nor a catalogue name; {hint}"
        f"the catalogue has {', '.join(CATALOGUE)}"
    )


def _folder_files(name: str, folder: Path | Traversable) -> _Files:
    train = _pick(folder, _TRAIN)
    if train is None:
        raise WhenceError(
            f"{folder}: no train file in this folder; expected train.txt or train.tsv, "
            "plain or .gz, and optionally valid and test beside it"
        )
    return _Files(
        name=name,
        train=train,
        valid=_pick(folder, _VALID),
        test=_pick(folder, _TEST),
        entity_labels=_pick(folder, _ENTITY_LABELS),
        relation_labels=_pick(folder, _RELATION_LABELS),
    )


def _pick(folder: Path | Traversable, stems: tuple[str, ...]) -> Path | Traversable | None:
    """The one file of the folder with such a stem; None where there is none."""
    candidates = [folder.joinpath(stem + end) for stem in stems for end in _EXTENSIONS]
    try:
        found = [candidate for candidate in candidates if candidate.is_file()]
    except OSError as error:
        raise WhenceError(f"{folder}: cannot be read: {error.strerror or error}") from None
    if len(found) > 1:
        names = ", ".join(candidate.name for candidate in found)
        raise WhenceError(f"{folder}: {len(found)} files for {stems[0]}: {names}; keep one of them")
    return found[0] if found else None


def _stem(name: str) -> str:
    """A file's name without the extensions that are known here."""
    for end in (".gz", ".txt", ".tsv"):
        name = name.removesuffix(end)
    return name
