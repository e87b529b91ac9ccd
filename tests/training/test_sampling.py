"""Draws: uniform, distinct if requested, never the true object, and keyed by the fact only."""

from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from whereof.training.config import TrainConfig
from whereof.training.phases import Calendar
from whereof.training.sampling import (
    CURVATURE_STREAM,
    OBJECT_STREAM,
    ORDER_STREAM,
    SUBJECT_STREAM,
    draw_negatives,
    fill_uniform,
    key_of,
    shuffled,
)
from whereof.training.timeline import Timeline


def draw(
    fact: int, true_object: int, among: range, n: int, *, distinct: bool, epoch: int = 0,
    seed: int = 0, stream: np.uint64 = OBJECT_STREAM,
) -> NDArray[np.int32]:  # fmt: skip
    """The negatives of one step."""
    key = np.uint64(key_of(np.uint64(seed), stream, np.uint64(fact), np.uint64(epoch)))
    candidates = np.full(n + 1, -1, np.int32)
    draw_negatives(key, distinct, true_object, among.start, len(among), candidates)
    assert candidates[0] == true_object
    return candidates[1:]


def assert_uniform(counts: NDArray) -> None:
    """Chi-square within five standard deviations of its mean."""
    expected, freedom = counts.mean(), counts.size - 1
    chi_square = np.sum((counts - expected) ** 2 / expected)
    assert abs(chi_square - freedom) < 5 * np.sqrt(2 * freedom)


@given(
    seed=st.integers(0, 2**64 - 1), fact=st.integers(0, 2**40), epoch=st.integers(0, 1000),
    first=st.integers(0, 1000), sizes=st.integers(2, 3000), data=st.data(),
)  # fmt: skip
def test_distinct_negatives_are_distinct_in_range_and_false(
    seed: int, fact: int, epoch: int, first: int, sizes: int, data: st.DataObject
) -> None:
    among = range(first, first + sizes)
    true_object = data.draw(st.sampled_from(among))
    n = data.draw(st.integers(1, sizes - 1))
    negatives = draw(fact, true_object, among, n, distinct=True, epoch=epoch, seed=seed)
    assert len(set(negatives.tolist())) == n
    assert set(negatives.tolist()) <= set(among) - {true_object}


@given(fact=st.integers(0, 2**40), sizes=st.integers(2, 100), data=st.data())
def test_independent_negatives_are_in_range_and_false(
    fact: int, sizes: int, data: st.DataObject
) -> None:
    among = range(7, 7 + sizes)
    true_object = data.draw(st.sampled_from(among))
    negatives = draw(fact, true_object, among, 200, distinct=False)
    assert set(negatives.tolist()) <= set(among) - {true_object}


@pytest.mark.parametrize("sizes", [5, 14, 100, 257, 300])
@pytest.mark.parametrize("distinct", [True, False])
def test_every_other_entity_is_equally_likely(sizes: int, distinct: bool) -> None:
    counts = np.zeros(sizes, int)
    for fact in range(60 * sizes):
        negatives = draw(fact, 3, range(sizes), 2, distinct=distinct)
        np.add.at(counts, negatives, 1)
    assert counts[3] == 0
    others = np.delete(counts, 3)
    expected = others.mean()
    chi_square = np.sum((others - expected) ** 2 / expected)
    freedom = sizes - 2
    assert chi_square < freedom + 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("distinct", [True, False])
def test_pairs_of_negatives_are_equally_likely(distinct: bool) -> None:
    """13 others: 156 ordered pairs when distinct, 169 when not."""
    counts = np.zeros((14, 14), int)
    for fact in range(30_000):
        first, second = draw(fact, 13, range(14), 2, distinct=distinct)
        counts[first, second] += 1
    counts = counts[:13, :13]
    if distinct:
        assert not counts.diagonal().any()
        counts = counts[~np.eye(13, dtype=bool)]
    assert_uniform(counts)


def test_independent_negatives_repeat_and_distinct_ones_of_all_do_not() -> None:
    repeated = draw(0, 0, range(14), 13, distinct=False)
    assert len(set(repeated.tolist())) < 13
    every = draw(0, 5, range(2, 14), 11, distinct=True)
    assert sorted(every.tolist()) == [2, 3, 4, *range(6, 14)]


def test_draws_differ_by_seed_stream_fact_and_epoch() -> None:
    def of(**changes: int | np.uint64) -> tuple[int, ...]:
        given = {"fact": 1, "seed": 1, "epoch": 1, "stream": OBJECT_STREAM} | changes
        return tuple(draw(true_object=0, among=range(1000), n=5, distinct=True, **given))

    drawn = {of(), of(fact=2), of(seed=2), of(epoch=2), of(stream=SUBJECT_STREAM)}
    assert len(drawn) == 5
    assert of() == of()


@given(seed=st.integers(0, 2**64 - 1), epoch=st.integers(0, 50), n=st.integers(1, 200))
def test_an_order_is_a_permutation_and_keeps_its_place_without_some_facts(
    seed: int, epoch: int, n: int
) -> None:
    order = shuffled(np.uint64(seed), n, epoch)
    assert sorted(order.tolist()) == list(range(n))
    fewer = shuffled(np.uint64(seed), n // 2, epoch)
    assert order[order < n // 2].tolist() == fewer.tolist()


def test_orders_differ_by_epoch_and_seed() -> None:
    orders = {
        tuple(shuffled(np.uint64(seed), 50, epoch)) for seed in range(3) for epoch in range(3)
    }
    assert len(orders) == 9


def test_explaining_does_not_repeat_the_order_of_training() -> None:
    order, other = (
        shuffled(np.uint64(0), 50, 0, stream) for stream in (ORDER_STREAM, CURVATURE_STREAM)
    )
    assert order.tolist() == shuffled(np.uint64(0), 50, 0).tolist()
    assert sorted(other) == sorted(order)
    assert other.tolist() != order.tolist()


def test_every_place_in_an_order_is_equally_likely() -> None:
    counts = np.zeros((6, 6), int)
    for seed in range(6000):
        counts[np.arange(6), shuffled(np.uint64(seed), 6, 0)] += 1
    assert_uniform(counts)


def test_initial_numbers_are_uniform_within_their_bound() -> None:
    rows = np.full((500, 12), np.nan)
    fill_uniform(np.uint64(3), np.uint64(1), 0.05, 10, rows)
    assert np.isnan(rows[:, 10:]).all(), "columns past the width are left alone"
    numbers = rows[:, :10]
    assert np.abs(numbers).max() < 0.05
    assert_uniform(np.histogram(numbers, 20, (-0.05, 0.05))[0])
    more = np.full((900, 4), np.nan)
    fill_uniform(np.uint64(3), np.uint64(1), 0.05, 4, more)
    assert np.array_equal(more[:500], rows[:, :4]), "a row's numbers are keyed by row and column"


def test_blocks_keep_facts_of_the_file_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whereof.training.timeline._BLOCK", 10)

    def order(n_facts: int, epoch: int) -> list[int]:
        config = TrainConfig(order="blocks", seed=3)
        return Timeline(config, Calendar(n_facts), 1).order(epoch).tolist()

    first = order(95, 0)
    assert sorted(first) == list(range(95))
    blocks = [number for number, _ in groupby(fact // 10 for fact in first)]
    assert sorted(blocks) == list(range(10))
    assert blocks != sorted(blocks)
    assert all(first[at : at + 10] != sorted(first[at : at + 10]) for at in range(0, 80, 10))
    assert first != order(95, 1)
    assert [fact for fact in first if fact < 45] == order(45, 0)
