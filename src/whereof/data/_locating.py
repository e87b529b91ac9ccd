"""The files that make one dataset."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from whereof.data._formats import EXTENSIONS, LABEL_EXTENSIONS, stem
from whereof.data._streams import FilePath
from whereof.errors import WhereofError

_TRAIN: Final = ("train",)
_VALID: Final = ("valid", "validation", "dev")
_TEST: Final = ("test",)
_ENTITY_LABELS: Final = ("entity2text", "entity2label", "entity_labels")
_RELATION_LABELS: Final = ("relation2text", "relation2label", "relation_labels")


@dataclass(frozen=True)
class Files:
    """The files of a dataset, and its name."""

    name: str
    train: FilePath
    valid: FilePath | None = None
    test: FilePath | None = None
    entity_labels: FilePath | None = None
    relation_labels: FilePath | None = None


def one_file(path: Path) -> Files:
    return Files(stem(path.name), path)


def has_train_file(folder: FilePath) -> bool:
    return _pick(folder, _TRAIN, EXTENSIONS) is not None


def folder_files(name: str, folder: FilePath) -> Files:
    """The files of a folder, found by their names."""
    train = _pick(folder, _TRAIN, EXTENSIONS)
    if train is None:
        raise WhereofError(
            f"{folder}: no train file in this folder; expected train.txt, .tsv, .csv, .parquet, "
            ".nt or .ttl, plain or .gz, and optionally valid and test beside it"
        )
    return Files(
        name=name,
        train=train,
        valid=_pick(folder, _VALID, EXTENSIONS),
        test=_pick(folder, _TEST, EXTENSIONS),
        entity_labels=_pick(folder, _ENTITY_LABELS, LABEL_EXTENSIONS),
        relation_labels=_pick(folder, _RELATION_LABELS, LABEL_EXTENSIONS),
    )


def _pick(folder: FilePath, stems: tuple[str, ...], extensions: tuple[str, ...]) -> FilePath | None:
    """The one file of the folder with such a stem; None where there is none."""
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
