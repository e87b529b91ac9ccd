"""Metrics of runs as tables, by split."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from whereof.table import Cell, Column, Table

_ERRORS = frozenset({"mae", "rmse"})
"""Errors: lower is better. All other metrics are shares: higher is better."""
_ACRONYMS = _ERRORS | {"map", "mrr", "ndcg"}
_ORDER = {"mae": 0, "rmse": 0, "recall": 1, "ndcg": 1, "map": 1, "mrr": 2, "hits": 3}
"""Errors, then recommender metrics, then ranks."""


def metrics_table(metrics: Mapping[str, Any], *, two_way: bool = False) -> Table:
    """Metrics of every split and its parts; a note says if only objects were ranked.

    two_way: whether the facts have no relation. Then ranking objects is all that is expected.
    """
    rows = metric_rows(metrics)
    names = metric_names(rows.values())
    alone = set() if two_way else {split for split in metrics if objects_only(metrics[split])}
    columns = [Column("split", ""), *map(metric_column, names)]
    lines = []
    for (split, part), values in rows.items():
        part = part or ("objects only" if split in alone else "")
        gaps = dict.fromkeys(names, Cell("", unit="text"))
        lines.append([f"{split}, {part}" if part else split, *(gaps | values).values()])
    note = (
        "Objects only: the run has no inverse relations, so it ranks objects, not subjects. "
        "Published metrics are often the mean of both."
    )
    return Table("metrics", "Metrics, filtered", columns, lines, note if alone else "")


def metric_rows(metrics: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    """The metrics of every split, by split and part; the part of the whole split is empty."""
    return {
        (split, name.replace("paper_filter", "paper's filter")): {
            metric: value for metric, value in part.items() if isinstance(value, float)
        }
        for split, values in metrics.items()
        if values
        for name, part in {"": values, **values}.items()
        if isinstance(part, dict)
    }


def metric_names(rows: Iterable[dict[str, float]]) -> list[str]:
    """All metric names in order."""

    def order(name: str) -> tuple[int, int]:
        word, _, k = name.partition("@")
        return _ORDER.get(word, len(_ORDER)), int(k or 0)

    return sorted(dict.fromkeys(name for values in rows for name in values), key=order)


def metric_column(name: str) -> Column:
    """`hits@10` as Hits@10, `mrr` as MRR; errors are numbers, all others shares."""
    word, at, k = name.partition("@")
    title = word.upper() if word in _ACRONYMS else word.capitalize()
    return Column(name, f"{title}{at}{k}", "score" if name in _ERRORS else "percent")


def best_value(name: str, values: Sequence[float | None]) -> float | None:
    """The best value of several runs; None if all are equal."""
    found = {value for value in values if value is not None}
    if len(found) < 2:
        return None
    return min(found) if name in _ERRORS else max(found)


def main_metric(metrics: Mapping[str, Any]) -> tuple[str, str, float] | None:
    """Split, name and value of the main metric, on the test facts if there are any."""
    for split, name in product(("test", "valid"), ("mrr", "rmse")):
        value = (metrics.get(split) or {}).get(name)
        if value is not None:
            return split, name, value
    return None


def objects_only(values: Mapping[str, Any] | None) -> bool:
    """Whether a split's metrics rank objects only."""
    return values is not None and "mrr" in values and "objects" not in values
