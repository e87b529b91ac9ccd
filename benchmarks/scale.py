"""Time and memory from 10,000 to 20 million facts, with a trace larger than memory.

    python benchmarks/scale.py FOLDER [--facts N ...] [--memory GB] [--order ORDER]
    python benchmarks/scale.py FOLDER --rows

The second command measures a step with tables of different sizes, to see what caches do.

Every size is trained and explained in its own process. On Linux as root, a control group limits the
memory of these processes, page cache included. FOLDER gets scale.json after every size, and
scale.svg; sizes that are there already are not measured again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from statistics import median
from typing import Any

from memory import watched
from reports import Report, machine, publish

SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 20_000_000)
N_RELATIONS, FACTS_PER_ENTITY, N_EXPLAINED = 1_000, 10, 20
SETTINGS = {"model": "distmult", "dim": 20, "negatives": 20, "epochs": 1, "inverse": False}
_GROUPS = Path("/sys/fs/cgroup")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--facts", type=int, nargs="+", default=SIZES)
    parser.add_argument("--memory", type=float, help="gigabytes that a process may use")
    parser.add_argument("--order", default="blocks", help="order of the facts in training")
    parser.add_argument("--rows", action="store_true", help="measure a step by the number of rows")
    parser.add_argument("--keep", action="store_true", help="keep data and runs")
    parser.add_argument("--child", choices=_CHILDREN, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(_CHILDREN[given.child](given.folder, given.order)))
        return
    if given.rows:
        publish(measure_rows(), markdown=True)
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.folder / "scale.json"
    found = json.loads(path.read_text()) if path.exists() else []
    for n_facts in given.facts:
        about = {"asked": n_facts, "memory": given.memory, "order": given.order}
        if any(about.items() <= each.items() for each in found):
            continue
        work = given.folder / f"{n_facts}-{given.order}"
        rmtree(work, ignore_errors=True)
        work.mkdir()
        generate(work / "facts.tsv", n_facts)
        with limited(given.memory) as join:
            for child in _CHILDREN:
                about |= _run(child, work, given.order, join)
        found.append(about | {"machine": machine()})
        path.write_text(json.dumps(found, indent=1))
        print(json.dumps(about), flush=True)
        if not given.keep:
            rmtree(work)
    publish(summary(found), markdown=True)
    plot(found, given.folder / "scale.svg")


def summary(found: list[dict[str, Any]]) -> Report:
    """One row for each size and order."""
    rows = []
    for each in sorted(found, key=lambda it: (it["order"], it["n_facts"])):
        n, times = each["n_facts"], []
        for part in ("read", "step", "train"):
            times.append(f"{1e6 * each[f'{part}_seconds'] / n:,.1f}")
        for kind in ("cold", "warm"):
            some = [1e3 * seconds for seconds in each[f"{kind}_seconds"]]
            times.append(f"{median(some):,.0f}, {max(some):,.0f}")
        sizes = ("trace_bytes", "train_memory", "explain_memory")
        memory = [f"{each[name] / 1e6:,.0f}" for name in sizes]
        rows.append((f"{n:,}, {each['order']}", *times, *memory))
    names = (
        "read us/fact, steps us/fact, train us/fact, cold ms, warm ms, trace MB, train MB, why MB"
    )
    return Report("From small to large", ("facts, order", *names.split(", ")), rows)


def generate(path: Path, n_facts: int) -> None:
    """Write random facts. Entities and relations have a power law: the k-th has about k^(-2/3)."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.csv import CSVWriter, WriteOptions

    draw = np.random.default_rng(0)
    n_entities = n_facts // FACTS_PER_ENTITY
    shuffled = draw.permutation(n_entities)  # so that frequent entities have any name
    columns = ("entity", n_entities), ("relation", N_RELATIONS), ("entity", n_entities)
    options = WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    names = ("subject", "relation", "object")
    schema = pa.schema([(name, pa.string()) for name in names])
    with CSVWriter(path, schema, write_options=options) as file:
        for start in range(0, n_facts, 1_000_000):
            texts = []
            for kind, n in columns:
                ids = (n * draw.random(min(1_000_000, n_facts - start)) ** 3).astype(np.int64)
                ids = shuffled[ids] if kind == "entity" else ids
                numbers = pa.array(ids).cast(pa.string())
                texts.append(pc.binary_join_element_wise(f"/{kind}/", numbers, ""))
            file.write_table(pa.table(texts, schema=schema))


def train(work: Path, order: str) -> dict[str, Any]:
    import whereof

    with watched() as seen:
        start = time.perf_counter()
        data = whereof.read(work / "facts.tsv")
        read = time.perf_counter()
        run = whereof.train(data, out=work / "run", order=order, **SETTINGS)
        done = time.perf_counter()
    result = run.manifest.result
    return {
        "n_facts": data.n_facts,
        "n_entities": data.n_entities,
        "read_seconds": read - start,
        "step_seconds": result["seconds"],
        "train_seconds": done - read,
        "trace_bytes": result["trace_bytes"],
        "train_memory": max(seen),
    }


