"""How far influences of single facts add up, for docs/faithfulness.md.

    python benchmarks/sums.py RUN [--predictions 40] [--sets 150] [--drop 0.01]

retrains a run without every single fact, and without random sets of facts. It prints Spearman's
correlation over the sets, the mean over random test facts, of the true fall of the log-odds with
the sum of the facts' influences: those of `unrolled`, and the true ones. No method that adds up
single influences can be expected to do better than the true ones.
"""

import argparse

import numpy as np
from defaults import adjoint, slopes

import whereof
from whereof.evaluate.statistics import spearman
from whereof.retrain.engine import Job, LocalEngine, Recipe
from whereof.retrain.options import EngineOptions
from whereof.training.leverage import unlearnt_slopes
from whereof.training.problem import Problem
from whereof.training.sweep import Sweep


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--predictions", type=int, default=40)
    parser.add_argument("--sets", type=int, default=150)
    parser.add_argument("--drop", type=float, default=0.01)
    arguments = parser.parse_args()
    run, rng = whereof.Run.open(arguments.run), np.random.default_rng(1)
    problem, n_trained = Problem.of(run.dataset, run.config), run.manifest.result["best_facts"]
    n_facts, size = run.dataset.n_facts, max(round(arguments.drop * run.dataset.n_facts), 1)
    predictions = rng.permutation(run.dataset.test)[: arguments.predictions].astype(np.int64)
    sets = [rng.permutation(n_facts)[:size] for _ in range(arguments.sets)]
    jobs = [Job.of(removed, []) for removed in ([], *np.arange(n_facts)[:, None], *sets)]
    log_odds = np.zeros((len(jobs), len(predictions)))
    engine, recipe = LocalEngine(EngineOptions().threads), Recipe(problem, n_trained)
    for number, rows in engine.retrain(recipe, jobs, None, lambda: False):
        log_odds[number] = slopes(problem, rows, predictions)[0]
    falls = log_odds[0] - log_odds[1:]  # (n_facts + n_sets, n_predictions)
    corrected = Sweep(problem, n_trained, slopes=unlearnt_slopes(problem, n_trained))
    estimates, _ = corrected.run(adjoint(problem, run.parameters, predictions))
    for name, single in {"unrolled": estimates.T, "true influences": falls[:n_facts]}.items():
        sums = np.array([single[removed].sum(axis=0) for removed in sets])
        rho = np.mean([*map(spearman, sums.T, falls[n_facts:].T)])
        print(f"{name:16} {rho:.3f}")


if __name__ == "__main__":
    main()
