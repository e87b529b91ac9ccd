"""The folder that downloads are kept in, and whether they are still what was fetched."""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Final

from whereof.data._entry import Entry
from whereof.errors import WhereofError

_RECORD: Final = "checksums.json"


def cache_folder() -> Path:
    """Where downloads are kept, a folder for each dataset."""
    if given := os.environ.get("WHEREOF_CACHE"):
        return Path(given).expanduser()
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given) / "whereof"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "whereof"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "whereof"
    return Path.home() / ".cache" / "whereof"


def write_checksums(entry: Entry, folder: Path) -> None:
    """Record the SHA-256 of a dataset's files beside them."""
    sums = {file.name: _sha256(folder / file.name) for file in entry.files}
    (folder / _RECORD).write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")


def check_files(entry: Entry, folder: Path) -> None:
    """Refuse a dataset in the cache that is not what was fetched."""
    remedy = f"delete {folder} to fetch the dataset again"
    try:
        recorded = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        for file in entry.files:
            path, expected = folder / file.name, file.sha256 or recorded[file.name]
            found = _sha256(path)
            if found != expected:
                raise WhereofError(
                    f"{path}: changed since it was fetched: SHA-256 {found[:16]}..., "
                    f"expected {expected[:16]}...; {remedy}"
                )
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise WhereofError(f"{folder}: damaged ({error}); {remedy}") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
