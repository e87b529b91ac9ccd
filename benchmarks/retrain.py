"""Retraining: Nations in the paper's setting, models a second on one thread and on all cores.

python benchmarks/retrain.py [--rounds N] [--retrainings N] [--threads N] [--markdown]
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass, field

import numpy as np
from tables import Report, machine, machine_line

from whence.data import Dataset, read_dataset
from whence.engines import Job
from whence.engines._local import LocalEngine
from whence.models.scoring import Scorer
from whence.predict import Place, Predictions
from whence.training import TrainConfig, preset_settings
from whence.training._problem import Problem
from whence.training.retraining import Recipe

SETTINGS = [(m, o) for m in ("distmult", "complex") for o in ("adam", "adam-lazy")]
GOAL = 60
AUTHORS_SECONDS = 60


@dataclass
class Contender:
    """One setting, timed on one thread and on all in every round."""

    name: str
    recipe: Recipe
    predictions: Predictions
    rates: dict[int, list[float]] = field(default_factory=dict)
    cpu_seconds: list[float] = field(default_factory=list)
    """Of a retraining on one thread, whatever else the machine does."""

    def time(self, threads: int, n_retrainings: int) -> None:
        """Retrain without one fact each, and see how every prediction stands."""
        which = np.arange(len(self.predictions))
        jobs = [Job.of([fact], which) for fact in range(n_retrainings)]
        start, cpu_start = time.perf_counter(), time.process_time()
        for _ in LocalEngine(threads).retrain(self.recipe, jobs, self.predictions, lambda: False):
            pass
        rate = n_retrainings / (time.perf_counter() - start)
        self.rates.setdefault(threads, []).append(rate)
        if threads == 1:
            self.cpu_seconds.append((time.process_time() - cpu_start) / n_retrainings)

    def row(self, threads: int) -> tuple[str, ...]:
        one, all_ = np.array(self.rates[1]), np.array(self.rates[threads])
        low, middle, high = np.quantile(all_ / one, (0.25, 0.5, 0.75))
        rates = (f"{np.median(one):.1f}", f"{np.median(all_):.1f}", f"{all_.max():.1f}")
        ratio = f"{middle:.2f} [{low:.2f}, {high:.2f}]"
        return self.name, *rates, ratio, f"{1e3 * min(self.cpu_seconds):.1f}"


def main() -> None:
    options = _options()
    threads = options.threads
    data = read_dataset("nations")
    contenders = [_contender(data, model, optimizer) for model, optimizer in SETTINGS]
    for contender in contenders:
        contender.time(1, 2)  # kernels are loaded
        contender.rates.clear()
        contender.cpu_seconds.clear()
    for turn in range(options.rounds):
        for contender in contenders:
            # Who begins changes every round.
            for n_threads in (1, threads) if turn % 2 else (threads, 1):
                contender.time(n_threads, options.retrainings)
    command = f"python benchmarks/retrain.py {' '.join(sys.argv[1:])}".strip()
    print(f"`{command}` on {machine_line(machine())}\n")
    report = _report(contenders, options)
    print(report.markdown() if options.markdown else report.plain())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--rounds", type=int, default=10, help="rounds, with every contender in each")
    add("--retrainings", type=int, default=40, help="retrainings that are timed at a time")
    add("--threads", type=int, default=os.cpu_count(), help="beside one  [default: all cores]")
    add("--markdown", action="store_true", help="print a table for docs/benchmarks.md")
    options = parser.parse_args()
    if options.threads < 2:
        parser.error("there is one core alone; give --threads 2 or more")
    return options


def _contender(data: Dataset, model: str, optimizer: str) -> Contender:
    """The paper's setting and all of its epochs; the test facts are looked at."""
    settings = preset_settings("paper", data.name) | {"model": model, "optimizer": optimizer}
    problem = Problem.of(data, TrainConfig.from_dict(settings))
    recipe = Recipe(problem, len(problem.facts) * problem.config.epochs)
    scorer = Scorer(problem.model, *problem.initial_rows())
    places = [Place(*fact) for fact in data.test.tolist()]
    return Contender(f"{model}, {optimizer}", recipe, Predictions.of(scorer, data, places))


def _report(contenders: list[Contender], options: argparse.Namespace) -> Report:
    threads, recipe = options.threads, contenders[0].recipe
    columns = (
        "model, optimizer",
        "1 thread",
        f"{threads} threads",
        "best round",
        "times 1 thread",
        "least CPU ms each",
    )
    notes = (
        f"Retrainings a second, each of {recipe.n_facts:,} steps and with the standings of "
        f"{len(contenders[0].predictions)} predictions; medians of {options.rounds} rounds of "
        f"{options.retrainings}, quartiles of the ratio in brackets.",
        f"Goal: {GOAL} a second on two cores, near-linear in cores.",
        f"The authors' program takes {AUTHORS_SECONDS} s for one on this kind of machine.",
    )
    rows = [contender.row(threads) for contender in contenders]
    return Report("Retraining: Nations, the paper's setting", columns, rows, notes)


if __name__ == "__main__":
    main()
