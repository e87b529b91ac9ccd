"""Intervals by resampling, p-values by randomisation, and correlations."""

from collections.abc import Hashable, Sequence, Sized
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from whereof.table import Column
from whereof.types import Numbers

Interval = tuple[float, float]
"""The middle 95% of resampled values; None for a single value."""
Seeds = tuple[float, ...]
"""One value per seed."""

_RESAMPLES, _SHUFFLES = 2000, 10_000
_AT_ONCE = 1 << 22
"""Number of random numbers to keep in memory at a time."""
_TINY = 1e-9
"""Relative tolerance: sums of the same numbers in another order differ less."""


@dataclass(frozen=True)
class Spread:
    """The five numbers of a box plot, with mean and standard deviation."""

    low: Annotated[float, Column("", "lowest", "correlation")]
    first_quarter: Annotated[float, Column("", "first quarter", "correlation")]
    median: Annotated[float, Column("", "median", "correlation")]
    third_quarter: Annotated[float, Column("", "third quarter", "correlation")]
    high: Annotated[float, Column("", "highest", "correlation")]
    mean: Annotated[float, Column("", "mean", "correlation")]
    std: float


def mean_size(seeds: Sequence[Sized]) -> int:
    """The mean size over seeds, rounded."""
    return round(float(np.mean([len(mine) for mine in seeds])))


def seeds_mean(values: Sequence[Numbers]) -> float:
    """Mean of every seed's mean over predictions, without NaN values; NaN if no value is left."""
    kept = _kept(values)
    return float(np.mean([seed.mean() for seed in kept])) if kept else float("nan")


def measured(values: Sequence[Numbers], seed: int) -> tuple[float, Interval | None, Seeds]:
    """`seeds_mean`, its interval, and the mean of every seed."""
    means = (float(np.mean(mine)) if len(mine) else float("nan") for mine in values)
    return seeds_mean(values), bootstrap_interval(values, seed), tuple(means)


def bootstrap_interval(values: Sequence[Numbers], seed: int = 0) -> Interval | None:
    """The middle 95% of `seeds_mean` over bootstrap samples: seeds, and predictions within each.

    With one seed, only predictions are drawn. A single value has no interval: None.
    """
    kept, random = _kept(values), np.random.default_rng(seed)
    if sum(map(len, kept)) < 2:
        return None
    drawn = random.integers(len(kept), size=(_RESAMPLES, len(kept)))
    means = np.empty(drawn.shape)
    for number, mine in enumerate(kept):
        chosen, size = drawn == number, len(mine)
        resampled = [
            mine[random.integers(size, size=(rows, size))].mean(axis=1)
            for rows in _chunks(int(chosen.sum()), size)
        ]
        means[chosen] = np.concatenate([np.zeros(0), *resampled])
    return _middle(means.mean(axis=1))


def _middle(values: Numbers) -> Interval:
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def randomisation_p(
    differences: Sequence[Numbers], queries: Sequence[Sequence[Hashable]], seed: int = 0
) -> float:
    """Two-sided p-value of the mean of paired differences, by approximate randomisation.

    Each shuffle swaps the two methods' values of random queries, which flips the signs of their
    differences. p = (1 + n) / (1 + N), where n of N shuffles are at least as far from 0. There is
    one array of differences per seed, and each seed counts the same. Differences of the same query,
    in any seed, are not independent evidence: they flip together.
    """
    kept, random = _kept(differences), np.random.default_rng(seed)
    if not kept:
        return 1.0
    weights = np.concatenate([mine / (len(mine) * len(kept)) for mine in kept])
    asked = [query for mine in queries for query in mine]
    numbers = {query: number for number, query in enumerate(dict.fromkeys(asked))}
    known = ~np.isnan(np.concatenate(differences))
    parts = np.bincount(np.array([numbers[query] for query in asked])[known], weights)
    parts = parts[parts != 0]
    least = abs(parts.sum()) - _TINY * np.abs(parts).sum()
    n_far = 0
    for size in _chunks(_SHUFFLES, len(parts)):
        signs = 2.0 * random.integers(2, size=(size, len(parts))) - 1
        n_far += int((np.abs(signs @ parts) >= least).sum())
    return (1 + n_far) / (1 + _SHUFFLES)


def spread(values: Numbers) -> Spread:
    """The five numbers of a box plot, mean and standard deviation; NaN without values."""
    found = np.asarray(values if len(values) else [np.nan], np.float64)
    numbers = (*np.quantile(found, (0, 0.25, 0.5, 0.75, 1)), found.mean(), found.std())
    return Spread(*map(float, numbers))


def pearson(x: Numbers, y: Numbers) -> float:
    """Linear correlation; NaN if one of the two is constant or there are fewer than 2 values."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    # Scaled, because squares of tiny or huge numbers underflow or overflow.
    a, b = ((each - each.mean()) / np.ptp(each) for each in (x, y))
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))


def pearson_interval(pairs: Sequence[Numbers], seed: int = 0) -> Interval | None:
    """The middle 95% of `pearson` over bootstrap samples: seeds, and pairs within each.

    pairs: one (n, 2) array per seed. None if no sample has a correlation.
    """
    kept, random = [mine for mine in pairs if len(mine)], np.random.default_rng(seed)
    found = np.full(_RESAMPLES if kept else 0, np.nan)
    for number in range(len(found)):
        drawn = [kept[place] for place in random.integers(len(kept), size=len(kept))]
        mine = [each[random.integers(len(each), size=len(each))] for each in drawn]
        found[number] = pearson(*np.concatenate(mine).T)
    found = found[~np.isnan(found)]
    return _middle(found) if len(found) else None


def spearman(x: Numbers, y: Numbers) -> float:
    """Correlation of ranks; NaN if one of the two is constant, or has fewer than 2 values."""
    return pearson(average_ranks(x), average_ranks(y))


def average_ranks(values: Numbers) -> Numbers:
    """(n,) ranks from 1, lowest first; equal values share their mean rank."""
    _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places], np.float64)


def _kept(values: Sequence[Numbers]) -> list[Numbers]:
    """Per seed, the values that are not NaN; seeds without any are left out."""
    known = [np.asarray(mine, np.float64) for mine in values]
    known = [mine[~np.isnan(mine)] for mine in known]
    return [mine for mine in known if len(mine)]


def _chunks(n: int, width: int) -> list[int]:
    """Numbers of rows that fit into memory together, n in total."""
    most = max(_AT_ONCE // max(width, 1), 1)
    return [min(most, n - start) for start in range(0, n, most)]
