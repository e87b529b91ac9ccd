"""Matrix factorisation and the ALS of `implicit`: recall and NDCG on MovieLens-100k.

Every model is trained on (user, item) pairs without ratings. Settings are chosen by NDCG@10 on the
validation facts, and the same code measures all models on the test facts.
"""

import argparse
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np
from implicit.als import AlternatingLeastSquares
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import whereof
from whereof.evaluate.metrics import SplitEvaluator
from whereof.models import MODELS
from whereof.models.scoring import Scorer
from whereof.training.config import TrainConfig
from whereof.types import OBJECT, SUBJECT

SHOWN = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
GRID = {
    "factors": (16, 32, 64, 128),
    "regularization": (0.01, 1.0, 10.0, 30.0),
    "alpha": (1.0, 5.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", help="folder with movielens-100k/  [default: WHEREOF_DATA]")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("| model | Recall@10 | NDCG@10 | Recall@20 | NDCG@20 | seconds |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        run = whereof.train(
            "movielens-100k",
            model="mf",
            loss="softmax",
            out=Path(folder) / "run",
            data_dir=arguments.data_dir,
            seed=arguments.seed,
        )
        show("`mf`, softmax, defaults, traced", run.metrics["test"], run.summary()["seconds"])
        data = run.dataset
    peer = Peer(data, arguments.seed)
    show("`implicit` ALS, its defaults", *peer.measure(peer.fit()))
    trials = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    best = max((peer.fit(**trial) for trial in trials), key=peer.validate)
    words = ", ".join(f"{name} {value:g}" for name, value in best.settings.items())
    show(f"`implicit` ALS, best of {len(trials)}: {words}", *peer.measure(best))


def show(name: str, metrics: dict[str, float], seconds: float) -> None:
    print(f"| {name} |", *(f"{metrics[metric]:.3f} |" for metric in SHOWN), f"{seconds:.1f} |")


class Fitted:
    """ALS factors as rows that the evaluator can score."""

    def __init__(self, scorer: Scorer, settings: dict[str, float], seconds: float) -> None:
        self.scorer, self.settings, self.seconds = scorer, settings, seconds


class Peer:
    """Trains ALS on a dataset's pairs, and measures it in the same way as a run."""

    def __init__(self, data: whereof.Dataset, seed: int) -> None:
        self.seed, self.evaluator = seed, SplitEvaluator(data, TrainConfig(model="mf"))
        users, items = data.train[:, SUBJECT], data.train[:, OBJECT] - data.objects.start
        ones = np.ones(data.n_facts, np.float32)
        shape = (len(data.subjects), len(data.objects))
        self.pairs = csr_matrix((ones, (users, items)), shape)

    def fit(self, **settings: float) -> Fitted:
        before = time.process_time()
        als = AlternatingLeastSquares(random_state=self.seed, **settings)
        als.fit(self.pairs, show_progress=False)
        rows: NDArray[np.float32] = np.concatenate([als.user_factors, als.item_factors])
        empty = np.zeros((1, 0), rows.dtype)
        scorer = Scorer(MODELS["mf"], rows, empty)
        return Fitted(scorer, settings, time.process_time() - before)

    def validate(self, fitted: Fitted) -> float:
        return self.evaluator.validate(fitted.scorer).value

    def measure(self, fitted: Fitted) -> tuple[dict[str, float], float]:
        found = self.evaluator.evaluate(fitted.scorer, "test")
        assert found is not None
        return found, fitted.seconds


if __name__ == "__main__":
    main()
