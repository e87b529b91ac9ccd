"""Metrics as they are printed: whatever names a run has, split by split."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_ERRORS = frozenset({"mae", "rmse"})
"""Plain numbers, of which lower is better; all others are shares, of which higher is."""

_ACRONYMS = _ERRORS | {"map", "mrr", "ndcg"}
_GROUPS = (_ERRORS, {"recall", "ndcg", "map"}, {"mrr"}, {"hits"})
_PARTS = {"paper_filter": "paper's filter"}


@dataclass(frozen=True)
class MetricRow:
    """The metrics of a split, or of a part of it such as one side."""

    split: str
    part: str
    values: dict[str, float]


def metric_rows(metrics: dict[str, Any]) -> Iterator[MetricRow]:
    """Every split that has metrics, each followed by its parts."""
    for split, values in metrics.items():
        if values:
            yield MetricRow(split, "", _numbers(values))
            for name, part in values.items():
                if isinstance(part, dict):
                    yield MetricRow(split, _PARTS.get(name, name), _numbers(part))


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in values.items() if isinstance(value, float)}


def metric_names(rows: Iterable[MetricRow]) -> list[str]:
    """Every name, whatever the order of the rows: errors, then lists of items, then ranks."""
    return sorted(dict.fromkeys(name for row in rows for name in row.values), key=_place)


def _place(name: str) -> tuple[int, int]:
    word, _, k = name.partition("@")
    group = next((i for i, words in enumerate(_GROUPS) if word in words), len(_GROUPS))
    return group, int(k or 0)


def metric_title(name: str) -> str:
    """`hits@10` as Hits@10, `mrr` as MRR."""
    word, at, k = name.partition("@")
    return (word.upper() if word in _ACRONYMS else word.capitalize()) + at + k


def metrics_heading(names: Iterable[str]) -> str:
    """What the numbers are."""
    errors = [metric_title(name) for name in names if name in _ERRORS]
    return "Metrics, filtered, in percent" + (f", but {', '.join(errors)}" if errors else "")


def metric_text(name: str, value: float | None) -> str:
    """In percent, or as it is where it is an error; nothing for None."""
    if value is None:
        return ""
    return f"{value:.4f}" if name in _ERRORS else f"{100 * value:.1f}"


def best_value(name: str, values: Sequence[float | None]) -> float | None:
    """The best of several runs; None where they do not differ."""
    found = [value for value in values if value is not None]
    if len(set(found)) < 2:
        return None
    return min(found) if name in _ERRORS else max(found)
