"""How well `whereof audit` estimates what happens without a group of facts, for docs/audit.md.

    python benchmarks/dropped.py nations --seeds 0 1 2

trains, estimates the influence of every relation, every entity and 20 random sources of about the
same size, and retrains without each of them.
"""

import argparse
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

import whereof
from whereof.data.dataset import Dataset, Sources
from whereof.evaluate.audit import AuditedGroup
from whereof.evaluate.statistics import spearman

N_SOURCES = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    arguments = parser.parse_args()
    found = defaultdict[str, list[tuple[AuditedGroup, float]]](list)
    for seed in arguments.seeds:
        data = with_sources(whereof.read(arguments.data), np.random.default_rng(seed))
        with tempfile.TemporaryDirectory() as folder:
            run = whereof.train(data, out=Path(folder, "run"), seed=seed)
            audit = run.audit(top="all", verify=True, method="rollback", limit="all")
        assert audit.held_out is not None
        assert audit.held_out.mrr is not None
        for group in audit.groups:
            assert group.mrr is not None
            found[group.kind].append((group, audit.held_out.mrr - group.mrr))
    print("| | groups | estimated | actual | same sign | rank correlation | that of MRR |")
    for kind, groups in found.items():
        print(f"| {kind} | {len(groups)} | {summary(groups)} |")


def with_sources(data: Dataset, rng: np.random.Generator) -> Dataset:
    """The data with a random source for every fact."""
    codes = rng.integers(N_SOURCES, size=data.n_facts).astype(np.int32)
    return replace(data, sources=Sources(codes, [f"source {i}" for i in range(N_SOURCES)]))


def summary(groups: list[tuple[AuditedGroup, float]]) -> str:
    """Means in points, the share with the right sign, and rank correlations with the estimates."""
    estimated = np.array([group.influence for group, _ in groups], float)
    actual = np.array([group.actual for group, _ in groups], float)
    right = 100 * np.mean(np.sign(estimated) == np.sign(actual))
    correlations = (spearman(estimated, it) for it in (actual, np.array([it for _, it in groups])))
    means = (f"{100 * it.mean():+.2f}" for it in (estimated, actual))
    return " | ".join([*means, f"{right:.0f} %", *(f"{it:.2f}" for it in correlations)])


if __name__ == "__main__":
    main()
