"""Queries from a file: all found before any is answered."""

import csv
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from whence.data import Dataset
from whence.errors import WhenceError
from whence.predict._query import OPEN, Query, find_query

_MANY = 20
"""Bad lines that are counted: finding near names for each takes a while."""


def read_queries(path: Path, dataset: Dataset, *, inverse: bool) -> list[Query]:
    """One query a line, shaped as on the command line; an empty cell is one left open."""
    queries: list[Query] = []
    faults: list[str] = []
    for number, cells in read_rows(path):
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
    return f" ({n_bad}{' or more' if n_bad == _MANY else ''} other bad lines)"


def read_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of every line that is not blank: by TAB, or by comma in a .csv file."""
    name = path.name.lower()
    try:
        with (gzip.open if name.endswith(".gz") else open)(
            path, "rt", encoding="utf-8-sig", newline=""
        ) as file:
            rows = (
                csv.reader(file, strict=True)
                if name.removesuffix(".gz").endswith(".csv")
                else csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            )
            yield from ((rows.line_num, cells) for cells in rows if any(cells))
    except FileNotFoundError:
        raise WhenceError(f"{path}: no such file; check the path") from None
    except UnicodeDecodeError:
        raise WhenceError(f"{path}: not UTF-8 text; save the file as UTF-8") from None
    except (OSError, EOFError, zlib.error, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise WhenceError(f"{path}: cannot be read: {reason}; check the file") from None
