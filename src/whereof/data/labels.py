"""Read labels (readable text for names) from a file, a frame or a dict."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final, TypeAlias

from whereof.data.layout import find_column
from whereof.data.text import FilePath, Row, read_rows
from whereof.errors import WhereofError

Labels: TypeAlias = Mapping[Any, str] | Any
"""Name -> label, as a dict, a pandas series or a frame of two columns; a name may be a number."""

_LABEL_WORDS: Final = ("label", "title", "name", "text")


def as_labels(given: Labels | None, kind: str = "entity") -> dict[str, str]:
    """Name -> label; rows without a label are skipped."""
    if given is None:
        return {}
    pairs = _frame_pairs(given) if hasattr(given, "columns") else given.items()
    labels: dict[str, str] = {}
    for name, label in pairs:
        if label is None or label != label:  # missing in a frame
            continue
        if not isinstance(label, str) or not isinstance(name, str | Integral | Real):
            raise WhereofError(f"{kind} label {label!r} for {name!r}; give both as text")
        labels[_name(name)] = label
    return labels


def read_labels(path: FilePath, columns: str | None = None) -> dict[str, str]:
    """Name -> label, from a file of two columns, or of more if two are named.

    columns: the column of names and the column of labels, by name or position, such as
    `movieId,title`. Without it, a file with more than two columns needs a header that says which
    column holds the labels: label, title, name or text.
    """
    labels: dict[str, str] = {}
    comma = path.name.lower().removesuffix(".gz").endswith(".csv")
    for row, name, label in _two_columns(path, read_rows(path, comma=comma), columns):
        where = f"{path}:{row.line}"
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


def find_labels(given: Any, found: FilePath | None = None) -> dict[str, str] | None:
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


def _two_columns(
    path: FilePath, rows: Iterable[Row], columns: str | None
) -> Iterator[tuple[Row, str, str]]:
    """The name and label of every row."""
    places: Sequence[int] = ()
    width = 0
    for row in rows:
        if not places:
            width = len(row.cells)
            places, header = _places(row.cells, f"{path}:{row.line}", columns)
            if header:
                continue
        if len(row.cells) != width:
            count = "1 column" if len(row.cells) == 1 else f"{len(row.cells)} columns"
            raise WhereofError(f"{path}:{row.line}: {count}, expected {width} as above")
        yield row, row.cells[places[0]], row.cells[places[1]]


def _places(cells: Sequence[str], where: str, columns: str | None) -> tuple[Sequence[int], bool]:
    """The positions of name and label, and whether the row is a header."""
    if columns is not None:
        asked = [text.strip() for text in columns.split(",")]
        if len(asked) != 2:
            raise WhereofError(
                f"{columns!r} names {len(asked)} columns of labels; give 2, such as movieId,title"
            )
        header = not all(map(str.isdecimal, asked))
        places = [find_column(text, cells, where, header=header) for text in asked]
        return places, header
    words = [cell.strip().casefold() for cell in cells]
    titles = [word for word in _LABEL_WORDS if word in words]
    if len(cells) > 2 and titles:
        label = words.index(titles[0])
        ids = [at for at, word in enumerate(words) if word.endswith("id") and at != label]
        return [ids[0] if ids else int(label == 0), label], True
    if len(cells) != 2:
        if len(cells) == 1:
            raise WhereofError(f"{where}: 1 column, expected 2 (name, label)")
        raise WhereofError(
            f"{where}: {len(cells)} columns, expected 2 (name, label); "
            "name two of them after the path, such as FILE:1,2 or FILE:movieId,title"
        )
    return (0, 1), False


def _frame_pairs(frame: Any) -> Iterator[tuple[Any, Any]]:
    """Names and labels of a frame of pandas, polars or Arrow."""
    names = frame.column_names if hasattr(frame, "column_names") else frame.columns
    places, _ = _places([*map(str, names)], "labels", None)
    for_name, for_label = (
        frame.iloc[:, at] if hasattr(frame, "iloc") else frame[names[at]] for at in places
    )
    as_list = "to_pylist" if hasattr(for_name, "to_pylist") else "to_list"
    return zip(getattr(for_name, as_list)(), getattr(for_label, as_list)(), strict=True)


def _name(name: Any) -> str:
    """A name as text; whole numbers without decimals, as in a file."""
    return str(int(name)) if not isinstance(name, str) and name == int(name) else str(name)