def explain(work: Path, _: str) -> dict[str, Any]:
    import numpy as np

    import whereof

    start = time.perf_counter()
    run = whereof.Run.open(work / "run")
    train = run.dataset.train
    draw = np.random.default_rng(0).choice(len(train), N_EXPLAINED + 1, replace=False)
    names = [run.dataset.fact_names(fact) for fact in train[draw]]
    run.explain(*names.pop(), method="rollback")  # loads kernels, rows and the index
    opened = time.perf_counter() - start
    _forget(work / "run" / "trace.npy")
    times: dict[str, list[float]] = {}
    with watched() as seen:
        for kind in ("cold", "warm"):
            found = [run.explain(*each, method="rollback") for each in names]
            times[f"{kind}_seconds"] = [each.seconds for each in found]
    return {
        "open_seconds": opened,
        **times,
        "n_adjacent": [each.n_adjacent for each in found],
        "explain_memory": max(seen),
    }


def measure_rows() -> Report:
    """CPU time of steps of random facts, among more and more entities, in interleaved rounds."""
    import numpy as np

    from whereof.models import find_model
    from whereof.training.config import TrainConfig
    from whereof.training.problem import Problem
    from whereof.training.trainer import Trainer

    model, config = find_model(str(SETTINGS["model"])), TrainConfig.from_dict(SETTINGS)
    draw, n_facts, trainers = np.random.default_rng(0), 400_000, {}
    for n in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000):
        facts = np.column_stack([draw.integers(0, k, n_facts) for k in (n, N_RELATIONS, n)])
        given = facts.astype(np.int32), n, N_RELATIONS, range(n), range(n)
        problem = Problem(model, config, *given)
        trainers[n] = trainer = Trainer(
            problem, np.zeros((n_facts, problem.trace_width), np.float32)
        )
    times: dict[int, list[float]] = {n: [] for n in trainers}
    while not trainer.epoch_ended:
        for n, trainer in trainers.items():
            start = time.thread_time()
            n_done = trainer.advance(10_000)
            times[n].append(1e6 * (time.thread_time() - start) / n_done)
    rows = []
    for n, trainer in trainers.items():
        table = trainer.tables[0]
        size = (table.state.nbytes + table.owned.nbytes + table.retained.nbytes) / 2**20
        best, median = min(times[n]), float(np.median(times[n]))
        rows.append((f"{n:,}", f"{size:,.1f}", f"{best:.1f}", f"{median:.1f}"))
    columns = ("entities", "rows, MiB", "best us/step", "median us/step")
    return Report("A step by the size of the tables", columns, rows)


_CHILDREN = {"train": train, "explain": explain}


def _run(child: str, work: Path, order: str, join: Any) -> dict[str, Any]:
    """What a child process measures."""
    command = [sys.executable, __file__, str(work), "--order", order, "--child", child]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=join, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _forget(path: Path) -> None:
    """Drop a file from the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def limited(gigabytes: float | None) -> Iterator[Any]:
    """A function that puts the calling process into a control group with this limit."""
    if gigabytes is None:
        yield None
        return
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, own = line.split(":", 2)
        if kinds in ("memory", ""):
            limit = "memory.limit_in_bytes" if kinds else "memory.max"
            group = _GROUPS / kinds / own.lstrip("/") / f"scale-{os.getpid()}"
            break
    group.mkdir()
    try:
        (group / limit).write_text(str(int(gigabytes * 1e9)))
        yield lambda: (group / "cgroup.procs").write_text("0")
    finally:
        group.rmdir()


def plot(found: list[dict[str, Any]], path: Path) -> None:
    import matplotlib as mpl
    import numpy as np

    mpl.use("svg")
    from matplotlib import pyplot

    _, (left, middle, right) = pyplot.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for order, style in (("blocks", "o-"), ("shuffle", "s--")):
        some = sorted((it for it in found if it["order"] == order), key=lambda it: it["n_facts"])
        n = np.array([it["n_facts"] for it in some])
        if not len(n):
            continue
        mark = "" if order == "blocks" else f", order {order}"
        for name in ("read", "step", "train"):
            label = {"read": "reading", "step": "steps", "train": "train, in all"}[name]
            values = np.array([it[f"{name}_seconds"] for it in some])
            left.plot(n, 1e6 * values / n, style, label=label + mark)
        if order != "blocks":
            continue
        for kind in ("cold", "warm"):
            values = [1e3 * np.median(it[f"{kind}_seconds"]) for it in some]
            middle.plot(n, values, style, label=f"{kind}, median")
            values = [1e3 * max(it[f"{kind}_seconds"]) for it in some]
            middle.plot(n, values, style, alpha=0.4, label=f"{kind}, longest of {N_EXPLAINED}")
        for name, label in (
            ("trace_bytes", "trace on disk"),
            ("train_memory", "memory of training"),
            ("explain_memory", "memory of explaining"),
        ):
            right.plot(n, [it[name] / 1e9 for it in some], style, label=label)
        if some[-1]["memory"]:
            right.axhline(some[-1]["memory"], color="grey", ls=":", label="limit")
    for axes, title in (
        (left, "microseconds per fact"),
        (middle, "milliseconds per explanation"),
        (right, "gigabytes"),
    ):
        axes.set(xscale="log", yscale="log", xlabel="facts", title=title)
        axes.legend(fontsize=7)
    pyplot.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
