"""Peak memory of a traced training, in a process of its own.

A new process takes over the peak of the one that starts it, so nothing heavy is imported above
the functions that the children call.
"""

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tables import Report

ALLOWANCE = 400 * 2**20
"""Bytes beside parameters, optimizer state and trace."""


def measure_memory(data_dir: Path | None) -> Report:
    """A child for each part; the first only fills the cache of compiled kernels."""
    if find_spec("resource") is None:
        raise SystemExit("error: --memory asks the system for a peak that only Unix keeps")
    where = [] if data_dir is None else [str(data_dir)]
    needed = int(_child("needed", *where))
    _peak("warm")
    imported, loop = _peak("imported"), _peak("loop", *where)
    command = _peak("command", *where)
    bound = needed + ALLOWANCE
    rows = [
        ("interpreter with numba imported", _mib(imported), ""),
        ("parameters, optimizer state and trace", _mib(needed), ""),
        ("the same and 400 MiB: the bound", _mib(bound), "100%"),
        ("training, one epoch in memory", _mib(loop), f"{loop / bound:.0%}"),
        ("whereof.train with run folder and metrics", _mib(command), f"{command / bound:.0%}"),
    ]
    title = "Peak memory: FB15k-237, paper's setting with adam-lazy, traced, one epoch"
    return Report(title, ("", "MiB", "of the bound"), rows)


def _mib(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.0f}"


def _peak(*arguments: str) -> int:
    return int(_child(*arguments).rpartition(" ")[2])


def _child(*arguments: str) -> str:
    """What a child prints last."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, end="", file=sys.stderr)
        raise SystemExit(done.returncode)
    return done.stdout.strip().splitlines()[-1]


def _warm(_: Path | None) -> None:
    """Bundled data, same kernels."""
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
    import resource

    from whereof import WhereofError

    name, *where = sys.argv[1:]
    try:
        _CHILDREN[name](Path(where[0]) if where else None)
    except WhereofError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    if name != "needed":
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print("peak", peak if sys.platform == "darwin" else peak * 1024)


if __name__ == "__main__":
    _main()
