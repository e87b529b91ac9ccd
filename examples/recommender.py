"""A recommender: a split by time, recommendations with reasons, and a user who came later."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import whereof


def make_clicks() -> dict[str, list[object]]:
    """Users who like either comedies or thrillers, and choose some of them over time."""
    rng = np.random.default_rng(0)
    films = {
        "comedy": [f"comedy {n}" for n in range(12)],
        "thriller": [f"thriller {n}" for n in range(12)],
    }
    clicks: dict[str, list[object]] = {"user": [], "item": [], "time": []}
    for number in range(300):
        taste = "comedy" if number % 2 else "thriller"
        for film in rng.choice(films[taste], 6, replace=False):
            clicks["user"].append(f"user {number}")
            clicks["item"].append(str(film))
            clicks["time"].append(int(rng.integers(1_000_000)))
    return clicks


def main(folder: Path) -> None:
    """Write the run to a folder."""
    # The latest clicks are held out: the model predicts the future from the past.
    run = whereof.train(
        make_clicks(),
        columns=["user", "item"],
        time="time",
        valid_fraction=0.1,
        test_fraction=0.1,
        out=folder / "clicks-run",
    )
    print(f"test NDCG@10 {run.metrics['test']['ndcg@10']:.3f}")

    # What to recommend to a user, and because of which of the user's own clicks.
    best = run.predict("user 1", new=True, top=1).answers[0].entity
    print(run.explain("user 1", best, role="subject", top=3))

    # A new user, without retraining.
    history = ["thriller 1", "thriller 2", "comedy 3"]
    print(run.predict(history=history, new=True, top=3))
    print(run.explain(history=history, top=None))


if __name__ == "__main__":
    with TemporaryDirectory() as folder:  # to keep the run, name a folder of your own
        main(Path(folder))
