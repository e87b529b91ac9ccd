"""Table 1, and how many facts its explanations hold."""

from collections.abc import Iterator
from dataclasses import replace

from whence.paper import _published as published
from whence.paper._records import Figure, Row, Table
from whence.paper._results import (
    METRIC_TITLES,
    Document,
    Results,
    make_table,
    over_seeds,
    pair,
    shares,
)

_KEYS = tuple((metric, k) for metric in published.METRICS for k in published.REMOVAL_SIZES)
_COLUMNS = tuple(f"{METRIC_TITLES[metric]} {k}" for metric, k in _KEYS)
_RELEASED = "tc_released"


def removal_table(results: Results) -> Table | None:
    """Random and rollback at 1, 10 and all, and their difference, in the paper's setting."""
    about = (
        "Facts are removed and the model is retrained: random ones (the paper's NH), and those "
        "that rollback ranks first (GR). PD: the probability falls. TC: the top answer changes."
    )
    title = "Table 1: PD and TC in percent"
    rows = _rows(results, "removal")
    return make_table("table1", title, about, "model method", _COLUMNS, rows)


def released_table(results: Results) -> Table | None:
    """TC of Table 1 with the other choice of which answers are known after a removal."""
    rows = []
    for model in results.models:
        found = results.evaluation(f"removal-{model}")
        for method in ("random", "rollback") if found else ():
            mine = shares(found or {}, method, (_RELEASED,))
            figures = tuple(mine.get((_RELEASED, k)) for k in published.REMOVAL_SIZES)
            rows.append(Row((published.TITLES[model], method), figures))
    about = (
        "Table 1 leaves answers known from training out of the ranking, those of removed facts "
        "too. Here an answer that only a removed fact had counts as new, and may come on top."
    )
    columns = tuple(f"TC {k}" for k in published.REMOVAL_SIZES)
    title = "Table 1: TC in percent, removed answers count"
    return make_table("table1-released", title, about, "model method", columns, rows)


def lazy_table(results: Results) -> Table | None:
    """The same with our optimizer and credit."""
    about = "Beyond the paper: lazy Adam and credit=source, beside the same figures of the paper."
    title = "Table 1 with lazy Adam and credit=source"
    rows = _rows(results, "lazy")
    return make_table("table1-lazy", title, about, "model method", _COLUMNS, rows)


def _rows(results: Results, prefix: str) -> list[Row]:
    return [
        row
        for model in results.models
        if (part := results.parts.get(f"{prefix}-{model}"))
        for row in _model_rows(results.dataset, model, part)
    ]


def _model_rows(dataset: str, model: str, part: Document) -> Iterator[Row]:
    printed = {
        (method, metric): published.removal(dataset, model, method, metric)
        for method in ("random", "rollback")
        for metric in published.METRICS
    }
    for method in ("random", "rollback"):
        found = shares(part["evaluation"], method)
        figures = (
            (metric, k) in found and replace(found[metric, k], paper=printed[method, metric].get(k))
            for metric, k in _KEYS
        )
        yield Row((published.TITLES[model], method), tuple(figure or None for figure in figures))
    apart = {(item["metric"], str(item["k"])): item for item in part["significance"]}
    figures_apart = (
        (metric, k) in apart
        and _points(apart[metric, k], printed["rollback", metric][k] - printed["random", metric][k])
        for metric, k in _KEYS
    )
    yield Row(
        (published.TITLES[model], "difference"), tuple(figure or None for figure in figures_apart)
    )


def _points(item: Document, paper: float) -> Figure:
    return Figure(
        ours=item["difference"],
        interval=pair(item["interval"]),
        seeds=tuple(item["seeds"]),
        paper=round(paper, 6),
        unit="points",
    )


def sizes_table(results: Results) -> Table | None:
    """How many facts rollback at all removed, of how many adjacent ones."""
    rows = [
        Row((published.TITLES[model],), (_removed(results, model), _adjacent(results, model)))
        for model in results.models
        if f"removal-{model}" in results.parts
    ]
    about = "Facts of a prediction: the mean and the standard deviation over predictions."
    columns = ("removed by GR-all", "adjacent")
    return make_table("sizes", "Sizes of explanations", about, "model", columns, rows)


def _removed(results: Results, model: str) -> Figure | None:
    part = results.parts[f"removal-{model}"]
    for row in part["evaluation"]["removal"]:
        if (row["method"], row["k"]) == ("rollback", "all"):
            # The paper states the size of DistMult's alone.
            printed = published.REMOVED_BY_ALL[results.dataset] if model == "distmult" else None
            figure = _facts(row["removed_mean"], row["removed_std"], printed)
            return over_seeds(row["removed_seeds"], figure)
    return None


def _adjacent(results: Results, model: str) -> Figure:
    found = results.parts[f"removal-{model}"]["evaluation"]
    printed = published.ADJACENT[results.dataset]
    return _facts(found["n_adjacent_mean"], found["n_adjacent_std"], printed)


def _facts(mean: float, std: float, paper: published.Spread | None) -> Figure:
    mean_there, std_there = (paper.mean, paper.std) if paper else (None, None)
    return Figure(ours=mean, std=std, paper=mean_there, paper_std=std_there, unit="facts")
