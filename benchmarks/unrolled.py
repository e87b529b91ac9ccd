"""Seconds of a sweep backwards through training on a CUDA GPU, for many predictions at a time.

python benchmarks/unrolled.py [--predictions N ...] [--facts N] [--default]

FB15k-237 (in WHEREOF_DATA) in the paper's sizes: one epoch, 500 distinct negatives, dim 100;
Adagrad that starts from 0.001, with rate 0.1, shuffled. The predictions are test facts; the sweep
starts from the derivatives of their log-odds. With --default, the default training instead. With
--facts, a shorter training; the time of the whole one is then estimated. The last column compares
with a sweep in float64 of the first few predictions, if --compare is given. Requires a CUDA GPU.
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from reports import machine, machine_line

from whereof.data.dataset import Dataset
from whereof.data.read import read_dataset
from whereof.retrain.cuda.card import open_card
from whereof.retrain.cuda.fleet import Fleet
from whereof.retrain.cuda.sweep import CudaSweep
from whereof.training.defaults import choose_config
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.sweep import Adjoint
from whereof.types import Facts, Numbers

_COLUMNS = ("predictions", "facts", "s", "us/step", "s for the whole training", "error")
_COMPARED = 16
_SETTINGS = {
    "sampling": "distinct",
    "optimizer": "adagrad",
    "accumulator": 1e-3,
    "rate": 0.1,
    "schedule": "constant",
    "order": "shuffle",
}


def log_odds_slopes(problem: Problem, rows: Parameters, facts: Facts) -> Adjoint:
    """Derivatives of the log-odds of facts by all rows."""
    model, (entities, relations) = problem.model, rows
    real, n = entities.dtype, len(facts)
    found = Adjoint(np.zeros((n, *entities.shape), real), np.zeros((n, *relations.shape), real))
    for number, (s, r, o) in enumerate(facts):
        query = np.zeros(problem.widths.query, real)
        model.query(entities[s], relations[r], query)
        scores = entities @ query
        slopes = -np.exp(scores - scores.max())
        slopes[o] = 0
        slopes /= -slopes.sum()
        slopes[o] = 1
        found.entities[number] = np.outer(slopes, query)
        d_subject, d_relation = np.zeros_like(entities[s]), np.zeros_like(relations[r])
        model.query_vjp(entities[s], relations[r], slopes @ entities, d_subject, d_relation)
        found.entities[number, s] += d_subject
        found.relations[number, r] += d_relation
    return found


def timed_sweep(problem: Problem, final: Adjoint, n_facts: int) -> tuple[Numbers, float]:
    """Influences, and the seconds without compilation."""
    CudaSweep(problem, 64).run(final)
    before = time.perf_counter()
    influence, _ = CudaSweep(problem, n_facts).run(final)
    return influence, time.perf_counter() - before


def error_in_single(problem: Problem, final: Adjoint, n_facts: int, found: Numbers) -> float:
    """The largest error of a prediction, as a share of its largest influence; the median one."""
    wide = replace(problem, config=problem.config.replace(precision="float64"))
    few = Adjoint(final.entities[:_COMPARED], final.relations[:_COMPARED])
    wanted, _ = CudaSweep(wide, n_facts).run(few)
    errors = np.abs(found[:_COMPARED] - wanted).max(axis=1) / np.abs(wanted).max(axis=1)
    return float(np.median(errors))


def problem_of(dataset: Dataset, asked: argparse.Namespace) -> Problem:
    preset, settings = (None, {"accumulator": 1e-3}) if asked.default else ("paper", _SETTINGS)
    return Problem.of(dataset, choose_config(dataset, preset, settings))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--predictions", type=int, nargs="+", default=[264])
    parser.add_argument("--facts", type=int, help="facts to train on  [default: all]")
    parser.add_argument("--default", action="store_true", help="the default training")
    parser.add_argument("--compare", action="store_true", help="compare with float64")
    asked = parser.parse_args()
    card, dataset = open_card("this benchmark"), read_dataset("fb15k-237")
    print(f"{card.name}; {machine_line(machine())}\n", flush=True)
    problem = problem_of(dataset, asked)
    n_whole = len(problem.facts) * problem.config.epochs
    n_facts = asked.facts or n_whole
    fleet, before = Fleet(card, problem, [np.zeros(0, np.int64)]), time.perf_counter()
    for _ in fleet.train(n_facts, 1.0):
        pass
    rows, took = fleet.rows(0), time.perf_counter() - before
    del fleet
    print(f"trained on {n_facts} facts in {took:.1f} s", flush=True)
    chosen = np.random.default_rng(0).permutation(len(dataset.test))
    print(f"| {' | '.join(_COLUMNS)} |\n|{'---:|' * len(_COLUMNS)}")
    for n in asked.predictions:
        final = log_odds_slopes(problem, rows, dataset.test[chosen[:n]])
        found, took = timed_sweep(problem, final, n_facts)
        step, whole = took / n_facts / problem.n_directions, took * n_whole / n_facts
        error = error_in_single(problem, final, n_facts, found) if asked.compare else 0
        cells = (n, n_facts, f"{took:.1f}", f"{1e6 * step:.0f}", f"{whole:.0f}", f"{error:.1e}")
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
