"""manifest.json: what a run is, and the size and SHA-256 of its files."""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from whereof._version import __version__
from whereof.errors import WhereofError
from whereof.run.files import check_file, read_json, write_json

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
            with suppress(OSError, ValueError):
                seen = json.loads((folder / _CHECKED).read_text(encoding="utf-8"))
        seen = seen if isinstance(seen, dict) else {}
        stamps = {
            name: check_file(folder / name, about, seen.get(name))
            for name, about in self.files.items()
        }
        if stamps != seen:
            with suppress(OSError):  # the folder may be read-only
                write_json(folder / _CHECKED, stamps)


def _digest(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, allow_nan=False).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """The document of `whereof train --json`; None is not known."""

    run: str | None = None
    """The folder; None for a run in memory."""
    dataset: str
    model: str
    n_facts: int = 0
    n_entities: int | None = None
    n_relations: int | None = None
    epochs: int | None = None
    best_epoch: int | None = None
    best_facts: int | None = None
    stopped: str | None = None
    steps: int | None = None
    seconds: float | None = None
    facts_per_second: float | None = None
    trace_bytes: int | None = None
    lipschitz: float | None = None
    norms: dict[str, float] | None = None
    bookkeeping: dict[str, float] | None = None
    metrics: dict[str, Any] = field(default_factory=dict)

    def to_dict(self, kind: "type[RunSummary] | None" = None) -> dict[str, Any]:
        """What is known, by name: all fields, or those of a kind of record."""
        values = {item.name: getattr(self, item.name) for item in fields(kind or self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class RunInfo(RunSummary):
    """What is known of a run without reading its arrays: the document of `whereof info --json`."""

    format: int = FORMAT
    whereof: str = ""
    """The version that wrote it."""
    created: str = ""
    finished: bool = True
    n_valid: int | None = None
    n_test: int | None = None
    dataset_hash: str = ""
    notes: list[str] = field(default_factory=list)
    read: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any]
    history: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def two_way(self) -> bool:
        """Whether facts have no relation."""
        return self.n_relations == 0
