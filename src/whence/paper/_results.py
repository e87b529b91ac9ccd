"""What the parts came to, and how tables read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whence.paper import _published as published
from whence.paper._plan import PaperOptions
from whence.paper._records import Figure, Row, Table

Document = Mapping[str, Any]

METRIC_TITLES = {"pd": "PD", "tc": "TC"}


@dataclass(frozen=True)
class Results:
    """What every finished part came to, by its name."""

    options: PaperOptions
    parts: Mapping[str, Document]

    @property
    def models(self) -> tuple[str, ...]:
        return self.options.models

    @property
    def dataset(self) -> str:
        return self.options.dataset

    def evaluation(self, part: str) -> Document | None:
        """What `Evaluation.to_dict` gave."""
        found = self.parts.get(part)
        return None if found is None else found["evaluation"]


def shares(
    evaluation: Document, method: str, metrics: Sequence[str] = published.METRICS
) -> dict[tuple[str, str], Figure]:
    """PD and TC of a method, or other shares, by metric and size."""
    return {
        (metric, str(row["k"])): Figure(
            ours=row[metric],
            interval=pair(row[f"{metric}_interval"]),
            seeds=tuple(row[f"{metric}_seeds"]),
            n=row["n_predictions"],
        )
        for row in evaluation["removal"]
        if row["method"] == method
        for metric in metrics
    }


def over_seeds(values: Sequence[float], figure: Figure) -> Figure:
    """A figure with what every seed gave and, of several, the interval: seeds drawn anew."""
    from whence.evaluate.statistics import bootstrap_interval

    interval = bootstrap_interval([np.array([value]) for value in values])
    return replace(figure, seeds=tuple(values), interval=interval)


def pair(interval: Sequence[float | None] | None) -> tuple[float, float] | None:
    """The two ends of an interval; None where it has none."""
    low, high = interval or (None, None)
    return None if low is None or high is None else (low, high)


def make_table(
    name: str, title: str, about: str, heads: str, columns: Sequence[str], rows: Sequence[Row]
) -> Table | None:
    """A table; None where nothing was measured."""
    if not rows:
        return None
    return Table(name, title, about, tuple(heads.split()), tuple(columns), tuple(rows))
