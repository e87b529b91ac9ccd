"""What syncing files to disk costs, for docs/reliability.md.

    python benchmarks/sync.py [--rounds 9] [--epochs 4 200]

trains Nations in turn with and without syncing, and prints the medians.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from unittest import mock

import whereof


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--epochs", type=int, nargs="+", default=[4, 200])
    arguments = parser.parse_args()
    seconds_of(1, os.fsync)  # compiles
    for epochs in arguments.epochs:
        turns = [
            (seconds_of(epochs, os.fsync), seconds_of(epochs, skip))
            for _ in range(arguments.rounds)
        ]
        synced, plain = map(median, zip(*turns, strict=True))
        print(
            f"{epochs} epochs: {synced:.3f} s synced, {plain:.3f} s not, {synced / plain:.2f} times"
        )


def skip(file: int) -> None:
    """Do not sync."""


def seconds_of(epochs: int, sync: object) -> float:
    with tempfile.TemporaryDirectory() as folder, mock.patch("os.fsync", sync):
        start = time.perf_counter()
        whereof.train("nations", epochs=epochs, patience=0, search=False, out=Path(folder, "run"))
        return time.perf_counter() - start


if __name__ == "__main__":
    main()
