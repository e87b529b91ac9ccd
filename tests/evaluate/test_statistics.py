"""Statistics compared with plain versions: every sample, every shuffle, ranks by counting."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from whereof.evaluate import statistics
from whereof.evaluate.statistics import (
    average_ranks,
    bootstrap_interval,
    pearson,
    pearson_interval,
    randomisation_p,
    seeds_mean,
    spearman,
    spread,
)
from whereof.types import Numbers

NUMBERS = st.lists(st.integers(-5, 5), min_size=2, max_size=30)


def counted_ranks(values: list[int]) -> list[float]:
    """One more than those below, and half of the others that are equal."""
    return [
        1 + sum(other < value for other in values) + (values.count(value) - 1) / 2
        for value in values
    ]


def exact_pearson(x: list[Fraction], y: list[Fraction]) -> float:
    n = len(x)
    mean_x, mean_y = sum(x) / n, sum(y) / n
    both = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    squares = [sum((a - m) ** 2 for a in each) for each, m in ((x, mean_x), (y, mean_y))]
    return float(both) / math.sqrt(squares[0] * squares[1])


@given(NUMBERS)
def test_equal_values_share_the_mean_of_their_ranks(values: list[int]) -> None:
    assert average_ranks(np.array(values, float)).tolist() == counted_ranks(values)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=2, max_size=30))
def test_correlations_are_those_of_exact_numbers(pairs: list[tuple[int, int]]) -> None:
    x, y = map(list, zip(*pairs, strict=True))
    arrays = np.array(x, float), np.array(y, float)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(pearson(*arrays))
        assert math.isnan(spearman(*arrays))
        return
    exact = exact_pearson([*map(Fraction, x)], [*map(Fraction, y)])
    assert pearson(*arrays) == pytest.approx(exact, abs=1e-12)
    ranks = [[Fraction(rank) for rank in counted_ranks(each)] for each in (x, y)]
    assert spearman(*arrays) == pytest.approx(exact_pearson(*ranks), abs=1e-12)


def test_correlations_of_known_lists() -> None:
    x = np.array([106, 100, 86, 101, 99, 103, 97, 113, 112, 110], float)
    y = np.array([7, 27, 2, 50, 28, 29, 20, 12, 6, 17], float)
    assert spearman(x, y) == pytest.approx(-29 / 165)
    assert spearman(np.arange(5.0), np.exp(np.arange(5.0))) == pytest.approx(1)
    assert pearson(np.arange(5.0), -3 * np.arange(5.0)) == pytest.approx(-1)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_tiny_and_huge_numbers_correlate_too(size: float) -> None:
    x, y = np.array([1.0, 2, 4]), np.array([1.0, 3, 2])
    assert pearson(size * x, size * y) == pytest.approx(pearson(x, y))


@pytest.mark.parametrize("values", [[], [1.0]])
def test_fewer_than_two_do_not_correlate(values: list[float]) -> None:
    assert math.isnan(pearson(np.array(values), np.array(values)))
    assert math.isnan(spearman(np.array(values), np.array(values)))


def test_every_seed_counts_the_same_and_nan_is_left_out() -> None:
    values = [np.array([1.0, 1, 1, 1]), np.array([0.0, np.nan]), np.array([np.nan]), np.zeros(0)]
    assert seeds_mean(values) == 0.5
    assert math.isnan(seeds_mean([np.array([np.nan])]))


@pytest.mark.parametrize("values", [[], [[]], [[0.5]], [[np.nan], [0.5]], [[0.5, np.nan]]])
def test_one_value_alone_has_no_interval(values: list[list[float]]) -> None:
    assert bootstrap_interval([*map(np.array, values)]) is None
    assert bootstrap_interval([*map(np.array, [*values, [0.25, 0.75]])]) is not None


def ends(values: list[NDArray[np.float64]], seed: int = 0) -> tuple[float, float]:
    found = bootstrap_interval(values, seed)
    assert found is not None
    return found


def every_sample(seeds: list[list[float]]) -> Counter[float]:
    """Means of all samples of seeds, and of predictions within, each as often as it comes."""
    means = [
        [sum(drawn) / len(drawn) for drawn in itertools.product(mine, repeat=len(mine))]
        for mine in seeds
    ]
    found: Counter[float] = Counter()
    for drawn in itertools.product(range(len(seeds)), repeat=len(seeds)):
        for each in itertools.product(*(means[seed] for seed in drawn)):
            found[sum(each) / len(each)] += 1
    return found


@pytest.mark.parametrize("seeds", [[[0.0, 1, 5]], [[0.0, 1, 5], [2.0, 4, 9]]])
def test_resampling_draws_seeds_and_then_predictions(
    seeds: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = every_sample(seeds)
    values, weights = map(np.array, zip(*sorted(counts.items()), strict=True))
    below = np.cumsum(weights) / weights.sum()
    arrays = [*map(np.array, seeds)]
    monkeypatch.setattr(statistics, "_AT_ONCE", 1000)
    monkeypatch.setattr(statistics, "_RESAMPLES", 40_000)
    low, high = ends(arrays, 1)
    # The share of samples below each end, give or take what drawing leaves open.
    for end, share in ((low, 0.025), (high, 0.975)):
        at = np.searchsorted(values, end + 1e-9) - 1
        before = 0.0 if at == 0 else below[at - 1]
        assert before - 0.006 <= share <= below[at] + 0.006
    monkeypatch.setattr(statistics, "_RESAMPLES", 500)
    assert ends(arrays, 1) == ends(arrays, 1) != ends(arrays, 2)


def test_seeds_that_differ_widen_the_interval() -> None:
    steady = [np.tile([0.0, 1.0], 50)] * 4
    apart = [np.full(100, share) for share in (0.2, 0.4, 0.6, 0.8)]
    (a, b), (c, d) = ends(steady), ends(apart)
    assert d - c > b - a > 0
    assert a < 0.5 < b
    assert bootstrap_interval([np.ones(9)]) == (1, 1)


def test_the_interval_of_a_correlation_draws_seeds_and_then_pairs() -> None:
    random = np.random.default_rng(5)
    pairs = [random.multivariate_normal((0, 0), ((1, 0.8), (0.8, 1)), 200) for _ in range(3)]
    low, high = pearson_interval(pairs, 1) or (0, 0)
    assert low < pearson(*np.concatenate(pairs).T) < high
    # By Fisher's transformation, for 600 pairs.
    assert (low, high) == pytest.approx(
        np.tanh(np.arctanh(0.8) + np.array([-0.08, 0.08])), abs=0.04
    )
    assert pearson_interval(pairs, 1) == (low, high) != pearson_interval(pairs, 2)
    turned = [pairs[0], pairs[1] * (1, -1)]
    low, high = pearson_interval(turned) or (0, 0)
    assert low < -0.7 < 0.7 < high


def test_what_has_no_correlation_has_no_interval() -> None:
    for pairs in ([], [np.zeros((0, 2))], [np.ones((5, 2))]):
        assert pearson_interval(pairs) is None
    line = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    assert pearson_interval([line, line]) == pytest.approx((1, 1))


def every_shuffle(differences: list[list[float]]) -> float:
    """The share of all choices of signs whose mean is as far from 0."""
    parts = [Fraction(x) / (len(m) * len(differences)) for m in differences for x in m]
    least = abs(sum(parts))
    sums = [
        abs(sum(sign * part for sign, part in zip(signs, parts, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(parts))
    ]
    return sum(total >= least for total in sums) / len(sums)


def p_of_own_queries(differences: list[Numbers], seed: int = 0) -> float:
    """The p-value if every difference has a query of its own."""
    queries = [[(i, j) for j in range(len(mine))] for i, mine in enumerate(differences)]
    return randomisation_p(differences, queries, seed)


@pytest.mark.parametrize(
    "differences",
    [
        [[1, 1, 1, 0, -1, 1, 1, 1]],
        [[1, 1, 0, 1], [1, -1, 1]],
        [[0.1, 0.2, 0.3, -0.1, 0.7, 0.7]],
        [[0, 0, 0]],
    ],
)
def test_randomisation_tends_to_what_all_shuffles_say(differences: list[list[float]]) -> None:
    arrays = [np.array(mine, float) for mine in differences]
    exact = every_shuffle(differences)
    assert p_of_own_queries(arrays, 3) == pytest.approx(exact, abs=0.015)
    assert p_of_own_queries([-mine for mine in arrays], 3) == pytest.approx(exact, abs=0.015)


def test_one_query_has_one_sign_in_all_seeds() -> None:
    """Of two queries in three seeds there are four choices of signs, not 64."""
    first, second = [np.array([3.0, 1.0]), np.array([2.0, 2.0])], [np.array([np.nan, 1.0, 0.5])]
    queries = [["a", "b"], ["b", "a"], ["a", "b", "b"]]
    weights = {"a": 3 / 2 + 2 / 2, "b": 1 / 2 + 2 / 2 + 1.5 / 2}
    sums = [abs(a * weights["a"] + b * weights["b"]) for a in (1, -1) for b in (1, -1)]
    exact = sum(total >= sums[0] for total in sums) / 4
    assert exact == 0.5
    found = randomisation_p([*first, *second], queries, 3)
    assert found == pytest.approx(exact, abs=0.015)
    assert p_of_own_queries([*first, *second], 3) < 0.1


def test_the_least_p_value_is_one_of_all_shuffles_and_one() -> None:
    assert p_of_own_queries([np.ones(60)]) == 1 / 10_001
    assert p_of_own_queries([]) == 1


def test_shuffles_in_parts_are_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "_AT_ONCE", 7)
    monkeypatch.setattr(statistics, "_SHUFFLES", 99)
    assert p_of_own_queries([np.ones(40)]) == 1 / 100
    assert p_of_own_queries([np.array([1.0, -1.0])]) == 1


def test_five_numbers_of_a_box_plot() -> None:
    found = spread(np.array([5.0, 1, 2, 4, 3]))
    assert (found.low, found.first_quarter, found.median) == (1, 2, 3)
    assert (found.third_quarter, found.high, found.mean) == (4, 5, 3)
    assert found.std == pytest.approx(math.sqrt(2))
    assert math.isnan(spread(np.zeros(0)).median)
