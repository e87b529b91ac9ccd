"""manifest.json: what a run is, and the size and SHA-256 of its files."""

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from whereof._version import __version__
from whereof.errors import WhereofError
from whereof.run.files import check_content, check_size, read_json, write_json

FORMAT = 1
NAME = "manifest.json"
_CHECKED = ".checked.json"
_OLD_NAME = "whence"
"""The former name of the project. Old runs have their version under this name."""


@dataclass(frozen=True)
class Manifest:
    """The content of manifest.json. It names all other files."""

    dataset: dict[str, Any]
    config: dict[str, Any]
    created: str
    finished: bool = False
    result: dict[str, Any] = field(default_factory=dict)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Size and SHA-256 of each file, by name."""
    whereof: str = __version__
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        values = asdict(self)
        write_json(folder / NAME, values | {"checksum": _digest(values)})

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        if not os.path.isdir(folder):  # noqa: PTH112 (Path refuses a name that is too long)
            raise WhereofError(f"no run at {folder}; make one with: whereof train DATA -o {folder}")
        if not (folder / NAME).is_file():
            raise WhereofError(
                f"{folder} is not a run: it has no {NAME}; name the folder that `train` wrote"
            )
        values = read_json(folder / NAME)
        version = values.get("format") if isinstance(values, dict) else None
        if not isinstance(version, int):
            raise WhereofError(f"{folder / NAME} is not a manifest of a run")
        if version > FORMAT:
            raise WhereofError(
                f"{folder} has format {version}, and this whereof reads up to {FORMAT}; "
                f"upgrade it (the run was written by whereof {values.get('whereof')})"
            )
        if values.pop("checksum", None) != _digest(values):
            raise WhereofError(f"{folder / NAME} was altered: its checksum does not match")
        if _OLD_NAME in values:
            values["whereof"] = values.pop(_OLD_NAME)
        return cls(**values)

    def check_files(self, folder: Path, *, afresh: bool = False) -> None:
        """Check size and checksum of every file; unchanged files only once, unless `afresh`."""
        seen: Any = None
        if not afresh:
            with contextlib.suppress(OSError, ValueError):
                seen = json.loads((folder / _CHECKED).read_text(encoding="utf-8"))
        seen = seen if isinstance(seen, dict) else {}
        stamps = {}
        for name, about in self.files.items():
            stat = check_size(folder / name, about)
            # A copy on another disk has another inode and another time of change.
            stamps[name] = [stat.st_ino, stat.st_ctime_ns, stat.st_mtime_ns, about["sha256"]]
            if seen.get(name) != stamps[name]:
                check_content(folder / name, about)
        if stamps != seen:
            with contextlib.suppress(OSError):  # the folder may be read-only
                write_json(folder / _CHECKED, stamps)


def _digest(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, allow_nan=False).encode()).hexdigest()
