"""Results stored in a run's folder: evaluations, and arrays that methods prepare."""

import json
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.run.files import draft_of, write_array, write_text

_Arrays = Mapping[str, NDArray[Any]]


def save_evaluation(folder: Path, document: dict[str, Any], arrays: _Arrays | None = None) -> Path:
    """Keep an evaluation for reports; it replaces an earlier one with the same options.

    The file is evaluations/PREDICTIONS-KEY.json: PREDICTIONS is `top`, `true` or the name of the
    file, KEY is a short digest of options and seeds. Arrays stand beside it, such as true
    influences as PREDICTIONS-KEY-seed-42.npy.
    """
    asked = json.dumps([document["options"], document["seeds"]], sort_keys=True)
    key = blake2b(asked.encode(), digest_size=4).hexdigest()
    path = folder / "evaluations" / f"{Path(document['predictions']).stem}-{key}.json"
    text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
    write_text(path, text + "\n", force=True)
    for name, array in (arrays or {}).items():
        with draft_of(path.with_name(f"{path.stem}-{name}.npy")) as draft:
            write_array(draft, array)
    return path


def find_evaluations(folder: Path) -> list[Path]:
    """The evaluations in a run's folder, the latest last."""
    paths = folder.glob("evaluations/*.json")
    return sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path))


def read_prepared(folder: Path, key: str) -> dict[str, NDArray[Any]] | None:
    """What a method prepared once for many predictions; None if it cannot be read."""
    try:
        with np.load(folder / "prepared" / f"{key}.npz") as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def write_prepared(folder: Path, key: str, arrays: _Arrays) -> None:
    """Keep the arrays of a key; a folder that cannot be written keeps nothing."""
    path = folder / "prepared" / f"{key}.npz"
    with suppress(WhereofError), draft_of(path) as draft, draft.open("wb") as file:
        np.savez(file, **dict(arrays))  # type: ignore[arg-type]
