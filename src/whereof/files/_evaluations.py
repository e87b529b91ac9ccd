"""Evaluations in a run's folder, where reports find them, and their retrainings as a table."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.files._formats import Layout, find_format
from whereof.files._writing import check_free, new_file, write_text

_COLUMNS = {
    "protocol": "string",
    "method": "string",
    "k": "string",
    "seed": "int64",
    **dict.fromkeys(("constraint", "subject", "relation", "object", "asks"), "string"),
    "removed": "list int64",
    **dict.fromkeys(("original", "predicted", "actual"), "float64"),
    **dict.fromkeys(("original_score", "actual_score"), "float64"),
    **dict.fromkeys(("rank_before", "rank_after"), "int64"),
    **dict.fromkeys(("top_before", "top_after", "top_released"), "string"),
}
_FOLDER = "evaluations"

Row = dict[str, Any]


def _rows(row: Row) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in _COLUMNS)]


_LAYOUT: Layout[Row] = Layout(_COLUMNS, _rows, lambda row: row | {"removed": list(row["removed"])})


def check_retrainings(path: Path, *, force: bool) -> None:
    """Refuse a file that could not be written, before anything is retrained."""
    find_format(path, _LAYOUT)
    check_free(path, force=force)


def write_retrainings(path: Path, rows: Iterable[Row], *, force: bool = False) -> None:
    """Retrainings in the format that the file's name ends in, a row each."""
    fill = find_format(path, _LAYOUT)
    check_free(path, force=force)
    with new_file(path, fill) as write:
        for row in rows:
            write(row)


def save_evaluation(folder: Path, document: dict[str, Any]) -> Path:
    """Keep an evaluation in a run's folder, in the place of an earlier one of the same options.

    It is evaluations/PREDICTIONS-KEY.json: `top`, `true` or the name of the file, and a short
    digest of the options and seeds.
    """
    asked = json.dumps([document["options"], document["seeds"]], sort_keys=True)
    key = blake2b(asked.encode(), digest_size=4).hexdigest()
    path = folder / _FOLDER / f"{Path(document['predictions']).stem}-{key}.json"
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    write_text(path, text + "\n", force=True)
    return path


def save_influences(evaluation: Path, name: str, matrix: NDArray[np.float64]) -> Path:
    """Keep an array beside its evaluation, such as true influences as EVALUATION-seed-42.npy."""
    path = evaluation.with_name(f"{evaluation.stem}-{name}.npy")
    with new_file(path, _open_array) as write:
        write(matrix)
    return path


@contextmanager
def _open_array(path: Path) -> Iterator[Callable[[NDArray[np.float64]], None]]:
    with path.open("wb") as file:
        yield lambda matrix: np.save(file, matrix, allow_pickle=False)


def find_evaluations(folder: Path) -> list[Path]:
    """The evaluations that a run's folder keeps, the latest last."""
    paths = (folder / _FOLDER).glob("*.json")
    return sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path))
