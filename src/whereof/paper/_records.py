"""Tables of figures: ours over seeds, beside the paper's; how they are shown is said elsewhere."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

_ROUNDED = {"share": 0.005, "points": 0.005, "facts": 0.5, "number": 0.005}
"""By unit: the paper prints whole percents and whole facts, which stand for all so near."""


@dataclass(frozen=True)
class Figure:
    """One figure, and the paper's where it has one."""

    ours: float | None
    """The mean over seeds."""
    interval: tuple[float, float] | None = None
    """95%: seeds drawn anew, and predictions within each where it is of predictions."""
    seeds: tuple[float, ...] = ()
    """Of every seed."""
    n: int | None = None
    """Predictions of a seed."""
    std: float | None = None
    """Over predictions, where that is what the paper gives."""
    paper: float | None = None
    paper_std: float | None = None
    unit: str = "share"
    """share, points, facts, seconds, p, or number."""
    rounded: float | None = None
    """How far from what was measured the paper's may be, where it prints more digits."""

    @property
    def low(self) -> float | None:
        return min(self.seeds, default=None)

    @property
    def high(self) -> float | None:
        return max(self.seeds, default=None)

    @property
    def standing(self) -> str | None:
        """Where the paper's figure lies: inside our seed spread, below or above it."""
        if self.paper is None or self.low is None or self.high is None:
            return None
        slack = _ROUNDED.get(self.unit, 0.0) if self.rounded is None else self.rounded
        slack += 1e-9  # ours and the paper's may be rounded otherwise in the last bit
        if self.paper < self.low - slack:
            return "below"
        return "above" if self.paper > self.high + slack else "inside"

    def to_dict(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "mean": self.ours,
            "interval": None if self.interval is None else list(self.interval),
            "low": self.low,
            "high": self.high,
            "seeds": list(self.seeds),
            "n_predictions": self.n,
            "std": self.std,
            "paper": self.paper,
            "paper_std": self.paper_std,
            "paper_is": self.standing,
        }


@dataclass(frozen=True)
class Count:
    """What a row rests on."""

    n_predictions: int | None
    """Of a seed; None of what is of no predictions."""
    n_seeds: int


@dataclass(frozen=True)
class Row:
    """Figures by column; what is None has none."""

    names: tuple[str, ...]
    figures: tuple[Figure | None, ...]
    count: Count | None = None
    """None where the table itself says it."""


@dataclass(frozen=True)
class Table:
    """Rows of figures under one heading."""

    name: str
    title: str
    about: str
    heads: tuple[str, ...]
    """Of the names of rows."""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "rows": [
                dict(zip(self.heads, row.names, strict=True))
                | ({} if row.count is None else asdict(row.count))
                | {
                    _key(column): None if figure is None else figure.to_dict()
                    for column, figure in zip(self.columns, row.figures, strict=True)
                }
                for row in self.rows
            ],
        }


def _key(column: str) -> str:
    """`PD 1` as pd_1, `training, s` as training_s."""
    return "_".join(re.findall(r"[\w@%-]+", column.lower()))


def figures_of(tables: Sequence[Table]) -> list[Figure]:
    """Every figure of some tables."""
    return [figure for table in tables for row in table.rows for figure in row.figures if figure]
