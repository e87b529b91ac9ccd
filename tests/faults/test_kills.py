"""Kill -9 at random moments, then the same command again: the same bits, and nothing left over.

A moment is random, but no failure is: the seed of a moment is in the name of its test. The number
of kills for each kind of work is WHEREOF_KILLS; `make test-faults` takes 20.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli.test_evaluate import figures, journal
from trained import outcome, train

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a real kill")

N_KILLS = int(os.environ.get("WHEREOF_KILLS", "1"))
WHEREOF = (sys.executable, "-m", "whereof")
FACT = ("egypt", "embassy", "usa")


def document(text: str) -> Any:
    """A result without times and without what depends on earlier work."""
    found = json.loads(text)
    for name in ("seconds", "n_known", "n_trained", "costs"):
        found.pop(name, None)
    return found


def retrainings(folder: Path) -> list[str]:
    """The stored retrainings; none is stored twice."""
    found = sorted(journal(folder / "run"))
    assert len(found) == len(set(found))
    return found


@dataclass(frozen=True)
class Work:
    """Something that takes a while."""

    command: Callable[[Path], tuple[str, ...]]
    result: Callable[[Path, str], Any]
    """What must be the same afterwards, from the folder and the standard output."""
    needs_run: bool = True

    def again(self, folder: Path) -> tuple[str, ...]:
        """The command that goes on after a kill."""
        if self.needs_run or not (folder / "new").exists():
            return self.command(folder)
        return (*WHEREOF, "train", "--resume", str(folder / "new"))


def training(folder: Path) -> tuple[str, ...]:
    options = "--no-search --dim 6 --epochs 40 --patience 0 --checkpoint-seconds 0.02"
    return (*WHEREOF, "train", "nations", *options.split(), "-o", str(folder / "new"))


def evaluating(folder: Path) -> tuple[str, ...]:
    options = "--limit 3 --k 1 --methods rollback,random --protocols removal --threads 1 --json"
    return (*WHEREOF, "evaluate", str(folder / "run"), *options.split())


def explaining(folder: Path) -> tuple[str, ...]:
    options = ("--predictions", "true", "--method", "rollback", "-o", str(folder / "e.jsonl"))
    return (*WHEREOF, "explain", str(folder / "run"), *options)


def sweeping(folder: Path) -> tuple[str, ...]:
    return (*WHEREOF, "explain", str(folder / "run"), *FACT, "--method", "unrolled", "--json")


def serving(folder: Path) -> tuple[str, ...]:
    return (sys.executable, str(Path(__file__).with_name("served_job.py")), str(folder / "run"))


WORK = {
    "train": Work(training, lambda folder, _: outcome(folder / "new"), needs_run=False),
    "evaluate": Work(
        evaluating, lambda folder, out: (figures(json.loads(out)), retrainings(folder))
    ),
    "bulk explain": Work(explaining, lambda folder, _: (folder / "e.jsonl").read_bytes()),
    "unrolled sweep": Work(sweeping, lambda folder, out: document(out)),
    "server job": Work(serving, lambda folder, out: (document(out), retrainings(folder))),
}


def names_in(folder: Path) -> set[str]:
    """All files below a folder, hidden ones too."""
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kills") / "run"
    train(path, epochs=20)
    return path


@dataclass(frozen=True)
class Whole:
    """What work gives that nobody disturbs."""

    result: Any
    names: set[str]
    seconds: float


@pytest.fixture(scope="module")
def wholes() -> dict[str, Whole]:
    return {}


def begin(work: Work, folder: Path, run: Path) -> None:
    folder.mkdir()
    if work.needs_run:
        shutil.copytree(run, folder / "run")


def undisturbed(work: Work, folder: Path, run: Path) -> Whole:
    begin(work, folder, run)
    start = time.perf_counter()
    done = subprocess.run(work.command(folder), capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - start
    return Whole(work.result(folder, done.stdout), names_in(folder), seconds)


@pytest.mark.parametrize("seed", range(N_KILLS))
@pytest.mark.parametrize("kind", WORK)
def test_killed_work_goes_on_to_the_same_end(
    tmp_path: Path, run: Path, wholes: dict[str, Whole], kind: str, seed: int
) -> None:
    work = WORK[kind]
    if kind not in wholes:
        wholes[kind] = undisturbed(work, tmp_path / "whole", run)
    whole, folder = wholes[kind], tmp_path / "killed"
    begin(work, folder, run)
    killed = subprocess.Popen(
        work.command(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    moment = random.Random(f"{kind} {seed}").uniform(0.3, 1.0) * whole.seconds
    try:
        killed.wait(moment)
    except subprocess.TimeoutExpired:
        killed.kill()
    killed.wait()
    before = journal(folder / "run")
    ended = kind == "bulk explain" and (folder / "e.jsonl").exists()
    if not ended:  # the command would refuse to overwrite it
        done = subprocess.run(work.again(folder), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert work.result(folder, done.stdout) == whole.result
    assert journal(folder / "run")[: len(before)] == before  # nothing finished was done again
    assert names_in(folder) == whole.names
