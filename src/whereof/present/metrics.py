"""Metrics of runs as tables, by split."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from whereof.table import Cell, Column, Table

_ERRORS = frozenset({"mae", "rmse"})
"""Errors: lower is better. All other metrics are shares: higher is better."""
_ACRONYMS = _ERRORS | {"map", "mrr", "ndcg"}
_ORDER = ("mae rmse", "recall ndcg map", "mrr", "hits")
"""Errors, then recommender metrics, then ranks."""

Values = dict[str, float]


def metrics_table(metrics: Mapping[str, Any], *, two_way: bool = False) -> Table:
    """Metrics of every split and its parts; a note says if only objects were ranked.

    two_way: whether the facts have no relation. Then ranking objects is all that is expected.
    """
    rows = metric_rows(metrics)
    names = metric_names(rows.values())
    alone = set() if two_way else {split for split in metrics if objects_only(metrics[split])}
    columns = [Column("split", "")]
    columns += [Column(name, metric_title(name), metric_unit(name)) for name in names]
    lines = []
    for (split, part), values in rows.items():
        part = part or ("objects only" if split in alone else "")
        gaps = dict.fromkeys(names, Cell("", unit="text"))
        lines.append([f"{split}, {part}" if part else split, *(gaps | values).values()])
    note = (
        "Objects only: the run has no inverse relations, so it ranks objects, not subjects. "
        "Published metrics are often the mean of both."
    )
    return Table.of("metrics", "Metrics, filtered", columns, lines, note if alone else "")


def metric_rows(metrics: Mapping[str, Any]) -> dict[tuple[str, str], Values]:
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


def metric_names(rows: Iterable[Values]) -> list[str]:
    """All metric names in order."""
    return sorted(dict.fromkeys(name for values in rows for name in values), key=_order)


def _order(name: str) -> tuple[int, int]:
    word, _, k = name.partition("@")
    places = (place for place, words in enumerate(_ORDER) if word in words.split())
    return next(places, len(_ORDER)), int(k or 0)


def metric_title(name: str) -> str:
    """`hits@10` as Hits@10, `mrr` as MRR."""
    word, at, k = name.partition("@")
    return (word.upper() if word in _ACRONYMS else word.capitalize()) + at + k


def metric_unit(name: str) -> str:
    """The unit: errors are numbers, all others shares."""
    return "score" if name in _ERRORS else "percent"


def best_value(name: str, values: Sequence[float | None]) -> float | None:
    """The best value of several runs; None if all are equal."""
    found = {value for value in values if value is not None}
    if len(found) < 2:
        return None
    return min(found) if name in _ERRORS else max(found)


def main_metric(metrics: Mapping[str, Any]) -> tuple[str, str, float] | None:
    """Split, name and value of the main metric, on the test facts if there are any."""
    for split in ("test", "valid"):
        for name in ("mrr", "rmse"):
            value = (metrics.get(split) or {}).get(name)
            if value is not None:
                return split, name, value
    return None


def objects_only(values: Mapping[str, Any] | None) -> bool:
    """Whether a split's metrics rank objects only."""
    return values is not None and "mrr" in values and "objects" not in values
