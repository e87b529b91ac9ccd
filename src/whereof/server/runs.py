"""The runs that are served, by a short id made from the name of the folder."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from whereof.api.run import Run
from whereof.errors import WhereofError
from whereof.predict.prediction import Prediction
from whereof.retrain.engine import Recipe
from whereof.run.folder import NAME
from whereof.training.problem import Problem

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


def warm_up(run: Run) -> None:
    """Read the arrays of a run, and load the kernels: the first click is then as fast as others.

    It also fills what `Run` computes once, before several threads ask for it.
    """
    data = run.dataset
    names = Prediction(*data.train[0].tolist()).names(data)
    run.predict(*names[:-1], None, top=1)
    with suppress(WhereofError):  # a run without a trace
        run.explain(*names, method="rollback", top=1, graph=True)
    run.default_method  # noqa: B018 - computed once
    for kind in ("entity", "relation"):
        run.find_names("", kind, limit=1)
    run.interesting("test", 1)
    Recipe(Problem.of(data, run.config), 2).probe(0)
