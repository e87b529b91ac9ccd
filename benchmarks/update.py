"""How good and how fast `whereof update` is, beside training from scratch, for docs/update.md.

    python benchmarks/update.py fb15k-237 accumulator=0.025 validate_every=7 search=false
    python benchmarks/update.py movielens-100k model=mf loss=softmax

trains on 99% of the training facts, updates the run with the others, and trains from scratch on
all facts. Held-out facts are the same. Entities and relations that only the others have are new in
the update.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from defaults import parse

import whereof
from whereof.data.dataset import SPLITS, Dataset
from whereof.types import Facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--share", type=float, default=0.01, help="share of the facts that are new")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("settings", nargs="*", help="settings of training, such as search=false")
    arguments = parser.parse_intermixed_args()
    data, settings = whereof.read(arguments.data), dict(map(parse, arguments.settings))
    order = np.random.default_rng(arguments.seed).permutation(data.n_facts)
    is_new = np.zeros(data.n_facts, bool)
    is_new[order[: round(arguments.share * data.n_facts)]] = True
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder, arguments.data)
        given.mkdir()
        for split in SPLITS:
            facts = getattr(data, split)
            write(given / f"{split}.tsv", data, facts[~is_new] if split == "train" else facts)
        write(Path(folder, "new.tsv"), data, data.train[is_new])
        run = whereof.train(given, out=Path(folder, "run"), **settings)
        print(f"trained first: {quality(run.metrics)}", flush=True)
        found = run.update(Path(folder, "new.tsv"), out=Path(folder, "updated"), compare=True)
        print(found)
        for name, its in (("updated", found), ("from scratch", found.scratch)):
            assert its is not None
            took = f"{its.training_seconds:.1f} s, with metrics {its.seconds:.1f} s"
            print(f"{name}: {quality(its.metrics)}, {took}")


def quality(metrics: dict[str, Any]) -> str:
    """The metrics of the test facts, in percent."""
    found = (it for it in metrics["test"].items() if it[0] in ("mrr", "ndcg@10", "recall@10"))
    return ", ".join(f"{name} {100 * value:.2f}" for name, value in found)


def write(path: Path, data: Dataset, facts: Facts) -> None:
    path.write_text("".join("\t".join(data.fact_names(fact)) + "\n" for fact in facts))


if __name__ == "__main__":
    main()
