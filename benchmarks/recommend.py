"""Matrix factorisation beside the ALS and the BPR of `implicit`, on MovieLens 100k.

Every model is trained on (user, item) pairs without ratings. The settings of `implicit` are the
best of 32 by NDCG@10 on the validation facts. The same code measures all models on the test facts.

--split chooses the facts that are held out: `ua` are the files of MovieLens (ten ratings of every
user for validation and test), `random` and `time` are 5% for validation and 10% for test, drawn at
random or the latest ones. --fold-in ranks with rows of users that are solved for, as those of new
users are. --explain removes the items that explain a recommendation, and retrains. It also prints
the explanations of one user in words.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from implicit.als import AlternatingLeastSquares
from implicit.bpr import BayesianPersonalizedRanking
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import whereof
from whereof.data.catalogue import CATALOGUE, find_folder
from whereof.data.text import open_bytes
from whereof.evaluate.metrics import SplitEvaluator
from whereof.models import MODELS
from whereof.models.scoring import Scorer
from whereof.predict.fold_in import fold_in
from whereof.training.config import TrainConfig
from whereof.types import OBJECT, SUBJECT

SHOWN = ("recall@10", "ndcg@10", "recall@20", "ndcg@20")
GRIDS: dict[str, tuple[Callable[..., Any], dict[str, tuple[float, ...]]]] = {
    "ALS": (
        AlternatingLeastSquares,
        {
            "factors": (16, 32, 64, 128),
            "regularization": (0.01, 1.0, 10.0, 30.0),
            "alpha": (1.0, 5.0),
        },
    ),
    "BPR": (
        BayesianPersonalizedRanking,
        {
            "factors": (16, 32, 64, 128),
            "regularization": (0.001, 0.01, 0.03, 0.1),
            "learning_rate": (0.01, 0.05),
        },
    ),
}
MOST_REMOVED = 3
"""Items of the history that an explanation names."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", help="folder with movielens-100k/  [default: WHEREOF_DATA]")
    parser.add_argument("--split", choices=["ua", "random", "time"], default="ua")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", type=Path, help="an existing run of ours, or a folder for it")
    parser.add_argument("--peers", nargs="*", choices=[*GRIDS], default=[*GRIDS])
    parser.add_argument("--fold-in", action="store_true")
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--users", type=int, default=100, help="number of explained users")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = our_run(arguments, arguments.run or Path(folder) / "run")
        if arguments.fold_in:
            show_fold_in(run)
        elif arguments.explain:
            show_explanations(run, arguments.users, arguments.seed)
        else:
            show_quality(run, arguments.peers, arguments.seed)


def our_run(arguments: argparse.Namespace, path: Path) -> whereof.Run:
    """Our run with default settings; an existing one is opened."""
    if path.exists():
        return whereof.Run.open(path)
    data: Any = "movielens-100k"
    if arguments.split != "ua":
        data = read_pairs(arguments)
    settings: Any = {} if arguments.split != "ua" else {"data_dir": arguments.data_dir}
    return whereof.train(
        data, model="mf", loss="softmax", out=path, seed=arguments.seed, **settings
    )


def read_pairs(arguments: argparse.Namespace) -> whereof.Dataset:
    """All ratings, with a part held out."""
    folder = find_folder(CATALOGUE["movielens-100k"], arguments.data_dir, None)
    rows = []
    for name in ("ua.base", "ua.test"):
        (path,) = folder.glob(f"{name}*")
        with open_bytes(path) as file:
            rows += [line.decode().split("\t") for line in file]
    users, items, _, times = zip(*rows, strict=True)
    frame = {"user": users, "item": items, "time": [*map(int, times)]}
    by_time: Any = {"time": "time"} if arguments.split == "time" else {}
    return whereof.read(
        frame, columns=["user", "item"], valid_fraction=0.05, test_fraction=0.1, **by_time
    )


