"""Damage in every file of a finished run: it is noticed where the file is read, or it is harmless.

`make test-faults` damages every file at many places.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trained import train

import whereof

N_PLACES = int(os.environ.get("WHEREOF_FLIPS", "2"))
FACT: Any = ("egypt", "embassy", "usa")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which everything was done once, so that every kind of file is there."""
    path = tmp_path_factory.mktemp("flips") / "run"
    run = train(path, epochs=2, keep_checkpoints=2)
    run.add_labels({"egypt": "Egypt"})
    use(path)
    return path


def use(path: Path) -> list[Any]:
    """Read every file of a run on the path that reads it; return what it says."""
    run = whereof.Run.open(path, check=True)
    stored = run.evaluations()
    if stored.notes:  # about a file that was altered
        raise whereof.WhereofError(stored.notes[0])
    explained = [run.explain(*FACT, method=each).to_dict() for each in ("rollback", "unrolled")]
    verified = run.verify(*FACT, method="rollback", top=2, seeds=2).to_dict()
    evaluated = run.evaluate(limit=1, methods="random", protocols="removal", k=1).to_dict()
    found = [run.predict(*FACT[:2]).to_dict(), run.info(), *explained, verified, evaluated]
    found += [run.metrics, run.history, len(run.kept_checkpoints()), len(run.read_state() or ())]
    found += [evaluated if not stored.found else stored.found[0].to_dict(), run.dataset.hash]
    return [without_times(each) for each in found]


def without_times(value: Any) -> Any:
    """A document without times and without what depends on what was known before."""
    if isinstance(value, dict):
        own = ("second", "n_known", "reliability", "run")
        kept = {k: v for k, v in value.items() if not any(word in k for word in own)}
        return {name: without_times(each) for name, each in kept.items()}
    return [*map(without_times, value)] if isinstance(value, (list, tuple)) else value


def flip(file: Path, rng: np.random.Generator) -> None:
    content = bytearray(file.read_bytes())
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    file.write_bytes(content)


def cut(file: Path, rng: np.random.Generator) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: rng.integers(len(content))])


def delete(file: Path, rng: np.random.Generator) -> None:
    file.unlink()


@pytest.mark.parametrize("damage", [flip, cut, delete])
def test_no_damage_becomes_a_figure(
    tmp_path: Path, finished: Path, damage: Callable[[Path, np.random.Generator], None]
) -> None:
    path = shutil.copytree(finished, tmp_path / "run")
    wanted = use(path)
    shutil.rmtree(path)
    files = [it.relative_to(finished) for it in finished.rglob("*") if it.is_file()]
    files = [it for it in sorted(files) if (finished / it).stat().st_size]
    kinds = {file.parts[0] for file in files}
    assert {"manifest.json", "prepared", "retrained", "siblings", "evaluations"} <= kinds
    n_noticed = 0
    for file in files:
        for place in range(1 if damage is delete else N_PLACES):
            shutil.copytree(finished, path)
            damage(path / file, np.random.default_rng(place))
            try:
                assert use(path) == wanted, (file, place)
            except whereof.WhereofError as error:
                assert "\n" not in str(error)  # noqa: PT017 - either is right, by file
                n_noticed += 1
            shutil.rmtree(path)
    assert n_noticed
