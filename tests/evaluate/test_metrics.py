"""Filtered ranks compared with a plain count, and all paths of metrics."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whereof.data.dataset import Dataset
from whereof.data.vocabulary import Vocabulary
from whereof.evaluate.metrics import SplitEvaluator, ranking_metrics
from whereof.models import MODELS
from whereof.models.scoring import Scorer
from whereof.training.config import TrainConfig

N_ENTITIES, N_RELATIONS = 7, 2
PLAIN, INVERSE = TrainConfig(inverse=False), TrainConfig(inverse=True)


def make_dataset(seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    triples = np.array([(s, r, o) for s in range(7) for r in range(2) for o in range(7)], np.int32)
    rng.shuffle(triples)
    train, valid, test = (np.ascontiguousarray(part) for part in np.split(triples[:60], (30, 45)))
    return Dataset(
        name="toy",
        entities=Vocabulary(tuple("abcdefg")),
        relations=Vocabulary(("p", "q"), kind="relation"),
        train=train,
        valid=valid,
        test=test,
        subjects=range(7),
        objects=range(7),
    )


def make_scorer(seed: int, *, ties: bool = False, inverse: bool = False) -> Scorer:
    rng = np.random.default_rng(seed)
    relations = N_RELATIONS * (2 if inverse else 1)
    rows = rng.normal(size=(N_ENTITIES, 4)), rng.normal(size=(relations, 4))
    if ties:
        rows = tuple(np.round(table) for table in rows)
    return Scorer(MODELS["distmult"], *rows)


def rank_by_hand(scores: np.ndarray, target: int, known: set[int]) -> float:
    others = [scores[o] for o in range(len(scores)) if o != target and o not in known]
    higher = sum(other > scores[target] for other in others)
    equal = sum(other == scores[target] for other in others)
    return 1 + higher + equal / 2


@given(seed=st.integers(0, 50), ties=st.booleans())
def test_ranks_skip_what_is_known_and_share_ties(seed: int, ties: bool) -> None:
    dataset, scorer = make_dataset(seed), make_scorer(seed, ties=ties)
    ranks = SplitEvaluator(dataset, PLAIN, threads=2).ranks(scorer, dataset.test)
    splits = (dataset.train, dataset.valid, dataset.test)
    for (s, r, o), row in zip(dataset.test, ranks, strict=True):
        scores = scorer.entity_rows @ (scorer.entity_rows[s] * scorer.relation_rows[r])
        scores = scores if not ties else np.round(scores)
        for column, known_splits in enumerate((splits, splits[:2])):
            known = {
                int(fact[2])
                for split in known_splits
                for fact in split
                if (fact[:2] == (s, r)).all()
            }
            assert row[column] == rank_by_hand(scores, o, known)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", MODELS)
def test_ranks_are_those_of_exact_scores(name: str, precision: str) -> None:
    """Rows that differ in their last bits have scores that a matrix product may confuse."""
    model, rng, n, dim = MODELS[name], np.random.default_rng(1), 90, 64
    widths = model.widths(dim)
    rows = np.repeat(rng.normal(size=(n // 6, widths.entity)), 6, axis=0).astype(precision)
    rows *= 1 + np.finfo(precision).eps * rng.integers(0, 3, rows.shape).astype(precision)
    relations = rng.normal(size=(1, widths.relation)).astype(precision)
    scorer = Scorer(model, rows, relations)
    facts = np.array([(s, 0, (s + 1) % n) for s in range(n)], np.int32)
    dataset = replace(
        make_dataset(0),
        entities=Vocabulary(tuple(map(str, range(n)))),
        relations=Vocabulary(("p",), kind="relation"),
        train=facts[:1],
        valid=facts[:1],
        test=facts,
        subjects=range(n),
        objects=range(n),
    )
    ranks = SplitEvaluator(dataset, PLAIN).ranks(scorer, facts)
    every = np.array([[(s, 0, o) for o in range(n)] for s in range(n)], np.int32)
    scores = scorer.fact_scores(every.reshape(-1, 3)).reshape(n, n)
    by_hand = [rank_by_hand(scores[s], o, set()) for s, _, o in facts]
    np.testing.assert_array_equal(ranks[:, 0], by_hand)


def test_the_subject_side_ranks_subjects_by_inverse_relations() -> None:
    dataset, scorer = make_dataset(3), make_scorer(3, inverse=True)
    ranks = SplitEvaluator(dataset, INVERSE).ranks(scorer, dataset.test, reverse=True)
    everything = np.concatenate([dataset.train, dataset.valid, dataset.test])
    for (s, r, o), row in zip(dataset.test, ranks, strict=True):
        inverse = scorer.relation_rows[r + N_RELATIONS]
        scores = scorer.entity_rows @ (scorer.entity_rows[o] * inverse)
        known = {int(fact[0]) for fact in everything if fact[1] == r and fact[2] == o}
        assert row[0] == rank_by_hand(scores, s, known)


def test_metrics_with_inverse_relations_are_the_mean_of_both_sides() -> None:
    dataset, scorer = make_dataset(4), make_scorer(4, inverse=True)
    metrics = SplitEvaluator(dataset, INVERSE).evaluate(scorer, "test")
    for name in ("mrr", "hits@1", "hits@3", "hits@10"):
        sides = metrics["objects"][name], metrics["subjects"][name]
        assert metrics[name] == pytest.approx(np.mean(sides))
        papers = (metrics[side]["paper_filter"][name] for side in ("objects", "subjects"))
        assert metrics["paper_filter"][name] == pytest.approx(np.mean(list(papers)))


def test_no_facts_have_no_metrics() -> None:
    dataset, scorer = make_dataset(5), make_scorer(5)
    empty = replace(dataset, test=dataset.test[:0])
    assert SplitEvaluator(empty, PLAIN).evaluate(scorer, "test") is None


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whereof.evaluate.metrics._BLOCK", 3)
    dataset, scorer = make_dataset(6), make_scorer(6)
    one, four = (
        SplitEvaluator(dataset, PLAIN, threads=n).ranks(scorer, dataset.test) for n in (1, 4)
    )
    assert np.array_equal(one, four)


def test_mrr_and_hits_of_known_ranks() -> None:
    metrics = ranking_metrics(np.array([1.0, 2.0, 4.0, 20.0]))
    assert metrics == {"mrr": 0.45, "hits@1": 0.25, "hits@3": 0.5, "hits@10": 0.75}
