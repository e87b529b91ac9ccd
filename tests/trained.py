"""Small runs that several test files share."""

import hashlib
from pathlib import Path
from typing import Any

import whereof

FAST: dict[str, Any] = {
    "model": "distmult",
    "dim": 6,
    "inverse": False,
    "negatives": 5,
    "n3": 0.0,
    "optimizer": "adam-lazy",
    "rate": 0.003,
    "epochs": 4,
    "validate_every": 1,
    "patience": 0,
    "seed": 3,
}


def train(path: Path, **settings: Any) -> whereof.Run:
    """A run on Nations that takes some milliseconds."""
    return whereof.train("nations", out=path, **(FAST | settings))


def train_ratings(folder: Path, epochs: int) -> whereof.Run:
    """Four users who rate items with 1 or 5 stars, and a model that has learned it."""
    ratings = [(user, item, 1 + 4 * (item > user)) for user in range(4) for item in range(1, 4)]
    lines = [f"u{user}\tm{item}\t{rating}\n" for user, item, rating in ratings if user + item < 6]
    (folder / "ratings.tsv").write_text("".join(lines))
    settings = {"columns": "1,2", "rating": "3", "model": "mf-biased", "dim": 1, "l2": 0}
    return whereof.train(folder / "ratings.tsv", out=folder / "run", epochs=epochs, **settings)


def outcome(run: Path) -> dict[str, str]:
    """Checksums of what a run learned: equal for runs with the same bits."""
    names = ["parameters.safetensors", "trace.npy"]
    names += sorted(str(file.relative_to(run)) for file in run.glob("checkpoints/*"))
    return {name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in names}
