"""What methods prepare once for many predictions, kept in a run: one .npz file a key."""

import contextlib
import secrets
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        try:
            with draft.open("wb") as file:
                np.savez(file, **dict(arrays))  # type: ignore[arg-type]
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
