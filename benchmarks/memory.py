"""Peak memory of a traced training, measured in its own process.

A process inherits the peak memory of its parent, so heavy modules are imported in the functions
that the children call.
"""

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reports import Report, peak_memory

ALLOWANCE = 400 * 2**20
"""Bytes allowed for everything except parameters, optimizer state and trace."""


def measure_memory(data_dir: Path | None) -> Report:
    """One child process for each row; the first only fills the cache of compiled kernels."""
    if find_spec("resource") is None:
        raise SystemExit("error: --memory requires Linux or macOS")
    where = [] if data_dir is None else [str(data_dir)]
    needed = int(_child("needed", *where))
    _peak("warm")
    imported, loop = _peak("imported"), _peak("loop", *where)
    command = _peak("command", *where)
    bound = needed + ALLOWANCE
    rows = [
        ("interpreter with numba imported", _mib(imported), ""),
        ("parameters, optimizer state and trace", _mib(needed), ""),
        ("the limit: the same plus 400 MiB", _mib(bound), "100%"),
        ("training, one epoch in memory", _mib(loop), f"{loop / bound:.0%}"),
        ("whereof.train with run folder and metrics", _mib(command), f"{command / bound:.0%}"),
    ]
    title = "Peak memory: FB15k-237, paper's setting with adam-lazy, traced, one epoch"
    return Report(title, ("", "MiB", "share of the limit"), rows)


@contextmanager
def watched(seconds: float = 0.02) -> Iterator[list[int]]:
    """Read the memory of this process again and again."""
    seen, over = [anonymous()], threading.Event()

    def look() -> None:
        while not over.wait(seconds):
            seen.append(anonymous())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
        seen.append(anonymous())


def anonymous() -> int:
    """Bytes of this process's memory that no file backs."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else ():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("error: watching the memory requires Linux")


def _mib(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.0f}"


def _peak(*arguments: str) -> int:
    return int(_child(*arguments).rpartition(" ")[2])


def _child(*arguments: str) -> str:
    """The last line that a child prints."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, end="", file=sys.stderr)
        raise SystemExit(done.returncode)
    return done.stdout.strip().splitlines()[-1]


def _warm(_: Path | None) -> None:
    """Train on bundled data, with the same kernels."""
    _train("nations", None, precision="float32", negatives=None)


def _imported(_: Path | None) -> None:
    import numba  # noqa: F401


def _loop(data_dir: Path | None) -> None:
    from contenders import make_trainer
    from problems import load_data, make_problem

    problem = make_problem(load_data(data_dir))
    trainer = make_trainer(problem, 0, traced=True)
    while not trainer.epoch_ended:
        trainer.advance(len(problem.facts))


def _command(data_dir: Path | None) -> None:
    from problems import load_data

    _train(load_data(data_dir), data_dir)


def _train(data: Any, data_dir: Path | None, **changes: Any) -> None:
    from problems import settings

    import whereof

    with tempfile.TemporaryDirectory() as folder:
        whereof.train(data, out=Path(folder) / "run", **settings(epochs=1, **changes))


def _needed(data_dir: Path | None) -> None:
    """Bytes of parameters, optimizer state and trace."""
    from problems import load_data, make_problem

    problem = make_problem(load_data(data_dir))
    entities, relations = problem.tables()
    trace = len(problem.facts) * problem.trace_width * entities.state.itemsize
    print(entities.state.nbytes + relations.state.nbytes + trace)


_CHILDREN = {
    "warm": _warm,
    "imported": _imported,
    "loop": _loop,
    "command": _command,
    "needed": _needed,
}


def _main() -> None:
    from whereof import WhereofError

    name, *where = sys.argv[1:]
    try:
        _CHILDREN[name](Path(where[0]) if where else None)
    except WhereofError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    if name != "needed":
        print("peak", peak_memory())


if __name__ == "__main__":
    _main()
