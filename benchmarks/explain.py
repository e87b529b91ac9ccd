"""Time of an explanation: Whereof, all facts by matrix products, and a plain loop.

python benchmarks/explain.py [--data-dir DIR] [--predictions N] [--markdown]
python benchmarks/explain.py --bulk
python benchmarks/explain.py --memory
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core each; NumPy reads it on import

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reports import Report, publish
from straightforward import Prediction, explain_all, explain_in_a_loop

import whereof

TOP = 10
Times = NDArray[np.float64]


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        if options.memory:
            from trace_on_disk import measure_memory

            report = measure_memory(Path(folder))
        else:
            run = _run(options, Path(folder))
            report = _bulk(run, Path(folder)) if options.bulk else _compare(run, options)
    publish(report, markdown=options.markdown)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--data-dir", type=Path, help="folder with fb15k-237/  [default: WHEREOF_DATA]")
    add("--run", type=Path, help="a trained run  [default: the paper's setting with adam-lazy]")
    add("--predictions", type=int, default=100, help="number of test predictions")
    add("--loop", type=int, default=5, help="number of predictions that the plain loop explains")
    add("--bulk", action="store_true", help="explain the top answers of all test queries")
    add("--memory", action="store_true", help="measure memory with a trace of 5 GB on disk")
    add("--markdown", action="store_true", help="print Markdown for docs/benchmarks.md")
    return parser.parse_args()


def _run(options: argparse.Namespace, folder: Path) -> whereof.Run:
    """A given run, or the paper's setting with adam-lazy, trained in about twenty seconds."""
    if options.run:
        return whereof.Run.open(options.run)
    settings = {"optimizer": "adam-lazy", "credit": "source", "data_dir": options.data_dir}
    return whereof.train("fb15k-237", out=folder / "run", preset="paper", **settings)


def _compare(run: whereof.Run, options: argparse.Namespace) -> Report:
    chosen = np.random.default_rng(0).permutation(len(run.dataset.test))
    queries = run.dataset.test[chosen[: options.predictions], :2]
    names = [
        (run.dataset.entities.name(s), run.dataset.relations.name(r), None) for s, r in queries
    ]
    for warm in names[:3]:
        run.explain(*warm, method="rollback", top=TOP)
    fast, exhaustive, loop, n_adjacent = [], [], [], []
    for number, asked in enumerate(names):
        took, explanation = _timed(
            lambda asked=asked: run.explain(*asked, method="rollback", top=TOP)
        )
        fast.append(took)
        n_adjacent.append(explanation.n_adjacent)
        ours = [fact.fact_id for fact in explanation.facts]
        prediction = Prediction.of(run, explanation.prediction)
        took, theirs = _timed(lambda p=prediction: explain_all(p, TOP))
        _agree(ours, theirs, asked)
        exhaustive.append(took)
        if number < options.loop:
            took, theirs = _timed(lambda p=prediction: explain_in_a_loop(p, TOP))
            _agree(ours, theirs, asked)
            loop.append(took)
    return _report(np.array(fast), np.array(exhaustive), np.array(loop), np.array(n_adjacent))


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def _agree(ours: list[int], theirs: list[int], asked: tuple[str | None, ...]) -> None:
    if ours != theirs:
        raise SystemExit(f"error: {asked}: {ours} is not {theirs}")


def _report(fast: Times, exhaustive: Times, loop: Times, n_adjacent: NDArray[np.int64]) -> Report:
    rows = [
        _row("whereof", fast, fast),
        _row("all facts, NumPy and BLAS", exhaustive, fast),
        _row("all facts, a loop that copies and rescores", loop, fast[: len(loop)]),
    ]
    notes = (
        f"Top {TOP} supporting facts for the top answers of {len(fast)} random test queries "
        f"({len(loop)} for the loop), one core each. All contenders name the same facts in the "
        "same order.",
        f"{np.mean(n_adjacent):,.0f} adjacent facts on average, {n_adjacent.max():,} at most.",
        "Whereof finds the adjacent facts itself; the others are given them.",
        "Goals: a median of 10 ms, a p95 of 40 ms, 20 times faster than all facts by BLAS.",
    )
    columns = ("program", "median ms", "p95 ms", "relative to whereof")
    title = "One explanation: FB15k-237, DistMult, the paper's setting with adam-lazy"
    return Report(title, columns, rows, notes)


def _row(name: str, times: Times, ours: Times) -> tuple[str, ...]:
    ratio = np.median(times / ours)
    middle, most = np.quantile(times, (0.5, 0.95)) * 1e3
    return name, f"{middle:,.1f}", f"{most:,.1f}", "1" if times is ours else f"{ratio:,.0f}"


def _bulk(run: whereof.Run, folder: Path) -> Report:
    took, done = _timed(lambda: run.explain_file("top", folder / "all.jsonl", top=TOP))
    rows = [(f"{done.n_predictions:,}", f"{took:.0f}", f"{done.n_predictions / took:,.0f}")]
    title = "In bulk: top 10 facts for the top answers of all FB15k-237 test queries, as JSON lines"
    return Report(title, ("predictions", "seconds", "predictions/s"), rows)


if __name__ == "__main__":
    main()