def show_quality(run: whereof.Run, peers: Sequence[str], seed: int) -> None:
    data = run.dataset
    print(f"{data.n_facts:,} facts, {len(data.valid):,} valid, {len(data.test):,} test\n")
    print("| model | Recall@10 | NDCG@10 | Recall@20 | NDCG@20 | valid NDCG@10 | seconds |")
    print("|---|---|---|---|---|---|---|")
    peer, summary = Peer(data, seed), run.summary()
    valid = run.metrics["valid"]["ndcg@10"]
    show("`mf`, softmax, defaults, traced", run.metrics["test"], valid, summary["seconds"])
    popular = peer.fitted(*popularity(data), {})
    show("the most popular items", *peer.measure(popular))
    for name in peers:
        make, grid = GRIDS[name]
        trials = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        best = max((peer.fit(make, **trial) for trial in trials), key=peer.validate)
        words = ", ".join(f"{setting} {value:g}" for setting, value in best.settings.items())
        show(f"`implicit` {name}, best of {len(trials)}: {words}", *peer.measure(best))


def show(name: str, metrics: dict[str, float], valid: float, seconds: float) -> None:
    numbers = (*(metrics[metric] for metric in SHOWN), valid)
    print(f"| {name} |", *(f"{number:.3f} |" for number in numbers), f"{seconds:.1f} |", flush=True)


@dataclass(frozen=True)
class Fitted:
    """Factors as rows that the evaluator can score."""

    scorer: Scorer
    settings: dict[str, float]
    seconds: float = 0.0


class Peer:
    """Trains models of `implicit` on pairs, and measures them in the same way as a run."""

    def __init__(self, data: whereof.Dataset, seed: int) -> None:
        self.seed, self.data = seed, data
        self.evaluator = SplitEvaluator(data, TrainConfig(model="mf"))
        self.pairs = pairs_of(data)

    def fit(self, make: Callable[..., Any], **settings: float) -> Fitted:
        before = time.process_time()
        # With one thread, the same seed gives the same model.
        model = make(random_state=self.seed, num_threads=1, **settings)
        model.fit(self.pairs, show_progress=False)
        seconds = time.process_time() - before
        return self.fitted(model.user_factors, model.item_factors, settings, seconds)

    def fitted(
        self, users: Any, items: Any, settings: dict[str, float], seconds: float = 0.0
    ) -> Fitted:
        rows: NDArray[np.float32] = np.concatenate([users, items]).astype(np.float32)
        return Fitted(Scorer(MODELS["mf"], rows, np.zeros((1, 0), rows.dtype)), settings, seconds)

    def validate(self, fitted: Fitted) -> float:
        return self.evaluator.validate(fitted.scorer).value

    def measure(self, fitted: Fitted) -> tuple[dict[str, float], float, float]:
        found = self.evaluator.evaluate(fitted.scorer, "test")
        assert found is not None
        return found, self.validate(fitted), fitted.seconds


def pairs_of(data: whereof.Dataset, skipped: Sequence[int] = ()) -> Any:
    """The training pairs as a sparse matrix, without some facts."""
    facts = np.delete(data.train, np.asarray(skipped, np.int64), axis=0)
    users, items = facts[:, SUBJECT], facts[:, OBJECT] - data.objects.start
    shape = (len(data.subjects), len(data.objects))
    return csr_matrix((np.ones(len(facts), np.float32), (users, items)), shape)


def popularity(data: whereof.Dataset, skipped: Sequence[int] = ()) -> tuple[Any, Any]:
    """Factors of width 1 whose scores are the numbers of users of each item."""
    counts = np.asarray(pairs_of(data, skipped).sum(axis=0)).ravel()
    return np.ones((len(data.subjects), 1)), counts[:, None]


