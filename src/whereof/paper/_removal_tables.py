"""Table 1, and how many facts its explanations hold."""

from collections.abc import Iterator
from dataclasses import replace

from whereof.paper import _published as published
from whereof.paper._plan import PAPERS, lazy_settings
from whereof.paper._records import Figure, Row, Table
from whereof.paper._results import (
    METRIC_TITLES,
    Document,
    Removals,
    Results,
    make_table,
    over_seeds,
    pair,
    shares,
)

_METHODS = ("random", "rollback")
_KEYS = tuple((metric, k) for metric in published.METRICS for k in published.REMOVAL_SIZES)
_COLUMNS = tuple(f"{METRIC_TITLES[metric]} {k}" for metric, k in _KEYS)
_RELEASED = "tc_released"


def removal_table(results: Results) -> Table | None:
    """Random and rollback at 1, 10 and all, and their difference, with both optimizers."""
    lazy = ", ".join(f"{name}={value}" for name, value in lazy_settings(results.dataset).items())
    about = (
        "Facts are removed and the model is retrained: random ones (the paper's NH), and those "
        "that rollback ranks first (GR). PD: the probability falls. TC: the top answer changes. "
        f"The paper's setting has optimizer=adam, credit=step; beyond the paper stands {lazy}, "
        "with the paper's difference beside its own."
    )
    title = "Table 1: PD and TC in percent"
    rows = [row for mine in results.removals for row in _rows(results.dataset, mine)]
    return make_table("table1", title, about, "model optimizer method", _COLUMNS, rows)


def _rows(dataset: str, mine: Removals) -> Iterator[Row]:
    """Of random, of rollback, and of their difference."""
    for method in _METHODS:
        found = shares(mine.evaluation, method)
        figures = (
            replace(found[metric, k], paper=_printed(dataset, mine, method, metric, k))
            if (metric, k) in found
            else None
            for metric, k in _KEYS
        )
        yield Row((*mine.names, method), tuple(figures), mine.count)
    apart = {(item["metric"], str(item["k"])): item for item in mine.part["significance"]}
    points = (
        _points(apart[key], _apart(dataset, mine.model, *key), mine.count.n_predictions)
        if key in apart
        else None
        for key in _KEYS
    )
    yield Row((*mine.names, "difference"), tuple(points), mine.count)


def _printed(dataset: str, mine: Removals, method: str, metric: str, k: str) -> float | None:
    """The paper's figure; beside another optimizer than its own it would say nothing."""
    if mine.optimizer != PAPERS:
        return None
    return published.removal(dataset, mine.model, method, metric).get(k)


def _apart(dataset: str, model: str, metric: str, k: str) -> float:
    """The paper's distance to random, which other settings can be measured by too."""
    random, rollback = (published.removal(dataset, model, name, metric) for name in _METHODS)
    return round(rollback[k] - random[k], 6)


def _points(item: Document, paper: float, n_predictions: int | None) -> Figure:
    return Figure(
        ours=item["difference"],
        interval=pair(item["interval"]),
        seeds=tuple(item["seeds"]),
        n=n_predictions,
        paper=paper,
        unit="points",
    )


def released_table(results: Results) -> Table | None:
    """TC of Table 1 with the other choice of which answers are known after a removal."""
    rows = []
    for mine in results.removals:
        for method in _METHODS:
            found = shares(mine.evaluation, method, (_RELEASED,))
            figures = tuple(found.get((_RELEASED, k)) for k in published.REMOVAL_SIZES)
            rows.append(Row((*mine.names, method), figures, mine.count))
    about = (
        "Table 1 leaves answers known from training out of the ranking, those of removed facts "
        "too. Here an answer that only a removed fact had counts as new, and may come on top."
    )
    columns = tuple(f"TC {k}" for k in published.REMOVAL_SIZES)
    title = "Table 1: TC in percent, removed answers count"
    return make_table("table1-released", title, about, "model optimizer method", columns, rows)


def sizes_table(results: Results) -> Table | None:
    """How many facts rollback at all removed, of how many adjacent ones."""
    data = results.dataset
    rows = [
        Row(mine.names, (_removed(data, mine), _adjacent(data, mine)), mine.count)
        for mine in results.removals
    ]
    about = "Facts of a prediction: the mean and the standard deviation over predictions."
    columns = ("removed by GR-all", "adjacent")
    return make_table("sizes", "Sizes of explanations", about, "model optimizer", columns, rows)


def _removed(dataset: str, mine: Removals) -> Figure | None:
    for row in mine.evaluation["removal"]:
        if (row["method"], row["k"]) == ("rollback", "all"):
            # The paper states the size of DistMult's alone.
            papers = (mine.model, mine.optimizer) == ("distmult", PAPERS)
            printed = published.REMOVED_BY_ALL[dataset] if papers else None
            figure = _facts(row["removed_mean"], row["removed_std"], printed)
            return over_seeds(row["removed_seeds"], figure)
    return None


def _adjacent(dataset: str, mine: Removals) -> Figure:
    found = mine.evaluation
    return _facts(found["n_adjacent_mean"], found["n_adjacent_std"], published.ADJACENT[dataset])


def _facts(mean: float, std: float, paper: published.Spread | None) -> Figure:
    mean_there, std_there = (paper.mean, paper.std) if paper else (None, None)
    return Figure(ours=mean, std=std, paper=mean_there, paper_std=std_there, unit="facts")
