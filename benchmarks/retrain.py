"""Retrainings per second: Nations in the paper's setting, on one thread and on all cores.

python benchmarks/retrain.py [--rounds N] [--retrainings N] [--threads N] [--markdown]
"""

import argparse
import os
import time
from dataclasses import dataclass, field

import numpy as np
from reports import Report, publish

from whereof.data.dataset import Dataset
from whereof.data.indexes import Adjacency
from whereof.data.read import read_dataset
from whereof.models.scoring import Scorer
from whereof.predict.prediction import Prediction
from whereof.predict.predictions import Predictions
from whereof.predict.scored import Trained
from whereof.retrain.engine import Job, LocalEngine, Recipe
from whereof.training.config import TrainConfig
from whereof.training.defaults import preset_settings
from whereof.training.problem import Problem

SETTINGS = [(m, o) for m in ("distmult", "complex") for o in ("adam", "adam-lazy")]
GOAL = 60
AUTHORS_SECONDS = 60


@dataclass(frozen=True)
class Stretch:
    """The time of some retrainings."""

    n_retrainings: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        return self.n_retrainings / self.seconds

    @property
    def cores(self) -> float:
        """Number of cores that the machine really gave."""
        return self.cpu_seconds / self.seconds


@dataclass
class Contender:
    """One setting, timed on one thread and on all in every round."""

    name: str
    recipe: Recipe
    predictions: Predictions
    stretches: dict[int, list[Stretch]] = field(default_factory=dict)

    def time(self, threads: int, n_retrainings: int) -> None:
        """Retrain without one fact each, and score every prediction."""
        which = np.arange(len(self.predictions))
        jobs = [Job.of([fact], which) for fact in range(n_retrainings)]
        start, cpu_start = time.perf_counter(), time.process_time()
        for _ in LocalEngine(threads).retrain(self.recipe, jobs, self.predictions, lambda: False):
            pass
        took, cpu_took = time.perf_counter() - start, time.process_time() - cpu_start
        stretch = Stretch(n_retrainings, took, cpu_took)
        self.stretches.setdefault(threads, []).append(stretch)

    def row(self, threads: int) -> tuple[str, ...]:
        one, many = (
            np.array([stretch.rate for stretch in self.stretches[n]]) for n in (1, threads)
        )
        low, middle, high = np.quantile(many / one, (0.25, 0.5, 0.75))
        rates = (f"{np.median(one):.1f}", f"{np.median(many):.1f}", f"{many.max():.1f}")
        least = min(it.cpu_seconds / it.n_retrainings for it in self.stretches[1])
        return self.name, *rates, f"{middle:.2f} [{low:.2f}, {high:.2f}]", f"{1e3 * least:.1f}"


def main() -> None:
    options = _options()
    threads = options.threads
    data = read_dataset("nations")
    contenders = [_contender(data, model, optimizer) for model, optimizer in SETTINGS]
    for contender in contenders:
        contender.time(1, 2)  # kernels are loaded
        contender.stretches.clear()
    for turn in range(options.rounds):
        for contender in contenders:
            # The first contender changes every round.
            for n_threads in (1, threads) if turn % 2 else (threads, 1):
                contender.time(n_threads, options.retrainings)
    publish(_report(contenders, options), markdown=options.markdown)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--rounds", type=int, default=10, help="number of rounds; each times every contender")
    add("--retrainings", type=int, default=40, help="number of retrainings that are timed together")
    add(
        "--threads",
        type=int,
        default=os.cpu_count(),
        help="number of threads to compare with one  [default: all cores]",
    )
    add("--markdown", action="store_true", help="print Markdown for docs/benchmarks.md")
    options = parser.parse_args()
    if options.threads < 2:
        parser.error("this machine has one core; give --threads 2 or more")
    return options


def _contender(data: Dataset, model: str, optimizer: str) -> Contender:
    """The paper's setting with all epochs; the predictions are the test facts."""
    settings = preset_settings("paper", data.name) | {"model": model, "optimizer": optimizer}
    problem = Problem.of(data, TrainConfig.from_dict(settings))
    recipe = Recipe(problem, len(problem.facts) * problem.config.epochs)
    scorer = Scorer(problem.model, *problem.initial_rows())
    places = [Prediction(*fact) for fact in data.test.tolist()]
    index = Adjacency.of(data.train, data.n_entities, data.n_relations)
    trained = Trained(scorer, data, problem.config, index, None)
    return Contender(f"{model}, {optimizer}", recipe, Predictions.of(trained, places))


def _report(contenders: list[Contender], options: argparse.Namespace) -> Report:
    threads, recipe = options.threads, contenders[0].recipe
    columns = (
        "model, optimizer",
        "1 thread",
        f"{threads} threads",
        "best round",
        "relative to 1 thread",
        "minimum CPU ms each",
    )
    notes = (
        f"Retrainings per second. Each takes {recipe.n_facts:,} steps and scores "
        f"{len(contenders[0].predictions)} predictions. Medians of {options.rounds} rounds of "
        f"{options.retrainings}; quartiles of the ratio in brackets.",
        f"The machine gave {_cores(contenders, 1):.2f} cores to one thread and "
        f"{_cores(contenders, threads):.2f} to {threads}. Fewer cores lower the ratio.",
        f"Goal: {GOAL} per second on two cores, near-linear in cores.",
        f"The authors' program takes {AUTHORS_SECONDS} s for one on this kind of machine.",
    )
    rows = [contender.row(threads) for contender in contenders]
    return Report("Retraining: Nations, the paper's setting", columns, rows, notes)


def _cores(contenders: list[Contender], threads: int) -> float:
    """The median number of cores."""
    return float(np.median([it.cores for c in contenders for it in c.stretches[threads]]))


if __name__ == "__main__":
    main()
