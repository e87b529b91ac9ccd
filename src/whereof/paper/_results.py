"""What the parts came to, and how tables read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whereof.paper import _published as published
from whereof.paper._options import PaperOptions
from whereof.paper._plan import PREFIXES, Part, plan
from whereof.paper._provenance import Measured, gather_measured
from whereof.paper._records import Count, Figure, Row, Table
from whereof.paper._text import counts_text

Document = Mapping[str, Any]

METRIC_TITLES = {"pd": "PD", "tc": "TC"}


@dataclass(frozen=True)
class Removals:
    """A finished part of Table 1: one model with one optimizer."""

    model: str
    optimizer: str
    part: Document

    @property
    def evaluation(self) -> Document:
        found: Document = self.part["evaluation"]
        return found

    @property
    def names(self) -> tuple[str, str]:
        """How its rows begin."""
        return published.TITLES[self.model], self.optimizer

    @property
    def title(self) -> str:
        return ", ".join(self.names)

    @property
    def count(self) -> Count:
        return count(self.evaluation)


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

    @property
    def missing(self) -> tuple[Part, ...]:
        """Parts that are not finished."""
        return tuple(part for part in plan(self.options) if part.name not in self.parts)

    @property
    def measured(self) -> list[Measured]:
        """By which commands, on which machines, and when."""
        return gather_measured({part.title: self.parts[part.name] for part in self._finished})

    @property
    def described(self) -> list[Document]:
        """Every finished part: what it is of, and how much it took."""
        return [_describe(part, self.parts[part.name]) for part in self._finished]

    @property
    def _finished(self) -> list[Part]:
        return [part for part in plan(self.options) if part.name in self.parts]

    @property
    def removals(self) -> list[Removals]:
        """The finished parts of Table 1, model by model, the paper's optimizer first."""
        return [
            Removals(model, optimizer, self.parts[name])
            for model in self.models
            for optimizer, prefix in PREFIXES.items()
            if (name := f"{prefix}-{model}") in self.parts
        ]

    def evaluation(self, part: str) -> Document | None:
        """What `Evaluation.to_dict` gave."""
        found = self.parts.get(part)
        return None if found is None else found["evaluation"]


def _describe(part: Part, document: Document) -> Document:
    """`settings` are those over the paper's preset."""
    evaluation = document.get("evaluation", {})
    counts = ("n_predictions", "n_retrainings", "seconds")
    return {
        "name": part.name,
        "title": part.title,
        "model": part.model,
        "settings": dict(part.settings),
        "seeds": list(part.seeds),
        **{name: evaluation.get(name) for name in counts},
        "measured": document["measured"],
    }


def count(evaluation: Document) -> Count:
    """Predictions of a seed, and seeds."""
    return Count(evaluation["n_predictions"], len(evaluation["seeds"]))


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
    from whereof.evaluate.statistics import bootstrap_interval

    interval = bootstrap_interval([np.array([value]) for value in values])
    return replace(figure, seeds=tuple(values), interval=interval)


def pair(interval: Sequence[float | None] | None) -> tuple[float, float] | None:
    """The two ends of an interval; None where it has none."""
    low, high = interval or (None, None)
    return None if low is None or high is None else (low, high)


def make_table(
    name: str, title: str, about: str, heads: str, columns: Sequence[str], rows: Sequence[Row]
) -> Table | None:
    """A table that says what its rows rest on; None where nothing was measured."""
    if not rows:
        return None
    about = f"{about} {counts_text(rows)}".strip()
    return Table(name, title, about, tuple(heads.split()), tuple(columns), tuple(rows))
