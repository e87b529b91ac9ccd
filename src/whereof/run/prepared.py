"""What methods prepare once for many predictions, kept in a run: one .npz file a key."""

import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.run.files import draft_of

_FOLDER = "prepared"


def read_prepared(run: Path, key: str) -> dict[str, NDArray[Any]] | None:
    """The arrays of a key; None where they are missing or cannot be read."""
    try:
        with np.load(run / _FOLDER / f"{key}.npz", allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None


def write_prepared(run: Path, key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Keep the arrays of a key; a folder that cannot be written keeps nothing."""
    path = run / _FOLDER / f"{key}.npz"
    with suppress(WhereofError), draft_of(path) as draft, draft.open("wb") as file:
        np.savez(file, **dict(arrays))  # type: ignore[arg-type]
