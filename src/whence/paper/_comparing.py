"""What single retrainings say beyond an evaluation's tables: pairs of methods, sizes, examples."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whence.evaluate.results import Interval, Retraining

_Prediction = tuple[str, str | None, str, str]


@dataclass(frozen=True)
class Difference:
    """How many more predictions a method changed than a baseline, pair by pair."""

    method: str
    baseline: str
    k: str
    metric: str
    """pd or tc."""
    difference: float
    interval: Interval | None
    seeds: tuple[float, ...]
    p_value: float
    """By paired approximate randomisation, two-sided."""


@dataclass(frozen=True)
class Removed:
    """How many facts a method removed, the mean of every seed."""

    method: str
    k: str
    seeds: tuple[float, ...]


@dataclass(frozen=True)
class Closeness:
    """Pearson r of what rollback foretold and what retraining gave, of every seed."""

    constraint: str
    probability: tuple[float, ...]
    change: tuple[float, ...]


def differences(
    retrainings: Sequence[Retraining], method: str, baseline: str
) -> tuple[Difference, ...]:
    """A method against a baseline at every size that both have."""
    by_size = _by_size(retrainings)
    sizes = dict.fromkeys(k for _, k in by_size)
    return tuple(
        _difference(by_size[method, k], by_size[baseline, k], metric)
        for k in sizes
        if (method, k) in by_size and (baseline, k) in by_size
        for metric in ("pd", "tc")
    )


def removed(retrainings: Sequence[Retraining]) -> tuple[Removed, ...]:
    """Of every method and size."""
    found = []
    for (method, k), rows in _by_size(retrainings).items():
        counts = defaultdict(list)
        for row in rows:
            counts[row.seed].append(len(row.removed))
        found.append(Removed(method, k, tuple(float(np.mean(mine)) for mine in counts.values())))
    return tuple(found)


def examples(retrainings: Sequence[Retraining], seed: int, n: int) -> list[_Prediction]:
    """The predictions of a seed that fell furthest without rollback's first fact."""
    single = _by_size(retrainings).get(("rollback", "1"), [])
    fallen = sorted((row for row in single if row.seed == seed), key=_change)
    return [_prediction(row) for row in fallen[:n]]


def closenesses(retrainings: Sequence[Retraining]) -> tuple[Closeness, ...]:
    """Of every constraint that approximation looked at."""
    from whence.evaluate.statistics import pearson

    points: dict[str, dict[int, list[tuple[float | None, ...]]]] = {}
    for row in retrainings:
        if row.protocol == "approximation":
            by_seed = points.setdefault(row.constraint, defaultdict(list))
            by_seed[row.seed].append((row.original, row.predicted, row.actual))
    found = []
    for constraint, by_seed in points.items():
        seeds = [np.array(mine, np.float64).T for mine in by_seed.values()]  # None is NaN
        found.append(
            Closeness(
                constraint,
                tuple(pearson(predicted, actual) for _, predicted, actual in seeds),
                tuple(pearson(p - original, a - original) for original, p, a in seeds),
            )
        )
    return tuple(found)


def _by_size(retrainings: Sequence[Retraining]) -> dict[tuple[str, str], list[Retraining]]:
    found = defaultdict(list)
    for row in retrainings:
        if row.protocol == "removal":
            found[row.method, row.k].append(row)
    return dict(found)


def _difference(
    mine: Sequence[Retraining], others: Sequence[Retraining], metric: str
) -> Difference:
    from whence.evaluate.statistics import bootstrap_interval, randomisation_p

    theirs = {(row.seed, _prediction(row)): _changed(row, metric) for row in others}
    by_seed = defaultdict(list)
    for row in mine:
        by_seed[row.seed].append(_changed(row, metric) - theirs[row.seed, _prediction(row)])
    values = [np.array(pairs, np.float64) for pairs in by_seed.values()]
    seeds = tuple(float(pairs.mean()) for pairs in values)
    return Difference(
        mine[0].method,
        others[0].method,
        mine[0].k,
        metric,
        float(np.mean(seeds)),
        bootstrap_interval(values),
        seeds,
        randomisation_p(values),
    )


def _changed(row: Retraining, metric: str) -> int:
    return int(_change(row) < 0 if metric == "pd" else row.top_after != row.top_before)


def _change(row: Retraining) -> float:
    """Of the probability; of a model of ratings, of the score."""
    if row.actual is None or row.original is None:
        return row.actual_score - row.original_score
    return row.actual - row.original


def _prediction(row: Retraining) -> _Prediction:
    return row.subject, row.relation, row.object, row.asks
