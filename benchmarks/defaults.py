"""Quality and truth of training settings, for docs/defaults.md.

    python benchmarks/defaults.py nations --seeds 0 1 2 3 4 "" accumulator=0,init=0.05,search=false

trains with the defaults, then with each of the given settings. It sweeps the log-odds of random
test facts backwards through training, removes random facts and the first facts of each sweep one
by one, and compares. Sweeps and retrainings run on the GPU with --engine cuda.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import whereof
from whereof.evaluate.statistics import spearman
from whereof.models.scoring import Scorer
from whereof.retrain.cuda.sweep import CudaSweep
from whereof.retrain.engine import Job, LocalEngine, Recipe
from whereof.retrain.options import EngineOptions
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.sweep import Adjoint, Sweep

COLUMNS = ("settings", "seed", "quality", "epochs", "seconds", "rho", "share", "size")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12, 13, 14])
    parser.add_argument("--predictions", type=int, default=16)
    parser.add_argument("--facts", type=int, default=600, help="random facts to remove")
    parser.add_argument("--first", type=int, default=5, help="first facts of each sweep to remove")
    parser.add_argument("--engine", choices=("local", "cuda"), default="local")
    parser.add_argument("trials", nargs="+", help='such as "" or rate=0.05,search=false')
    arguments = parser.parse_intermixed_args()
    data = whereof.read(arguments.data)
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for trial in arguments.trials:
        settings = dict(map(parse, trial.split(","))) if trial else {}
        for seed in arguments.seeds:
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder, "run")
                run = whereof.train(data, out=out, seed=seed, trace=False, **settings)
                found = measure(run, arguments)
            texts = (f"{value:.3f}" if isinstance(value, float) else str(value) for value in found)
            print(f"| {trial or 'defaults'} | {seed} | {' | '.join(texts)} |", flush=True)


def parse(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def measure(run: whereof.Run, arguments: argparse.Namespace) -> tuple[Any, ...]:
    """Test MRR or NDCG, epochs, seconds of training; then how estimates compare with the truth."""
    metrics, result = run.metrics["test"], run.manifest.result
    problem, n_trained = Problem.of(run.dataset, run.config), result["best_facts"]
    rng = np.random.default_rng(run.config.seed)
    test, n_facts = run.dataset.test, run.dataset.n_facts
    predictions = test[rng.permutation(len(test))[: arguments.predictions]].astype(np.int64)
    facts = np.sort(rng.permutation(n_facts)[: arguments.facts])
    sweep = CudaSweep if arguments.engine == "cuda" else Sweep
    estimates, _ = sweep(problem, n_trained).run(adjoint(problem, run.parameters, predictions))
    firsts = np.unique(np.argsort(-estimates, axis=1)[:, : arguments.first])
    ids = np.concatenate([facts, np.setdiff1d(firsts, facts)])
    before, falls = leave_out(Recipe(problem, n_trained), ids, predictions, arguments.engine)
    each, estimates = np.arange(len(predictions)), estimates[:, ids]
    pairs = zip(estimates[:, : len(facts)], falls[:, : len(facts)], strict=True)
    rho = float(np.mean([spearman(one, two) for one, two in pairs]))
    drops, expected = (probability(before) - probability(before - x.T) for x in (falls, estimates))
    best, first = drops.T.argmax(axis=1), expected.T.argmax(axis=1)
    share = float(drops.T[each, first].sum() / drops.T[each, best].sum())
    size = float(np.median(estimates[each, best] / falls[each, best]))
    quality = float(metrics.get("ndcg@10", metrics.get("mrr")))
    return quality, result["epochs"], float(result["seconds"]), rho, share, size


def probability(log_odds: NDArray[Any]) -> NDArray[Any]:
    return 1 / (1 + np.exp(-np.clip(log_odds, -50, 50)))


def leave_out(
    recipe: Recipe, ids: NDArray[Any], predictions: NDArray[Any], engine: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    """(n_predictions,) log-odds, and (n_predictions, n_ids) how far they fall without each fact."""
    if engine == "cuda":
        from whereof.retrain.cuda.engine import CudaEngine

        chosen: Any = CudaEngine()
    else:
        chosen = LocalEngine(EngineOptions().threads)
    jobs = [Job.of([], []), *(Job.of([fact], []) for fact in ids)]
    found = np.zeros((len(jobs), len(predictions)))
    for number, rows in chosen.retrain(recipe, jobs, None, lambda: False):
        found[number] = slopes(recipe.problem, rows, predictions)[0]
    return found[0], found[0][:, None] - found[1:].T


def slopes(
    problem: Problem, rows: Parameters, predictions: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Log-odds of the objects, (n, n_objects) their derivatives in the scores, and the queries.

    For models that match by a dot product, over all objects, without offsets of the query.
    """
    given, relations, wanted = predictions.T
    queries = Scorer(problem.model, *rows).queries(given, relations, "float64")
    objects = rows.entity_rows[problem.objects.start : problem.objects.stop].astype(np.float64)
    each, wanted = np.arange(len(predictions)), wanted - problem.objects.start
    scores = queries[:, : objects.shape[1]] @ objects.T
    own = scores[each, wanted].copy()
    scores[each, wanted] = -np.inf
    top = scores.max(axis=1, keepdims=True)
    others = np.exp(scores - top)
    totals = others.sum(axis=1, keepdims=True)
    derivatives = -others / totals
    derivatives[each, wanted] = 1
    return own - (top + np.log(totals))[:, 0], derivatives, queries


def adjoint(problem: Problem, rows: Parameters, predictions: NDArray[Any]) -> Adjoint:
    """Derivatives of the log-odds with respect to the rows."""
    _, derivatives, queries = slopes(problem, rows, predictions)
    entities, relations = (each.astype(np.float64) for each in rows)
    span, width = slice(problem.objects.start, problem.objects.stop), entities.shape[1]
    d_entities = np.zeros((len(predictions), *entities.shape))
    d_relations = np.zeros((len(predictions), *relations.shape))
    d_entities[:, span] = derivatives[:, :, None] * queries[:, None, :width]
    d_queries = derivatives @ entities[span]
    for number, (s, r, _) in enumerate(predictions):
        ds, dr = np.zeros(width), np.zeros(relations.shape[1])
        problem.model.query_vjp(entities[s], relations[r], d_queries[number], ds, dr)
        d_entities[number, s] += ds
        d_relations[number, r] += dr
    return Adjoint(d_entities, d_relations)


if __name__ == "__main__":
    main()
