"""Results stored in a run's folder: evaluations, and arrays that methods prepare."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.run.files import draft_of, write_array, write_text

Arrays = Mapping[str, NDArray[Any]]
"""Arrays by name."""


def save_evaluation(folder: Path, document: dict[str, Any], arrays: Arrays | None = None) -> Path:
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


class Store:
    """Arrays that take long to compute, by key: the last in memory, all in the run's folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder, self._lock = folder, Lock()
        self._owner: object = None
        self._key = ""
        self._arrays: Arrays = {}

    def serves(self, owner: object) -> bool:
        """Whether it stores arrays of this owner; it belongs to the first one that asks."""
        self._owner = self._owner or owner
        return self._owner is owner

    def get(self, key: str, make: Callable[[], Arrays]) -> Arrays:
        """The arrays of a key, computed on first use; threads wait for each other."""
        with self._lock:
            if key != self._key:
                self._arrays, self._key = self._load(key, make), key
            return self._arrays

    def _load(self, key: str, make: Callable[[], Arrays]) -> Arrays:
        if self._folder is None:
            return make()
        path = self._folder / "prepared" / f"{key}.npz"
        with suppress(OSError, ValueError, KeyError, BadZipFile), np.load(path) as file:
            return {name: file[name] for name in file.files}
        arrays = make()
        # A folder that cannot be written keeps nothing.
        with suppress(WhereofError), draft_of(path) as draft, draft.open("wb") as stream:
            np.savez(stream, **dict(arrays))  # type: ignore[arg-type]
        return arrays
