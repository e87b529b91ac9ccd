"""Seconds of a sweep backwards through training on a CUDA GPU, for many predictions at a time.

python benchmarks/unrolled.py [--predictions N ...] [--facts N] [--model NAME] [--precision P]

FB15k-237 (in WHEREOF_DATA) in the paper's sizes: one epoch, 500 distinct negatives, dim 100;
Adagrad that starts from 0.001, with rate 0.1, shuffled. The predictions are test facts; the sweep
starts from the derivatives of their log-odds. Requires a CUDA GPU.
"""

import argparse
import time
from typing import Any

import numpy as np
from reports import machine, machine_line

from whereof.data.read import read_dataset
from whereof.retrain.cuda.card import open_card
from whereof.retrain.cuda.fleet import Fleet
from whereof.retrain.cuda.sweep import CudaSweep
from whereof.training.defaults import choose_config
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.sweep import Adjoint
from whereof.types import Facts, Numbers

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
    before = time.perf_counter()
    influence, _ = CudaSweep(problem, n_facts).run(final)
    return influence, time.perf_counter() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--predictions", type=int, nargs="+", default=[264])
    parser.add_argument("--facts", type=int, help="facts to train on  [default: all]")
    parser.add_argument("--model", default="distmult", choices=["distmult", "complex", "simple"])
    parser.add_argument("--precision", default="float32", choices=["float32", "float64"])
    asked = parser.parse_args()
    card, dataset = open_card("this benchmark"), read_dataset("fb15k-237")
    print(f"{card.name}; {machine_line(machine())}\n", flush=True)
    settings: dict[str, Any] = {**_SETTINGS, "model": asked.model, "precision": asked.precision}
    problem = Problem.of(dataset, choose_config(dataset, "paper", settings))
    n_facts = asked.facts or len(problem.facts)
    fleet, before = Fleet(card, problem, [np.zeros(0, np.int64)]), time.perf_counter()
    for _ in fleet.train(n_facts, 1.0):
        pass
    rows, took = fleet.rows(0), time.perf_counter() - before
    del fleet
    print(f"trained on {n_facts} facts in {took:.1f} s", flush=True)
    chosen = np.random.default_rng(0).permutation(len(dataset.test))
    print("| predictions | s | ms/prediction | us/step |\n|---:|---:|---:|---:|")
    for n in asked.predictions:
        final = log_odds_slopes(problem, rows, dataset.test[chosen[:n]])
        _, took = timed_sweep(problem, final, n_facts)
        cells = (n, f"{took:.1f}", f"{1e3 * took / n:.0f}", f"{1e6 * took / n_facts:.0f}")
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
