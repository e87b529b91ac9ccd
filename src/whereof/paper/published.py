"""The paper's experiments as data, read from paper.toml: our tables, and the paper's figures."""

import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import msgspec

SIZES = ("1", "10", "all")
"""Numbers of removed facts in Table 1."""
CRIAGE_SIZES = ("1", "3", "5", "10")
METRICS = {"pd": "PD", "tc": "TC"}
RANKINGS = ("mrr", "hits@1", "hits@10")
"""The metrics of the model table."""
MODELS = {"distmult": "DistMult", "complex": "ComplEx"}
"""With their titles."""

Printed = float | tuple[float, float]
"""A figure, or a mean and its standard deviation; NaN if there is none. Shares are in percent."""


@dataclass(frozen=True)
class PublishedExample:
    """A prediction that the paper explains, by labels."""

    subject: str
    relation: str
    object: str
    paper: str
    """The subject of the paper's fact, which has the prediction's relation and object."""


@dataclass(frozen=True)
class Published:
    """What is measured on a dataset, and the figures that the paper prints; see paper.toml."""

    title: str
    catalogue: str
    """The dataset's name in the catalogue."""
    protocols: tuple[str, ...]
    lazy: dict[str, str]
    printed: dict[str, dict[str, tuple[Printed, ...]]]
    claims: dict[str, str] = field(default_factory=dict)
    """By our table: what the paper says without figures."""
    parts: tuple[dict[str, Any], ...] = ()
    examples: tuple[PublishedExample, ...] = ()
    limit: int | None = None
    """Number of test predictions, drawn at random; None for all."""
    seeds: int = 1
    more_seeds: dict[str, int] = field(default_factory=dict)
    """By name: the parts with another number of seeds."""

    def row(self, table: str, names: Collection[str]) -> tuple[Printed, ...]:
        """The paper's figures for a row of our table; empty if there are none."""
        rows = self.printed.get(table, {}).items()
        return next((figures for words, figures in rows if {*words.split()} <= {*names}), ())


_DATA = tomllib.loads(resources.files(__package__).joinpath("paper.toml").read_text("utf-8"))
TABLES: dict[str, dict[str, Any]] = _DATA["tables"]
"""Fields of `figures.Comparison`."""
DATASETS = msgspec.convert(_DATA["datasets"], dict[str, Published])
