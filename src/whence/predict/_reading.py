"""Queries from a file: all found before any is answered."""

import csv
from collections.abc import Iterator
from pathlib import Path

from whence.data import Dataset
from whence.data._streams import read_lines
from whence.errors import WhenceError
from whence.predict._query import OPEN, Query, find_query

_MANY = 20
"""Bad lines that are counted: finding near names for each takes a while."""


def read_queries(path: Path, dataset: Dataset, *, inverse: bool) -> list[Query]:
    """One query a line, shaped as on the command line; an empty cell is one left open."""
    queries: list[Query] = []
    faults: list[str] = []
    for number, cells in _rows(path):
        try:
            queries.append(find_query(dataset, [cell or OPEN for cell in cells], inverse=inverse))
        except WhenceError as error:
            faults.append(f"{path}:{number}: {error}")
        if len(faults) > _MANY:
            break
    if faults:
        raise WhenceError(faults[0] + _others(len(faults) - 1))
    if not queries:
        raise WhenceError(f"{path}: no query in it; write one a line, its names separated by TAB")
    return queries


def _others(n_bad: int) -> str:
    if not n_bad:
        return ""
    lines = "line" if n_bad == 1 else "lines"
    return f" ({n_bad}{' or more' if n_bad == _MANY else ''} other bad {lines})"


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of every line that is not blank: by TAB, or by comma in a .csv file."""
    lines = read_lines(path)
    comma = path.name.lower().removesuffix(".gz").endswith(".csv")
    rows = (
        csv.reader(lines, strict=True)
        if comma
        else csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    )
    try:
        yield from ((rows.line_num, cells) for cells in rows if any(cells))
    except csv.Error as error:
        raise WhenceError(f"{path}:{rows.line_num}: {error}; expected whole quotes") from None
