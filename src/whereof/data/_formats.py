"""One file of facts, in whatever format it is."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from whereof.data._columns import FactTable
from whereof.data._csv import read_csv
from whereof.data._gathering import Stretch, gather, is_number
from whereof.data._layout import EXPECTED, Layout, choose_layout
from whereof.data._options import ReadOptions
from whereof.data._streams import FilePath
from whereof.data._tsv import read_tsv
from whereof.errors import WhereofError

_FORMATS: Final = {
    ".txt": "tsv",
    ".tsv": "tsv",
    "": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".nt": "ntriples",
    ".ttl": "turtle",
}
EXTENSIONS: Final = tuple(end + packed for packed in ("", ".gz") for end in _FORMATS)
"""Of a file of facts."""
LABEL_EXTENSIONS: Final = tuple(e + p for p in ("", ".gz") for e in (".txt", ".tsv", "", ".csv"))
"""Of a file of labels."""


def stem(name: str) -> str:
    """A file's name without the extensions that are known here."""
    return name.removesuffix(".gz").removesuffix(_extension(name))


def _extension(name: str) -> str:
    name = name.removesuffix(".gz")
    return next((end for end in _FORMATS if end and name.endswith(end)), "")


def read_facts(path: FilePath, options: ReadOptions, split: str) -> FactTable:
    """The facts of one file; `split` tells its blank nodes from those of others."""
    form = options.format or _FORMATS[_extension(path.name)]
    if form in ("ntriples", "turtle"):
        from whereof.data._rdf import read_rdf

        return read_rdf(path, form, options, split)
    if form == "parquet":
        from whereof.data._arrow import read_parquet

        return read_parquet(path, options)
    return _read_text(path, read_csv(path) if form == "csv" else read_tsv(path), options)


def _read_text(path: FilePath, rows: Iterator[Stretch], options: ReadOptions) -> FactTable:
    first = next(rows, None)
    if first is None:
        raise WhereofError(f"{path}: an empty file; expected lines of {EXPECTED}")
    layout = choose_layout([cells[0] for cells in first.columns], first.where(0), options)
    if options.header is None and not layout.header:
        _check_rating(first, layout)
    table = gather(rows if layout.header else chain([first], rows), layout)
    if not len(table):
        raise WhereofError(f"{path}: no facts below the header; add some")
    notes = (f"line {first.numbers[0]} {layout.note}",) if layout.note else ()
    return replace(table, notes=notes)


def _check_rating(first: Stretch, layout: Layout) -> None:
    """Refuse a text as the first rating, which is most likely the name of its column."""
    if layout.rating is None or is_number(cell := first.columns[layout.rating][0]):
        return
    raise WhereofError(
        f"{first.where(0)}: rating {cell!r} is not a finite number; correct it, "
        f"or say --header if line {first.numbers[0]} names the columns"
    )