def show_fold_in(run: whereof.Run) -> None:
    """The test metrics with trained rows of users, and with rows solved from their histories."""
    trained, data = run._trained, run.dataset
    rows = trained.scorer.entity_rows.copy()
    for user in data.subjects:
        own = data.train[data.train[:, SUBJECT] == user, OBJECT]
        folded = fold_in(trained, [data.entities.name(item) for item in own])
        rows[user] = folded.scorer.entity_rows[0]
    print("| rows of users | Recall@10 | NDCG@10 |\n|---|---|---|")
    evaluator = SplitEvaluator(data, run.config)
    for name, scorer in {
        "trained": trained.scorer,
        "solved from the history": replace(trained.scorer, entity_rows=rows),
    }.items():
        found = evaluator.evaluate(scorer, "test")
        assert found is not None
        print(f"| {name} | {found['recall@10']:.3f} | {found['ndcg@10']:.3f} |")


@dataclass(frozen=True)
class Recommended:
    """What models recommend to some users: the best item that a user does not have."""

    data: whereof.Dataset
    users: NDArray[np.int64]

    def top(self, scores: NDArray[Any]) -> NDArray[np.int64]:
        """(n_users,) the item with the highest score; scores: (n_users, n_items)."""
        masked = scores.copy()
        for row, user in enumerate(self.users):
            masked[row, self.items_of(user)] = -np.inf
        return masked.argmax(axis=1)

    def items_of(self, user: int) -> NDArray[np.int64]:
        own = self.data.train[self.data.train[:, SUBJECT] == user, OBJECT]
        return np.asarray(own - self.data.objects.start, np.int64)

    def fact_ids(self, items: Sequence[Sequence[int]]) -> list[int]:
        """The facts of each user with these items."""
        start, train = self.data.objects.start, self.data.train
        pairs = {(s, o - start): i for i, (s, _, o) in enumerate(train.tolist())}
        return [pairs[u, i] for u, own in zip(self.users.tolist(), items, strict=True) for i in own]

    def compare(self, before: NDArray[Any], after: NDArray[Any]) -> "Removed":
        """What became of the first item of each user."""
        tops, rows = self.top(before), np.arange(len(self.users))

        # A score means the same before and after only relative to those of other items.
        def standard(scores: NDArray[Any]) -> NDArray[Any]:
            return (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)

        falls = standard(before)[rows, tops] - standard(after)[rows, tops]
        masked = after.copy()
        for row, user in enumerate(self.users):
            masked[row, self.items_of(user)] = -np.inf
        return Removed(tops, falls, 1 + (masked > masked[rows, tops][:, None]).sum(axis=1))


@dataclass(frozen=True)
class Removed:
    """What became of recommended items without what explained them: (n_users,) each."""

    items: NDArray[np.int64]
    falls: NDArray[np.float64]
    """Of the scores."""
    ranks: NDArray[np.int64]


def show_explanations(run: whereof.Run, n_users: int, seed: int) -> None:
    """Remove what explains a recommendation from the histories of users, and retrain once.

    The items of all users are removed together. They are a small part of the data, and nearly all
    of a user's own items act through the user's own row.
    """
    data, rng = run.dataset, np.random.default_rng(seed)
    counts = np.bincount(data.train[:, SUBJECT], minlength=len(data.subjects))
    able = np.flatnonzero(counts > 2 * MOST_REMOVED)
    asked = Recommended(data, np.sort(rng.choice(able, n_users, replace=False)))
    random = [rng.choice(asked.items_of(user), MOST_REMOVED, replace=False) for user in asked.users]
    print(f"{n_users} users, {MOST_REMOVED} items of each history removed, then retrained\n")
    print("| model | items removed | score falls | rank after | no longer first |")
    print("|---|---|---|---|---|")
    words = []
    for model, name, chosen, found in (
        *_ours(run, asked, random),
        *_implicit(asked, random, seed),
        *_popular(asked, random),
    ):
        changed = (found.ranks > 1).mean()
        numbers = f"{(found.falls > 0).mean():.0%} | {found.ranks.mean():.1f} | {changed:.0%}"
        print(f"| {model} | {name} | {numbers} |", flush=True)
        if name != "random":
            words.append(f"- {model}, {name}: {in_words(data, chosen[0], found)}")
    print(f"\nUser {data.entities.name(asked.users[0])}:\n", *words, sep="\n")


