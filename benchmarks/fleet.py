"""How fast a CUDA card retrains: seconds of one retraining against the number of models at once.

The bytes that a step must move, over its time, stand beside what the card copies: a floor that no
way of training in this memory can pass. Needs a card, and FB15k-237 in WHENCE_DATA.
"""

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from whence.data import read_dataset
from whence.engines.cuda._card import CudaCard, open_card
from whence.engines.cuda._fleet import Fleet
from whence.engines.cuda._layout import Layout
from whence.training import choose_config
from whence.training._problem import Problem

_SETTINGS = {
    "DistMult, adam-lazy": {"optimizer": "adam-lazy", "sampling": "distinct"},
    "DistMult, adam": {"sampling": "distinct"},
    "ComplEx, adam-lazy": {"model": "complex", "optimizer": "adam-lazy", "sampling": "distinct"},
    "ComplEx, adam": {"model": "complex", "sampling": "distinct"},
}
_COPY_BYTES = 1 << 32


@dataclass(frozen=True)
class Measured:
    """One setting with so many models at once."""

    setting: str
    n_models: int
    layout: Layout
    step_us: float
    """Of all models together."""
    retraining_s: float
    """All facts once, shared out among the models."""
    share: float
    """Of the copy bandwidth."""


def copy_bandwidth(card: CudaCard) -> float:
    """Bytes a second, read and written, of the best of some copies."""
    xp = card.xp
    source, target = xp.zeros((2, _COPY_BYTES // 4), xp.float32)
    seconds = []
    for _ in range(10):
        card.wait()
        before = time.perf_counter()
        target[:] = source
        card.wait()
        seconds.append(time.perf_counter() - before)
    return 2 * _COPY_BYTES / min(seconds)


def measured(
    card: CudaCard, setting: str, n_models: int, copied: float, seconds: float
) -> Measured:
    """Train for some seconds, after a first stretch."""
    dataset = read_dataset("fb15k-237")
    problem = Problem.of(dataset, choose_config(dataset, "paper", dict(_SETTINGS[setting])))
    fleet = Fleet(card, problem, [np.array([model]) for model in range(n_models)])
    spent, n_facts = 0.0, 0
    for number, (n, took) in enumerate(fleet.train(len(problem.facts), seconds / 4)):
        if number > 1:
            spent, n_facts = spent + took, n_facts + n
        if spent > seconds:
            break
    step, sizes = spent / n_facts, fleet.sizes
    n_rows = float(fleet.arrays["steps"][:1000, 4].mean()) + 2  # with subject and relation
    n_bytes = 2 * n_models * n_rows * sizes.row * sizes.parts * sizes.item
    whole = step * len(problem.facts) / n_models
    return Measured(setting, n_models, fleet.layout, 1e6 * step, whole, n_bytes / step / copied)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="+", default=[1, 16, 132, 264, 528])
    parser.add_argument("--settings", nargs="+", default=list(_SETTINGS), choices=_SETTINGS)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    asked = parser.parse_args()
    card = open_card("this benchmark")
    copied = copy_bandwidth(card)
    print(f"{card.name}: copies {copied / 1e12:.2f} TB/s\n")
    print("| setting | models | us a step | s a retraining | retrainings/s | of copy | layout |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for setting in asked.settings:
        for n_models in asked.models:
            print(line(measured(card, setting, n_models, copied, asked.seconds)), flush=True)


def line(found: Measured) -> str:
    layout = found.layout
    shape = f"{layout.threads} x {layout.blocks}, {layout.group} a row, {layout.held} held"
    numbers: tuple[Any, ...] = (
        found.setting,
        found.n_models,
        f"{found.step_us:.1f}",
        f"{found.retraining_s:.4f}",
        f"{1 / found.retraining_s:.2f}",
        f"{found.share:.0%}",
        shape,
    )
    return f"| {' | '.join(map(str, numbers))} |"


if __name__ == "__main__":
    main()
