"""How well each ranking of `whereof audit` finds wrong facts, for docs/audit.md.

    python benchmarks/audit.py nations kinship --seeds 0 1 2 3 4
    python benchmarks/audit.py kinship --methods rollback unrolled --sample 1000
    python benchmarks/audit.py wn18rr dim=50 epochs=10 validate_every=0 search=false --seeds 0 1 2

makes 5% of the training facts wrong, in one of three ways, trains on them, and ranks all training
facts. It prints the precision at the number of wrong facts: the share of wrong facts among as many
facts from the top of the ranking, with a 95% interval over seeds (Student's t). The expected
precision of a random order is 5%. With --sample, it ranks some of the facts, drawn at random: 5% of
them are wrong.
"""

import argparse
import math
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from defaults import parse
from numpy.typing import NDArray

import whereof
from whereof.data.dataset import Dataset
from whereof.events import Events
from whereof.explain.suspicion import RANKINGS, find_own_losses
from whereof.types import OBJECT, RELATION

KINDS = ("object", "relation", "plausible")
SHARE = 0.05
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 8: 2.365, 10: 2.262}
"""The 97.5% point of Student's t, by the number of seeds."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("given", nargs="+", help="datasets, and settings such as epochs=10")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--methods", nargs="+", default=["rollback"])
    parser.add_argument("--sample", type=int, help="number of facts to rank  [default: all]")
    arguments = parser.parse_intermixed_args()
    names = [name for name in arguments.given if "=" not in name]
    settings = dict(map(parse, (text for text in arguments.given if "=" in text)))
    for name in names:
        for kind in arguments.kinds:
            found = defaultdict[str, list[float]](list)
            for seed in arguments.seeds:
                for ranking, precision in measure(name, kind, seed, arguments, settings):
                    found[ranking].append(precision)
            for ranking, precisions in found.items():
                print(f"| {name} | {kind} | {ranking} | {show(precisions)} |", flush=True)


def measure(
    name: str, kind: str, seed: int, arguments: argparse.Namespace, settings: dict[str, Any]
) -> list[tuple[str, float]]:
    """The precision of every ranking, for one dataset made wrong and one training."""
    rng = np.random.default_rng(seed)
    data, wrong = make_wrong(whereof.read(name), kind, rng)
    ids = np.arange(data.n_facts)
    if arguments.sample:
        right, n_wrong = np.setdiff1d(ids, wrong), round(SHARE * arguments.sample)
        wrong = rng.choice(wrong, n_wrong, replace=False)
        ids = np.union1d(wrong, rng.choice(right, arguments.sample - n_wrong, replace=False))
    if settings.get("validate_every") == 0:  # held-out facts would only cost time
        data = replace(data, valid=data.valid[:0], test=data.test[:0])
    found = []
    with tempfile.TemporaryDirectory() as folder:
        run = whereof.train(data, out=Path(folder, "run"), seed=seed, **settings)
        for method in arguments.methods:
            own = find_own_losses(run._trained, method, Events(), ids)
            for ranking in RANKINGS:
                depends = ranking in ("loss-without", "self-influence")
                if depends or method == arguments.methods[0]:
                    top = ids[np.argsort(-own.rank(ranking), kind="stable")[: len(wrong)]]
                    title = f"{ranking} ({method})" if depends else ranking
                    found.append((title, float(np.isin(top, wrong).mean())))
    return found


def make_wrong(
    data: Dataset, kind: str, rng: np.random.Generator
) -> tuple[Dataset, NDArray[np.int64]]:
    """The data with some training facts made wrong, and their ids; no fact is there twice."""
    splits = (data.train, data.valid, data.test)
    known = {tuple(fact) for facts in splits for fact in facts.tolist()}
    train, order, wrong = data.train.copy(), rng.permutation(data.n_facts), list[int]()
    ranges = [
        np.unique(data.train[data.train[:, RELATION] == r, OBJECT]) for r in range(data.n_relations)
    ]
    for fact_id in order.tolist():
        if len(wrong) == round(SHARE * data.n_facts):
            break
        fact = train[fact_id].copy()
        if kind == "relation":
            fact[RELATION] = rng.integers(data.n_relations)
        elif kind == "object":
            fact[OBJECT] = rng.integers(data.n_entities)
        else:
            fact[OBJECT] = rng.choice(ranges[fact[RELATION]])
        if tuple(fact.tolist()) not in known:
            known.add(tuple(fact.tolist()))
            train[fact_id] = fact
            wrong.append(fact_id)
    return replace(data, train=train), np.array(wrong, np.int64)


def show(precisions: list[float]) -> str:
    """Mean and half the width of its 95% interval, in percent."""
    mean, n = 100 * np.mean(precisions), len(precisions)
    if n < 2:
        return f"{mean:.1f} |"
    half = STUDENT[n] * 100 * np.std(precisions, ddof=1) / math.sqrt(n)
    return f"{mean:.1f} | {half:.1f}"


if __name__ == "__main__":
    main()
