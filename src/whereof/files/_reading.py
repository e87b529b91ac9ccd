"""Queries and predictions from a file, one a line."""

import csv
from collections.abc import Iterator
from pathlib import Path

from whereof.data import Dataset
from whereof.data.text import read_lines
from whereof.errors import WhereofError
from whereof.predict.prediction import (
    OPEN,
    Listed,
    Prediction,
    find_prediction,
    predictions_of_split,
)
from whereof.predict.scored import Trained

_MANY = 20
"""Bad lines that are counted: finding near names for each takes a while."""


def read_queries(path: Path, dataset: Dataset, *, inverse: bool) -> list[Prediction]:
    """Queries shaped as on the command line, all found before any is answered."""
    queries: list[Prediction] = []
    faults: list[str] = []
    for number, cells in _rows(path):
        try:
            queries.append(find_prediction(dataset, cells, inverse=inverse, query=True))
        except WhereofError as error:
            faults.append(f"{path}:{number}: {error}")
        if len(faults) > _MANY:
            break
    if faults:
        raise WhereofError(faults[0] + _others(len(faults) - 1))
    if not queries:
        raise WhereofError(f"{path}: no query in it; write one a line, its names separated by TAB")
    return queries


def read_predictions(path: Path) -> list[Listed]:
    """Predictions shaped as on the command line; what is wrong with one shows when it is found."""
    listed = [Listed(number, tuple(cells)) for number, cells in _rows(path)]
    if not listed:
        raise WhereofError(
            f"{path}: no prediction in it; write one a line, its names separated by TAB"
        )
    return listed


def find_predictions(
    trained: Trained, predictions: str | Path, split: str, limit: int | None, asks: str
) -> list[Listed]:
    """The first predictions of a split, `top` or `true`, or of a file."""
    if limit is not None and (isinstance(limit, bool) or limit < 1):
        raise WhereofError(f"limit is {limit!r}; give a number from 1 on")
    if predictions not in ("top", "true"):
        return read_predictions(Path(predictions))[:limit]
    inverse, true = trained.config.inverse, predictions == "true"
    found = predictions_of_split(trained.dataset, split, asks, inverse=inverse, true=true)
    return found[:limit]


def _others(n_bad: int) -> str:
    if not n_bad:
        return ""
    lines = "line" if n_bad == 1 else "lines"
    return f" ({n_bad}{' or more' if n_bad == _MANY else ''} other bad {lines})"


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of every line that is not blank: by TAB, or by comma in a .csv file.

    An empty cell is a place left open.
    """
    lines = read_lines(path)
    comma = path.name.lower().removesuffix(".gz").endswith(".csv")
    rows = (
        csv.reader(lines, strict=True)
        if comma
        else csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    )
    try:
        for cells in rows:
            if any(cells):
                yield rows.line_num, [cell or OPEN for cell in cells]
    except csv.Error as error:
        raise WhereofError(f"{path}:{rows.line_num}: {error}; expected whole quotes") from None
