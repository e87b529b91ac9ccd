"""Time and memory to read, encode and split a generated file.

python benchmarks/read.py [--facts N]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from reports import Report, peak_memory, publish

N_ENTITIES, N_RELATIONS = 1_000_000, 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--facts", type=int, default=10_000_000, help="number of facts")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        measure(given.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.tsv"
        generate(path, given.facts)
        # Measured in another process than the one that made the file.
        command = [sys.executable, __file__, "--child", str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows = [tuple(line.split("\t")) for line in done.stdout.splitlines()]
    title = f"Reading {given.facts:,} facts: {N_ENTITIES:,} entities, {N_RELATIONS:,} relations"
    publish(Report(title, ("", "seconds", "peak MiB"), rows), markdown=True)


def generate(path: Path, n_facts: int) -> None:
    """Write random facts, a few of them twice; the file is the same every time."""
    import numpy as np

    draw = np.random.Generator(np.random.PCG64(0))
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, n_facts, 1_000_000):
            size = min(1_000_000, n_facts - start)
            # Cubed, so that a few entities have many facts and most have few.
            ends = (N_ENTITIES * draw.random((2, size)) ** 3).astype(int).tolist()
            relations = draw.integers(0, N_RELATIONS, size).tolist()
            rows = zip(ends[0], relations, ends[1], strict=True)
            file.writelines(
                f"/entity/{s:07}\t/relation/{r:04}\t/entity/{o:07}\n" for s, r, o in rows
            )


def measure(path: Path) -> None:
    from whereof.data.build import build_dataset, hold_out
    from whereof.data.options import ReadOptions
    from whereof.data.read import read_facts

    def said(part: str, began: float) -> float:
        now = time.perf_counter()
        print(f"{part}\t{now - began:.1f}\t{peak_memory() / 2**20:,.0f}")
        return now

    start = began = time.perf_counter()
    table = read_facts(path, ReadOptions(), "train")
    began = said("read, by column and code", began)
    dataset = build_dataset("facts", {"train": table})
    began = said("ids, duplicates dropped", began)
    hold_out(dataset, 0.05, 0.05, seed=0)
    said("a tenth held out", began)
    said("total", start)


if __name__ == "__main__":
    main()
