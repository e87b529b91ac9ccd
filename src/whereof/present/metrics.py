"""Metrics of runs as tables, by split."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whereof.table import Cell, Column, Table

_ERRORS = frozenset({"mae", "rmse"})
"""Errors: lower is better. All other metrics are shares: higher is better."""
_ACRONYMS = _ERRORS | {"map", "mrr", "ndcg"}
_GROUPS = (_ERRORS, {"recall", "ndcg", "map"}, {"mrr"}, {"hits"})
_PARTS = {"paper_filter": "paper's filter"}
_OBJECTS = "objects"
"""The part of a split's metrics in which only objects are ranked."""


@dataclass(frozen=True)
class MetricRow:
    """The metrics of a split, or of a part of it such as one side."""

    split: str
    part: str
    values: dict[str, float]


def metrics_table(metrics: Mapping[str, Any], *, two_way: bool = False) -> Table:
    """Metrics of every split and its parts; a note says if only objects were ranked.

    two_way: whether the facts have no relation. Then ranking objects is all that is expected.
    """
    rows = list(metric_rows(metrics))
    names = metric_names(rows)
    alone = set() if two_way else {split for split in metrics if objects_only(metrics[split])}
    columns = [Column("split", "")]
    columns += [Column(name, metric_title(name), metric_unit(name)) for name in names]
    lines = [
        [_row_title(row, row.split in alone), *(_value(row.values.get(name)) for name in names)]
        for row in rows
    ]
    note = ""
    if alone:
        note = (
            "Objects only: the run has no inverse relations, so it ranks objects, not subjects. "
            "Published metrics are often the mean of both."
        )
    return Table.of("metrics", "Metrics, filtered", columns, lines, note)


def metric_rows(metrics: Mapping[str, Any]) -> Iterator[MetricRow]:
    """Every split that has metrics, each followed by its parts."""
    for split, values in metrics.items():
        if values:
            yield MetricRow(split, "", _numbers(values))
            for name, part in values.items():
                if isinstance(part, dict):
                    yield MetricRow(split, _PARTS.get(name, name), _numbers(part))


def metric_names(rows: Iterable[MetricRow]) -> list[str]:
    """All metric names in order: errors, then recommender metrics, then ranks."""
    return sorted(dict.fromkeys(name for row in rows for name in row.values), key=_order)


def metric_title(name: str) -> str:
    """`hits@10` as Hits@10, `mrr` as MRR."""
    word, at, k = name.partition("@")
    return (word.upper() if word in _ACRONYMS else word.capitalize()) + at + k


def metric_unit(name: str) -> str:
    """The unit: errors are numbers, all others shares."""
    return "score" if name in _ERRORS else "percent"


def best_value(name: str, values: Sequence[float | None]) -> float | None:
    """The best value of several runs; None if all are equal."""
    found = [value for value in values if value is not None]
    if len(set(found)) < 2:
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
    return bool(values) and _OBJECTS not in (values or {}) and "mrr" in (values or {})


def _row_title(row: MetricRow, objects_only: bool) -> str:
    if row.part:
        return f"{row.split}, {row.part}"
    return f"{row.split}, objects only" if objects_only else row.split


def _value(value: float | None) -> Any:
    return Cell("", unit="text") if value is None else value


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {name: value for name, value in values.items() if isinstance(value, float)}


def _order(name: str) -> tuple[int, int]:
    word, _, k = name.partition("@")
    group = next((i for i, words in enumerate(_GROUPS) if word in words), len(_GROUPS))
    return group, int(k or 0)
