"""The paper's figures, as it prints them; one seed."""

from dataclasses import dataclass

REMOVAL_SIZES = ("1", "10", "all")
CRIAGE_SIZES = ("1", "3", "5", "10")
METRICS = ("pd", "tc")

Percents = tuple[float, ...]


@dataclass(frozen=True)
class Spread:
    """A mean and a standard deviation."""

    mean: float
    std: float


# Table 1: model and method, PD% and TC% without 1, 10 and all supporting facts.
_REMOVAL: dict[str, dict[tuple[str, str], tuple[Percents, Percents]]] = {
    "nations": {
        ("distmult", "random"): ((54, 66, 82), (18, 36, 70)),
        ("distmult", "rollback"): ((93, 97, 100), (38, 83, 97)),
        ("complex", "random"): ((59, 68, 80), (13, 47, 76)),
        ("complex", "rollback"): ((90, 95, 100), (38, 85, 99)),
    },
    "fb15k-237": {
        ("distmult", "random"): ((59, 67, 83), (35, 45, 59)),
        ("distmult", "rollback"): ((77, 82, 96), (38, 58, 85)),
        ("complex", "random"): ((72, 83, 91), (69, 70, 79)),
        ("complex", "rollback"): ((80, 88, 99), (65, 81, 91)),
    },
    "movielens": {
        ("distmult", "random"): ((53, 52, 92), (3, 14, 72)),
        ("distmult", "rollback"): ((68, 82, 100), (20, 38, 100)),
        ("complex", "random"): ((53, 61, 91), (5, 13, 77)),
        ("complex", "rollback"): ((73, 71, 100), (29, 48, 100)),
    },
}

# The CRIAGE table, DistMult on Nations: PD% and TC% without 1, 3, 5 and 10 facts.
_CRIAGE: dict[str, tuple[Percents, Percents]] = {
    "random": ((49, 50, 51, 60), (3, 13, 14, 20)),
    "criage": ((91, 93, 94, 95), (16, 36, 48, 68)),
    "rollback-o": ((92, 94, 97, 97), (25, 48, 62, 68)),
    "rollback": ((92, 96, 97, 98), (27, 51, 66, 73)),
}

# The model table: MRR, Hits@1 and Hits@10 in percent.
_MODELS: dict[str, dict[str, tuple[float, float, float | None]]] = {
    "nations": {"distmult": (58.88, 38.31, 97.51), "complex": (60.41, 39.80, 97.01)},
    "fb15k-237": {"distmult": (25.84, 19.16, 40.18), "complex": (25.11, 18.15, 40.05)},
    "movielens": {"distmult": (61.81, 37.60, None), "complex": (61.76, 37.51, None)},
}

# The time table: minutes to train, and to explain one prediction.
_MINUTES = {
    "nations": (1.0, Spread(0.07, 0.02)),
    "fb15k-237": (17.0, Spread(6.0, 7.0)),
    "movielens": (7.0, Spread(12.0, 4.0)),
}

ADJACENT = {
    "nations": Spread(508, 101),
    "fb15k-237": Spread(5500, 4500),
    "movielens": Spread(23700, 7800),
}
"""Candidate facts of a prediction."""

REMOVED_BY_ALL = {
    "nations": Spread(261, 56),
    "fb15k-237": Spread(2900, 2300),
    "movielens": Spread(16700, 5000),
}
"""Facts that rollback at all removed, of DistMult."""

LIPSCHITZ = {"none": 6.93, "unit": 0.67}
"""Of DistMult on Nations, by constraint."""

APPROXIMATION_CLAIM = (
    "the paper: the correlation rises from no constraint over maximum norm 3 and 2 to unit norm, "
    "and the Lipschitz constant falls"
)

TITLES = {"distmult": "DistMult", "complex": "ComplEx"}
"""Its models, as it writes them."""
MODELS = tuple(TITLES)
DATASETS = {"nations": "nations", "fb15k-237": "fb15k-237", "movielens": "movielens-100k"}
"""The paper's, and their names in the catalogue."""


def removal(dataset: str, model: str, method: str, metric: str) -> dict[str, float]:
    """Of Table 1, by size: shares."""
    return _shares(REMOVAL_SIZES, _REMOVAL[dataset].get((model, method)), metric)


def criage(method: str, metric: str) -> dict[str, float]:
    """Of the CRIAGE table, by size: shares."""
    return _shares(CRIAGE_SIZES, _CRIAGE.get(method), metric)


def model_metrics(dataset: str, model: str) -> dict[str, float | None]:
    """Of the model table: shares."""
    found = _MODELS[dataset].get(model, (None, None, None))
    return {
        name: None if value is None else fraction(value)
        for name, value in zip(("mrr", "hits@1", "hits@10"), found, strict=True)
    }


def training_seconds(dataset: str) -> float:
    return 60 * _MINUTES[dataset][0]


def explaining_seconds(dataset: str) -> Spread:
    each = _MINUTES[dataset][1]
    return Spread(60 * each.mean, 60 * each.std)


def fraction(percent: float) -> float:
    """Of the figures as printed, without what dividing adds."""
    return round(percent / 100, 6)


def _shares(
    sizes: tuple[str, ...], found: tuple[Percents, Percents] | None, metric: str
) -> dict[str, float]:
    if found is None:
        return {}
    percents = found[METRICS.index(metric)]
    return {k: fraction(value) for k, value in zip(sizes, percents, strict=True)}
