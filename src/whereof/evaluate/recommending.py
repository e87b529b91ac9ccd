"""Metrics of recommenders: recall and NDCG of each user's list, and how far ratings are off."""

import numpy as np
from numpy.typing import NDArray

from whereof.data import Dataset
from whereof.evaluate.ranking import RankingEvaluator
from whereof.events import Events
from whereof.models.scoring import Scorer
from whereof.types import OBJECT, SUBJECT, Facts

_LENGTHS = (10, 20)


def list_metrics(
    evaluator: RankingEvaluator,
    scorer: Scorer,
    split: str,
    sample: Facts | None = None,
    events: Events | None = None,
) -> dict[str, float]:
    """MRR of a split's items, and recall and NDCG at k of lists without those seen before it.

    A user's recall at k is the share of the user's items of the split among the first k; NDCG
    weighs the item at rank i by 1 / log2(1 + i), beside the best order there is. Both are means
    over the users that have an item in the split; one that a user had before is not counted. MRR
    is that of facts, each beside items that are not the user's. `sample` stands for all new facts
    of the split.
    """
    before = _before(split)
    facts = new_facts(evaluator.dataset, split) if sample is None else sample
    if not len(facts):
        names = (f"{name}@{k}" for k in _LENGTHS for name in ("recall", "ndcg"))
        return dict.fromkeys([*names, "mrr"], 0.0)
    filters = [evaluator.known(*before), evaluator.known("train", "valid", "test")]
    ranks, alone = evaluator.ranks(scorer, facts, filters=filters, events=events).T
    user = np.unique(facts[:, SUBJECT], return_inverse=True)[1]
    n_items = np.bincount(user)
    metrics = {}
    for k in _LENGTHS:
        inside = ranks <= k
        recall = np.bincount(user, weights=inside) / n_items
        gains = np.bincount(user, weights=inside / np.log2(1 + ranks))
        metrics[f"recall@{k}"] = float(recall.mean())
        metrics[f"ndcg@{k}"] = float((gains / _best_gains(k)[np.minimum(n_items, k)]).mean())
    return metrics | {"mrr": float((1 / alone).mean())}


def new_facts(dataset: Dataset, split: str) -> Facts:
    """The facts of a split that are in no split before it."""
    facts: Facts = getattr(dataset, split)
    seen = np.concatenate([_pairs(getattr(dataset, name)) for name in _before(split)])
    return facts[~np.isin(_pairs(facts), seen)]


def _before(split: str) -> tuple[str, ...]:
    return ("train",) if split == "valid" else ("train", "valid")


def _pairs(facts: Facts) -> NDArray[np.int64]:
    """(n,) one number for each user and item."""
    return facts[:, SUBJECT].astype(np.int64) << 32 | facts[:, OBJECT]


def _best_gains(k: int) -> NDArray[np.float64]:
    """(k + 1,) the gain of a list that starts with all of a user's items, by how many they are."""
    return np.concatenate([[0.0], np.cumsum(1 / np.log2(2 + np.arange(k)))])


def rating_metrics(dataset: Dataset, scorer: Scorer, split: str) -> dict[str, float]:
    """Root mean square and mean absolute error of predicted ratings, held to the scale's ends."""
    assert dataset.ratings is not None
    seen, wanted = dataset.ratings.train, getattr(dataset.ratings, split).astype(np.float64)
    predicted = scorer.fact_scores(getattr(dataset, split)).astype(np.float64)
    misses = np.clip(predicted, seen.min(), seen.max()) - wanted
    return {"rmse": float(np.sqrt(np.mean(misses**2))), "mae": float(np.abs(misses).mean())}
