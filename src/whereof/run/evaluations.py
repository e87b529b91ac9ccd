"""Evaluations in a run's folder, where reports find them."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from whereof.run.files import draft_of, write_text

_FOLDER: Final = "evaluations"


def save_evaluation(folder: Path, document: dict[str, Any]) -> Path:
    """Keep an evaluation in a run's folder; it replaces an earlier one with the same options.

    The file is evaluations/PREDICTIONS-KEY.json: PREDICTIONS is `top`, `true` or the name of the
    file, KEY is a short digest of options and seeds.
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
    with draft_of(path) as draft, draft.open("wb") as file:
        np.save(file, matrix, allow_pickle=False)
    return path


def find_evaluations(folder: Path) -> list[Path]:
    """The evaluations in a run's folder, the latest last."""
    paths = (folder / _FOLDER).glob("*.json")
    return sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path))