def in_words(data: whereof.Dataset, chosen: Sequence[int], found: Removed) -> str:
    """The explanation of the first user's recommendation."""
    item, *others = (data.entities.label(data.objects[it]) for it in (found.items[0], *chosen))
    return f"*{item}*, because of *{'*, *'.join(others)}*. Without them: rank {found.ranks[0]}"


Items = Sequence[Sequence[int]]
Measured = Iterator[tuple[str, str, Items, Removed]]


def _ours(run: whereof.Run, asked: Recommended, random: Items) -> Measured:
    start = run.dataset.objects.start

    def score(entity_rows: NDArray[Any]) -> NDArray[Any]:
        rows = np.asarray(entity_rows, np.float64)
        return rows[asked.users] @ rows[start : run.dataset.objects.stop].T

    sets = _explained(run, asked, asked.top(score(run.entity_rows))) | {"random": random}
    control, *others = run.retrain([asked.fact_ids(items) for items in sets.values()], threads=1)
    assert control.parameters is not None
    before = score(control.parameters.entity_rows)
    for (name, items), each in zip(sets.items(), others, strict=True):
        assert each.parameters is not None
        found = asked.compare(before, score(each.parameters.entity_rows))
        yield "`mf`", name, items, found


def _explained(
    run: whereof.Run, asked: Recommended, tops: NDArray[np.int64]
) -> dict[str, list[list[int]]]:
    """The items of each user that explain the first recommendation, by method."""
    data, names = run.dataset, run.dataset.entities.name
    predictions = [
        (names(user), names(data.objects[item]))
        for user, item in zip(asked.users, tops, strict=True)
    ]
    chosen: dict[str, list[list[int]]] = {}
    for method in ("rollback", "unrolled"):
        options: Any = {"method": method, "role": "subject", "top": MOST_REMOVED}
        chosen[method] = [
            [data.train[fact.fact_id, OBJECT] - data.objects.start for fact in found.facts]
            for found in run.explain_many(predictions, **options)
        ]
    chosen["fold-in"] = []  # as if the user were new
    for user, (_, item) in zip(asked.users, predictions, strict=True):
        own = asked.items_of(user)
        history = [names(data.objects[each]) for each in own]
        found = run.explain(item, history=history, top=MOST_REMOVED)
        chosen["fold-in"].append([own[history.index(fact.object)] for fact in found.facts])
    return chosen


def _implicit(asked: Recommended, random: Items, seed: int) -> Measured:
    settings: Any = {"factors": 32, "regularization": 10.0, "alpha": 1.0, "random_state": seed}

    def fit(skipped: Sequence[int] = ()) -> Any:
        model = AlternatingLeastSquares(**settings)
        model.fit(pairs_of(asked.data, skipped), show_progress=False)
        return model

    def score(model: Any) -> NDArray[Any]:
        return np.asarray(model.user_factors[asked.users] @ model.item_factors.T, np.float64)

    model, pairs, chosen = fit(), pairs_of(asked.data), []
    before = score(model)
    for user, item in zip(asked.users, asked.top(before), strict=True):
        _, contributions, _ = model.explain(user, pairs, int(item), N=MOST_REMOVED)
        chosen.append([each for each, _ in contributions])
    for name, items in {"its explanation": chosen, "random": random}.items():
        found = asked.compare(before, score(fit(asked.fact_ids(items))))
        yield "`implicit` ALS", name, items, found


def _popular(asked: Recommended, random: Items) -> Measured:
    def score(skipped: Sequence[int] = ()) -> NDArray[Any]:
        users, items = popularity(asked.data, skipped)
        return np.asarray(users[asked.users] @ items.T, np.float64)

    counts = popularity(asked.data)[1].ravel()
    most = [
        own[np.argsort(-counts[own], kind="stable")[:MOST_REMOVED]]
        for own in map(asked.items_of, asked.users)
    ]
    before = score()
    for name, items in {"most popular of the history": most, "random": random}.items():
        yield "popularity", name, items, asked.compare(before, score(asked.fact_ids(items)))


if __name__ == "__main__":
    main()
