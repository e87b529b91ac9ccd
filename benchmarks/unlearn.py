"""How far `whereof unlearn` is from retraining from scratch, for docs/update.md.

    python benchmarks/unlearn.py nations

trains with the defaults, unlearns random sets of facts by each method, and prints means over the
sets: the probability of the removed facts, and how far the probabilities of held-out facts are from
the retrained ones, in points.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import whereof

COLUMNS = ("facts", "method", "before", "unlearned", "retrained", "apart", "apart before", "rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--sets", type=int, default=5)
    arguments = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    with tempfile.TemporaryDirectory() as folder:
        run = whereof.train(arguments.data, out=Path(folder, "run"))
        for size in arguments.sizes:
            orders = [
                np.random.default_rng(seed).permutation(run.dataset.n_facts)
                for seed in range(arguments.sets)
            ]
            for method in ("rollback", "warm"):
                rows = []
                for number, order in enumerate(orders):
                    out = Path(folder, f"{method}-{size}-{number}")
                    found = run.unlearn(order[:size].tolist(), out=out, method=method).distance
                    assert found is not None
                    models = (found.before, found.unlearned, found.retrained)
                    said = [100 * (model.removed_probability or 0.0) for model in models]
                    apart = [
                        100 * (it or 0.0) for it in (found.probability, found.probability_before)
                    ]
                    rows.append([*said, *apart, found.rows])
                texts = " | ".join(f"{value:.2f}" for value in np.mean(rows, axis=0))
                print(f"| {size} | {method} | {texts} |", flush=True)


if __name__ == "__main__":
    main()
