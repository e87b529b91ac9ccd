"""Validation MRR of settings that differ from the defaults, for docs/defaults.md.

    python benchmarks/sweep.py fb15k-237 --epochs 6 --every 2 n3=0.3 rate=0.03

trains with the defaults, then once with each of the given settings, and measures on 3,000
validation facts.
"""

import argparse
import time
from typing import Any

import numpy as np
from defaults import parse

from whereof import Dataset, read
from whereof.evaluate.metrics import SplitEvaluator
from whereof.models import find_model
from whereof.models.scoring import Scorer
from whereof.training.defaults import choose_config
from whereof.training.problem import Problem
from whereof.training.trainer import Trainer

N_VALID = 3000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--data-dir", help="folder with the dataset  [default: WHEREOF_DATA]")
    parser.add_argument("trials", nargs="*", help="such as n3=0.3, or n3=0.3,rate=0.05")
    arguments = parser.parse_intermixed_args()
    data = read(arguments.dataset, data_dir=arguments.data_dir)
    for trial in ["", *arguments.trials]:
        settings = dict(map(parse, trial.split(","))) if trial else {}
        settings |= {"epochs": arguments.epochs, "trace": False}
        for epoch, mrr, seconds in measure(data, settings, arguments.every):
            print(f"| {trial or 'defaults'} | {epoch} | {seconds:.0f} | {100 * mrr:.1f} |")


def measure(data: Dataset, settings: dict[str, Any], every: int) -> Any:
    """Epoch, validation MRR and CPU seconds of training so far."""
    config = choose_config(data, None, settings)
    problem = Problem(
        find_model(config.model),
        config,
        data.train,
        data.n_entities,
        data.n_relations,
        data.subjects,
        data.objects,
    )
    trainer = Trainer(problem)
    evaluator = SplitEvaluator(data, config)
    chosen = np.random.default_rng(0).permutation(len(data.valid))[:N_VALID]
    seconds = 0.0
    for epoch in range(1, config.epochs + 1):
        before, n_facts = time.process_time(), 0
        while n_facts < data.n_facts:
            n_facts += trainer.advance(data.n_facts)
        seconds += time.process_time() - before
        if epoch % every == 0:
            rows = trainer.parameters()
            scorer = Scorer(problem.model, rows.entity_rows, rows.relation_rows)
            found = evaluator.rank_metrics(scorer, "valid", data.valid[chosen])
            yield epoch, found["mrr"], seconds


if __name__ == "__main__":
    main()
