"""Retrainings per second on a CUDA GPU, by the number of models trained together.

python benchmarks/fleet.py [--models N ...] [--settings NAME ...] [--seconds S]

FB15k-237 (in WHEREOF_DATA) in the paper's setting, with distinct negatives. The benchmark compares
the bytes that a step must move with the copy bandwidth of the GPU: training from this memory cannot
be faster. The last line of every setting is for one CPU core. Requires a CUDA GPU.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np
from reports import machine, machine_line

from whereof.data.dataset import Dataset
from whereof.data.read import read_dataset
from whereof.retrain.cuda.card import Card, open_card
from whereof.retrain.cuda.fleet import Fleet
from whereof.retrain.cuda.layout import Sizes
from whereof.retrain.engine import Recipe
from whereof.training.defaults import choose_config
from whereof.training.problem import Problem

_SETTINGS = {
    "DistMult, adam-lazy": {"optimizer": "adam-lazy"},
    "DistMult, adam": {},
    "ComplEx, adam-lazy": {"model": "complex", "optimizer": "adam-lazy"},
    "ComplEx, adam": {"model": "complex"},
}
_COLUMNS = ("models", "us/step", "s/retraining", "retrainings/s", "share of copy bandwidth")
_COPY_BYTES = 1 << 32
_CORE_SECONDS = 2.0


@dataclass(frozen=True)
class Measured:
    """One setting on the GPU or on one core, or its lower bound."""

    name: str
    n_models: int | None
    """Trained together; None for the lower bound, which is the same for any number."""
    retraining: float
    """Seconds per model."""
    n_facts: int
    floor: float | None
    """Seconds of a retraining at the GPU's copy bandwidth."""

    def line(self) -> str:
        step = "" if self.n_models is None else self.retraining * self.n_models / self.n_facts
        cells = (
            self.name,
            self.n_models or "any",
            step and f"{1e6 * step:.1f}",
            f"{self.retraining:#.3g}",
            f"{1 / self.retraining:#.3g}",
            "" if self.floor is None else f"{self.floor / self.retraining:.0%}",
        )
        return f"| {' | '.join(map(str, cells))} |"


def copy_bandwidth(card: Card) -> float:
    """Bytes read and written per second, from the fastest of ten copies."""
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


def problem_of(dataset: Dataset, setting: str) -> Problem:
    settings = {"sampling": "distinct", **_SETTINGS[setting]}
    return Problem.of(dataset, choose_config(dataset, "paper", settings))


def step_bytes(problem: Problem) -> int:
    """Bytes read and written: rows and moments of candidates, subject and relation."""
    sizes = Sizes.of(problem)
    return 2 * (sizes.most + 2) * sizes.row * sizes.parts * sizes.item


def on_card(card: Card, problem: Problem, n_models: int, seconds: float) -> float:
    """Seconds per retraining when n_models are trained together, after a warm-up."""
    fleet = Fleet(card, problem, [np.array([model]) for model in range(n_models)])
    spent, n_facts = 0.0, 0
    for number, (n, took) in enumerate(fleet.train(len(problem.facts), seconds / 4)):
        if number > 1:
            spent, n_facts = spent + took, n_facts + n
        if spent > seconds:
            break
    return spent / n_facts * len(problem.facts) / n_models


def on_core(problem: Problem) -> float:
    """Seconds of a retraining on one core, estimated from its first steps."""
    recipe = Recipe(problem, len(problem.facts))
    recipe.probe(0)  # loads the kernels
    return recipe.probe(_CORE_SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=int, nargs="+", default=[1, 16, 132, 264, 528])
    parser.add_argument("--settings", nargs="+", default=list(_SETTINGS), choices=_SETTINGS)
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds of each measurement")
    asked = parser.parse_args()
    card, dataset = open_card("this benchmark"), read_dataset("fb15k-237")
    copied = copy_bandwidth(card)
    print(f"{card.name}, copies {copied / 1e12:.2f} TB/s; {machine_line(machine())}\n")
    print(f"| setting | {' | '.join(_COLUMNS)} |\n|---|{'---:|' * len(_COLUMNS)}")
    for setting in asked.settings:
        problem = problem_of(dataset, setting)
        n_facts = len(problem.facts)
        floor = step_bytes(problem) * n_facts / copied
        for n_models in asked.models:
            took = on_card(card, problem, n_models, asked.seconds)
            print(Measured(setting, n_models, took, n_facts, floor).line(), flush=True)
        print(Measured(f"{setting}: floor", None, floor, n_facts, floor).line())
        took = on_core(problem)
        print(Measured(f"{setting}: one core", 1, took, n_facts, None).line(), flush=True)


if __name__ == "__main__":
    main()
