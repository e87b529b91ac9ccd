"""Recall, NDCG and rating errors compared with plain counts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from listening import Recorded

from whereof.data.dataset import Dataset, Ratings
from whereof.data.vocabulary import Vocabulary
from whereof.evaluate import metrics as splits
from whereof.evaluate.metrics import SplitEvaluator, new_facts
from whereof.models import MODELS
from whereof.models.scoring import Scorer, score_all
from whereof.training.config import TrainConfig

USERS, ITEMS = range(5), range(5, 45)
CONFIG = TrainConfig(model="mf")


def make_dataset(seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    pairs = np.array([(user, 0, item) for user in USERS for item in ITEMS], np.int32)
    sizes = (60, 35, 35)  # drawn apart, so that some pairs stand in several splits
    splits = [rng.permutation(pairs)[:size] for size in sizes]
    ratings = (rng.integers(1, 6, len(split)).astype(np.float32) for split in splits)
    return Dataset(
        "toy",
        Vocabulary(tuple(map(str, range(ITEMS.stop)))),
        Vocabulary((), kind="relation"),
        *(np.ascontiguousarray(split) for split in splits),
        subjects=USERS,
        objects=ITEMS,
        ratings=Ratings(*ratings),
    )


def make_scorer(seed: int, offset: float = 0.0) -> Scorer:
    rows = np.random.default_rng(seed).normal(size=(ITEMS.stop, 3))
    return Scorer(MODELS["mf"], rows, np.zeros((1, 0)), offset=offset)


def lists_by_hand(dataset: Dataset, scorer: Scorer, split: str, k: int) -> tuple[float, float]:
    recalls, ndcgs = [], []
    for user in USERS:
        seen = {o for s, _, o in dataset.train if s == user}
        if split == "test":
            seen |= {o for s, _, o in dataset.valid if s == user}
        wanted = {o for s, _, o in getattr(dataset, split) if s == user} - seen
        scores = scorer.entity_rows @ scorer.entity_rows[user]
        shown = sorted((o for o in ITEMS if o not in seen), key=lambda o: -scores[o])[:k]
        gains = [1 / np.log2(2 + place) for place in range(k)]
        if wanted:
            recalls.append(len(wanted.intersection(shown)) / len(wanted))
            got = sum(gain for gain, o in zip(gains, shown, strict=False) if o in wanted)
            ndcgs.append(got / sum(gains[: len(wanted)]))
    return float(np.mean(recalls)), float(np.mean(ndcgs))


@given(seed=st.integers(0, 50), split=st.sampled_from(["valid", "test"]))
def test_lists_leave_out_what_was_seen_before(seed: int, split: str) -> None:
    dataset, scorer = make_dataset(seed), make_scorer(seed)
    found = SplitEvaluator(dataset, CONFIG).rank_metrics(scorer, split, new_facts(dataset, split))
    for k in (10, 20):
        recall, ndcg = lists_by_hand(dataset, scorer, split, k)
        assert found[f"recall@{k}"] == pytest.approx(recall)
        assert found[f"ndcg@{k}"] == pytest.approx(ndcg)


def test_items_that_were_all_seen_before_count_for_nothing() -> None:
    dataset = make_dataset(3)
    again = replace(dataset, valid=dataset.train[:5], ratings=None)
    found = SplitEvaluator(again, CONFIG).rank_metrics(
        make_scorer(3), "valid", new_facts(again, "valid")
    )
    assert found == dict.fromkeys(["recall@10", "ndcg@10", "recall@20", "ndcg@20", "mrr"], 0.0)


def test_errors_of_ratings_are_held_to_the_scale() -> None:
    dataset = make_dataset(0)
    far = make_scorer(0, offset=100.0)  # every prediction lies above the best rating there is
    found = SplitEvaluator(dataset, CONFIG).rating_metrics(far, "test")
    misses = 5 - dataset.ratings.test
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(misses**2)))
    assert found["mae"] == pytest.approx(np.mean(misses))


def test_the_score_of_a_fact_is_its_place_among_all_scores() -> None:
    dataset, scorer = make_dataset(1), make_scorer(1, offset=3.5)
    for fact, score in zip(dataset.test, scorer.fact_scores(dataset.test), strict=True):
        query = scorer.queries(fact[:1], fact[1:2], "float64")
        span = np.array([[ITEMS.start, ITEMS.stop]])
        among = score_all(scorer.model, query, scorer.entity_rows, span)[0, fact[2] - ITEMS.start]
        assert score == pytest.approx(among + 3.5)


@pytest.mark.parametrize(
    ("loss", "metric", "sign"), [("softmax", "ndcg@10", 1), ("squared", "rmse", -1)]
)
def test_recommenders_are_chosen_by_their_own_metric(loss: str, metric: str, sign: int) -> None:
    dataset, scorer = make_dataset(2), make_scorer(2)
    evaluator = SplitEvaluator(dataset, TrainConfig(model="mf", loss=loss))
    found = evaluator.validate(scorer)
    metrics = evaluator.evaluate(scorer, "valid")
    assert (found.metric, found.value) == (metric, metrics[metric])
    assert found.gain == sign * found.value
    assert ("rmse" in metrics) == (loss == "squared")
    lists = {"recall@10", "ndcg@20", "mrr"}
    assert (lists <= metrics.keys()) == (loss != "squared")
    asked = SplitEvaluator(dataset, TrainConfig(model="mf", loss=loss), ranked=True)
    assert lists <= asked.evaluate(scorer, "valid").keys()


def test_a_sample_of_whole_users_is_ranked_where_all_would_take_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset, scorer, events = make_dataset(2), make_scorer(2), Recorded()
    evaluator = SplitEvaluator(dataset, CONFIG)
    whole = evaluator.evaluate(scorer, "test", events=events)
    assert "n_sampled" not in whole
    assert events.notes == []
    monkeypatch.setattr(splits, "_MOST_NUMBERS", 5 * len(ITEMS) * 3)
    found = evaluator.evaluate(scorer, "test", events=events)
    assert evaluator.evaluate(scorer, "test") == found
    facts = new_facts(dataset, "test")
    sample = evaluator._sample(scorer, facts, np.inf)
    assert found["n_sampled"] == len(sample) < len(facts)
    users = set(sample[:, 0].tolist())
    assert sum(user in users for user in facts[:, 0].tolist()) == len(sample)
    assert f"{len(sample)} of {len(facts)} facts" in events.notes[0]
    assert events.done[-1] == (len(sample), len(sample))


def test_validation_ranks_the_same_sample_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, scorer, events = make_dataset(2), make_scorer(2), Recorded()
    evaluator = SplitEvaluator(dataset, CONFIG)
    whole = evaluator.validate(scorer, events)
    assert events.notes == []
    monkeypatch.setattr(splits, "_MOST_VALIDATED", 5 * len(ITEMS) * 3)
    found = evaluator.validate(scorer, events)
    assert evaluator.validate(scorer, events) == found != whole
    facts = new_facts(dataset, "valid")
    sample = evaluator._sample(scorer, facts, np.inf, splits._MOST_VALIDATED)
    assert found.value == evaluator.rank_metrics(scorer, "valid", sample)["ndcg@10"]
    assert events.notes == [
        f"validation: ranks of a random sample, {len(sample)} of {len(facts)} facts"
    ]


def test_a_sample_fits_into_the_time_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, scorer = make_dataset(2), make_scorer(2)
    evaluator = SplitEvaluator(dataset, CONFIG, threads=1)
    monkeypatch.setattr(splits, "_PROBED", 3)
    facts = new_facts(dataset, "test")
    assert len(evaluator._sample(scorer, facts, 3600.0)) == len(facts)
    assert 3 <= len(evaluator._sample(scorer, facts, 0.0)) < len(facts)
