"""The runs that are served, by a short id made from the name of the folder."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from whereof.api.run import Run
from whereof.errors import WhereofError
from whereof.run.folder import NAME

ServedRuns = Mapping[str, Run]
"""Runs by id."""


def open_runs(paths: Sequence[Path]) -> dict[str, Run]:
    """Open runs by id. A path is a run, or a folder of runs."""
    found: dict[str, Run] = {}
    opened = set[Path]()
    for path in (run for each in paths for run in _find(each)):
        if path.resolve() not in opened:
            opened.add(path.resolve())
            found[_free_id(path, found)] = Run.open(path)
    return found


def _find(path: Path) -> Iterator[Path]:
    """The path itself if it is a run, else the finished runs in it."""
    inside = sorted(path.glob(f"*/{NAME}")) if path.is_dir() else []
    if (path / NAME).exists() or not inside:
        yield path  # opening it says what is wrong with it
        return
    runs = [file.parent for file in inside]
    finished = [run for run in runs if Run.open(run, unfinished=True).manifest.finished]
    if not finished:
        raise WhereofError(f"{path} has no finished run; name the folder of one")
    yield from finished


def _free_id(path: Path, taken: Mapping[str, Run]) -> str:
    """The name of the folder, in letters that need no escape in an address."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", path.resolve().name).strip("-.") or "run"
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free
