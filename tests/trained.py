"""Small runs that several test files share."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

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


def train_numbers(folder: Path, **settings: Any) -> whereof.Run:
    """Users 0 to 7 who click items 0 to 7: a user and an item have the same name."""
    clicks = [(user, (user * step + 3) % 8) for user in range(8) for step in (0, 1, 2, 5)]
    lines = [f"{user}\t{item}\n" for user, item in dict.fromkeys(clicks)]
    (folder / "clicks.tsv").write_text("".join(lines))
    settings = {"columns": "1,2", "dim": 4, "epochs": 3, "search": False} | settings
    return whereof.train(folder / "clicks.tsv", out=folder / "run", model="mf", **settings)


def train_copies(folder: Path, accumulator: float | None = 0.0) -> whereof.Run:
    """Four relations that say the same. Of the first, one fact is missing: e0 r0 e5."""
    rng = np.random.default_rng(5)
    pairs = [(s, o) for s in range(12) for o in range(12) if s != o and rng.random() < 0.2]
    facts = [f"e{s}\tr{r}\te{o}\n" for s, o in pairs for r in range(4)]
    facts.remove("e0\tr0\te5\n")
    (folder / "facts.tsv").write_text("".join(facts))
    return whereof.train(
        folder / "facts.tsv",
        out=folder / "run",
        model="complex",
        dim=16,
        inverse=True,
        n3=0.0,
        optimizer="adagrad",
        rate=0.1,
        accumulator=accumulator,
        epochs=20,
        valid_fraction=0,
        test_fraction=0,
        validate_every=0,
        patience=0,
    )


def outcome(run: Path) -> dict[str, str]:
    """Checksums of what a run learned: equal for runs with the same bits."""
    names = ["parameters.safetensors", "trace.npy"]
    names += sorted(str(file.relative_to(run)) for file in run.glob("checkpoints/*"))
    return {name: hashlib.sha256((run / name).read_bytes()).hexdigest() for name in names}
