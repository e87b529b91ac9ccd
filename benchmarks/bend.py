"""How a prediction depends on the weight of one fact, for docs/faithfulness.md.

    python benchmarks/bend.py RUN [--predictions 16] [--first 3]

trains the run again with other weights of the strongest facts of random test facts. It prints
medians, as shares of the true fall of the log-odds without the fact: slopes between weights, the
sweep with and without its correction, and the derivative at the end of training times the true
changes of all rows.
"""

import argparse

import numpy as np
from defaults import adjoint, slopes

import whereof
from whereof.retrain.engine import Job, LocalEngine, Recipe
from whereof.retrain.options import EngineOptions
from whereof.training.leverage import unlearnt_slopes
from whereof.training.problem import Problem
from whereof.training.sweep import Sweep

WEIGHTS = (1.1, 0.9, 0.75, 0.5, 0.25, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--predictions", type=int, default=16)
    parser.add_argument("--first", type=int, default=3)
    arguments = parser.parse_args()
    run = whereof.Run.open(arguments.run)
    problem, n_trained = Problem.of(run.dataset, run.config), run.manifest.result["best_facts"]
    test = run.dataset.test[np.random.default_rng(5).permutation(len(run.dataset.test))]
    predictions = test[: arguments.predictions].astype(np.int64)
    final = adjoint(problem, run.parameters, predictions)
    found = {}
    for name, options in {
        "derivative": {"finite": False},
        "without correction": {},
        "unrolled": {"slopes": unlearnt_slopes(problem, n_trained)},
    }.items():
        found[name], _ = Sweep(problem, n_trained, threads=2, **options).run(final)
    firsts = np.argsort(-found["unrolled"], axis=1)[:, : arguments.first]
    jobs = [Job.of([], [])]
    jobs += [Job.of([fact], [], weight) for fact in np.unique(firsts) for weight in WEIGHTS]
    trained = dict(
        LocalEngine(EngineOptions().threads).retrain(
            Recipe(problem, n_trained), jobs, None, lambda: False
        )
    )
    log_odds = {number: slopes(problem, rows, predictions)[0] for number, rows in trained.items()}
    place = {fact: 1 + len(WEIGHTS) * at for at, fact in enumerate(np.unique(firsts))}
    shares: dict[str, list[float]] = {}
    for number, facts in enumerate(firsts):
        for fact in facts:
            falls = [log_odds[0][number] - log_odds[place[fact] + at][number] for at in range(6)]
            for weight, fall in zip(WEIGHTS, falls, strict=True):
                shares.setdefault(f"1 to {weight:g}", []).append(fall / (1 - weight) / falls[-1])
            for name, influence in found.items():
                shares.setdefault(name, []).append(influence[number, fact] / falls[-1])
            pairs = zip(trained[0], trained[place[fact] + 5], strict=True)
            changes = [before - after for before, after in pairs]
            linear = (final.entities[number] * changes[0]).sum()
            linear += (final.relations[number] * changes[1]).sum()
            shares.setdefault("derivative times true changes", []).append(linear / falls[-1])
    for name, values in shares.items():
        print(f"{name:30} {np.median(values):.3f}")


if __name__ == "__main__":
    main()
