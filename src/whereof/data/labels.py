"""Read labels (readable text for names) from a file, a frame or a dict."""

from collections.abc import Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Final

from whereof.data.columns import find_column
from whereof.data.frames import cells_of, column_at, column_names
from whereof.data.text import read_rows
from whereof.errors import WhereofError
from whereof.settings import plain
from whereof.units import count

_LABEL_WORDS: Final = ("label", "title", "name", "text")


def find_labels(given: Any, found: Path | None = None) -> dict[str, str] | None:
    """The given labels, from a file or from Python; else those of the file in the folder.

    A file is given as PATH or PATH:NAMES,LABELS.
    """
    if given is None:
        return read_labels(found) if found is not None else None
    if not isinstance(given, str | Path):
        return as_labels(given)
    path, columns = Path(given), None
    if not path.exists():
        before, colon, after = str(given).rpartition(":")
        if colon and Path(before).exists():
            path, columns = Path(before), after
    return read_labels(path, columns)


def as_labels(given: Any, kind: str = "entity") -> dict[str, str]:
    """Name -> label, from a dict, a pandas series or a frame of two columns.

    A name may be a number; rows without a label are skipped.
    """
    pairs: Iterable[tuple[Any, Any]]
    if hasattr(given, "columns"):
        places, _ = _places([*map(str, column_names(given))], "labels", None)
        pairs = zip(*(cells_of(column_at(given, at)) for at in places), strict=True)
    else:
        pairs = given.items()
    labels: dict[str, str] = {}
    for name, label in pairs:
        if label is None or label != label:  # missing in a frame
            continue
        if not isinstance(label, str) or not isinstance(name, str | Real):
            raise WhereofError(f"{kind} label {label!r} for {name!r}; give both as text")
        number = plain(name)
        whole = isinstance(number, float) and number.is_integer()
        labels[str(int(number) if whole else number)] = label  # 5.0 is 5 in a file
    return labels


def read_labels(path: Path, columns: str | None = None) -> dict[str, str]:
    """Name -> label, from a file of two columns, or of more if two are named.

    columns: the column of names and the column of labels, by name or position, such as
    `movieId,title`. Without it, a file with more than two columns needs a header that says which
    column holds the labels: label, title, name or text.
    """
    labels: dict[str, str] = {}
    places: Sequence[int] = ()
    for row in read_rows(path):
        where = f"{path}:{row.line}"
        if not places:
            width = len(row.cells)
            places, header = _places(row.cells, where, columns)
            if header:
                continue
        if len(row.cells) != width:
            raise WhereofError(
                f"{where}: {count(len(row.cells), 'column')}, expected {width} as above"
            )
        name, label = (row.cells[at] for at in places)
        if not (name.strip() and label.strip()):
            word = "name" if label.strip() else "label"
            raise WhereofError(f"{where}: an empty {word}; fill it or delete the line")
        if labels.setdefault(name, label) != label:
            raise WhereofError(
                f"{where}: second label {label!r} for {name!r}, already {labels[name]!r}; keep one"
            )
    if not labels:
        raise WhereofError(f"{path}: an empty file; expected lines of 2 (name, label)")
    return labels


def _places(cells: Sequence[str], where: str, columns: str | None) -> tuple[Sequence[int], bool]:
    """The positions of name and label, and whether the row is a header."""
    if columns is not None:
        asked = [text.strip() for text in columns.split(",")]
        if len(asked) != 2:
            raise WhereofError(
                f"{columns!r} names {len(asked)} columns of labels; give 2, such as movieId,title"
            )
        header = not all(map(str.isdecimal, asked))
        return [find_column(text, cells, where, header=header) for text in asked], header
    words = [cell.strip().casefold() for cell in cells]
    titles = [word for word in _LABEL_WORDS if word in words]
    if len(cells) > 2 and titles:
        label = words.index(titles[0])
        ids = [at for at, word in enumerate(words) if word.endswith("id") and at != label]
        return [ids[0] if ids else int(label == 0), label], True
    if len(cells) == 2:
        return (0, 1), False
    remedy = "name two of them after the path, such as FILE:1,2 or FILE:movieId,title"
    raise WhereofError(
        f"{where}: {count(len(cells), 'column')}, expected 2 (name, label)"
        + f"; {remedy}" * (len(cells) > 1)
    )
