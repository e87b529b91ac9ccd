"""Read lists of queries and predictions from files, one per line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from whereof.data.dataset import Dataset
from whereof.data.text import read_rows
from whereof.errors import WhereofError
from whereof.predict.prediction import (
    OPEN,
    Listed,
    Prediction,
    find_prediction,
    predictions_of_split,
)
from whereof.predict.scored import Trained

_MANY: Final = 20
"""The maximum number of bad lines to count: finding similar names is slow."""


def read_list(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row, separated by TAB, or by comma in a .csv file.

    An empty cell is an open place.
    """
    comma = path.name.lower().removesuffix(".gz").endswith(".csv")
    for row in read_rows(path, comma=comma):
        if any(row.cells):
            yield row.line, [cell or OPEN for cell in row.cells]


def read_queries(path: Path, dataset: Dataset, *, inverse: bool) -> list[Prediction]:
    """Read queries; all names are looked up before any query is answered."""
    queries: list[Prediction] = []
    faults: list[str] = []
    for number, cells in read_list(path):
        try:
            queries.append(find_prediction(dataset, cells, inverse=inverse, query=True))
        except WhereofError as error:
            faults.append(f"{path}:{number}: {error}")
        if len(faults) > _MANY:
            break
    if faults:
        raise WhereofError(faults[0] + _others(len(faults) - 1))
    if not queries:
        raise WhereofError(
            f"{path}: the file contains no query; write one per line, with names separated by TAB"
        )
    return queries


def find_predictions(
    trained: Trained, predictions: str | Path, split: str, limit: int | None, asks: str
) -> list[Listed]:
    """The first predictions of a split, `top` or `true`, or of a file.

    What is wrong with a line of a file is reported when its prediction is explained.
    """
    if limit is not None and (isinstance(limit, bool) or limit < 1):
        raise WhereofError(f"limit is {limit!r}; give a number from 1 on")
    if predictions in ("top", "true"):
        inverse, true = trained.config.inverse, predictions == "true"
        found = predictions_of_split(trained.dataset, split, asks, inverse=inverse, true=true)
        return found[:limit]
    path = Path(predictions)
    listed = [Listed(number, tuple(cells)) for number, cells in read_list(path)]
    if not listed:
        raise WhereofError(
            f"{path}: the file contains no prediction; write one per line, "
            "with names separated by TAB"
        )
    return listed[:limit]


def _others(n_bad: int) -> str:
    if not n_bad:
        return ""
    lines = "line" if n_bad == 1 else "lines"
    return f" ({n_bad}{' or more' if n_bad == _MANY else ''} other bad {lines})"
