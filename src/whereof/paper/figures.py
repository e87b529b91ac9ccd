"""Figures beside the paper's, in tables."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from whereof import units
from whereof.evaluate.statistics import bootstrap_interval
from whereof.paper.published import Printed
from whereof.table import Cell, Column, Table

_UNITS = {"facts": "count", "minutes": "number", "p": "p-value"}
"""Units of figures in JSON that have another name in `units`."""
_ROUNDED = {"share": 0.005, "points": 0.005, "facts": 0.5, "number": 0.005}
"""By unit: half of the last digit that the paper prints."""
_WRITTEN = (
    *("unit", "mean", "interval", "low", "high", "seeds", "n_predictions", "std"),
    *("paper", "paper_std", "paper_is"),
)
"""What JSON has of a figure."""
_LINES = ("95%", "seeds", "paper")
"""Lines below one of our figures."""


@dataclass(frozen=True)
class Figure:
    """One figure, and the paper's if it prints one."""

    mean: float | None
    """Over seeds."""
    interval: tuple[float, float] | None = None
    """95%, from seeds drawn with replacement, and predictions within each."""
    seeds: tuple[float, ...] = ()
    """One value for each seed."""
    n_predictions: int | None = None
    """Per seed."""
    std: float | None = None
    """Over predictions, where the paper gives it."""
    paper: float | None = None
    paper_std: float | None = None
    unit: str = "share"
    rounded: float | None = None
    """Half of the last digit that the paper prints, if it is not the unit's."""

    def beside(self, printed: Printed) -> "Figure":
        """The same figure with the paper's, as it is printed."""
        paper, std = printed if isinstance(printed, tuple) else (printed, None)
        if paper is not None and self.unit in ("share", "points"):
            paper = round(paper / 100, 6)  # without the last bit of the division
        return replace(self, paper=paper, paper_std=std)

    def over(self, seeds: Sequence[float]) -> "Figure":
        """The same figure with one value for each seed, and the interval over several."""
        interval = bootstrap_interval([np.array([value]) for value in seeds])
        return replace(self, seeds=tuple(seeds), interval=interval)

    @property
    def low(self) -> float | None:
        return min(self.seeds, default=None)

    @property
    def high(self) -> float | None:
        return max(self.seeds, default=None)

    @property
    def paper_is(self) -> str | None:
        """Where the paper's figure lies: `inside` our range of seeds, `below` or `above` it."""
        if self.paper is None or self.low is None or self.high is None:
            return None
        slack = _ROUNDED.get(self.unit, 0.0) if self.rounded is None else self.rounded
        slack += 1e-9  # for the last bit of the division by 100
        if self.paper < self.low - slack:
            return "below"
        return "above" if self.paper > self.high + slack else "inside"

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _WRITTEN}

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Our figure, its interval, the range of seeds, and the paper's figure."""
        ours = self._show(self.mean)
        if self.std is not None:
            ours = self._show((self.mean, self.std), "deviation")
        seeds = self.seeds_text if len(self.seeds) > 1 else ""
        return ours, self._range(self.interval), seeds, self.paper_text

    @property
    def seeds_text(self) -> str:
        """The lowest and the highest seed."""
        return self._range(None if self.low is None else (self.low, self.high))

    def _range(self, ends: tuple[float | None, float | None] | None) -> str:
        if ends and ends[0] == ends[1]:
            return self._show(ends[0])
        if ends and self.unit == "points":
            return " to ".join(f"{100 * (end or 0):.0f}" for end in ends)
        return self._show(ends, "interval")

    def _show(self, value: Any, pair: str = "") -> str:
        unit = _UNITS.get(self.unit, self.unit)
        return units.show(value, unit, pair).removesuffix(" points")

    @property
    def paper_text(self) -> str:
        """The paper's figure with the digits that it prints."""
        if self.paper is None:
            return ""
        percent = self.unit in ("share", "points")
        text = f"{round(100 * self.paper if percent else self.paper, 4):,g}"
        if self.unit == "points" and self.paper > 0:
            text = f"+{text}"
        text += "%" if self.unit == "share" else ""
        return text if self.paper_std is None else f"{text} ± {self.paper_std:,g}"


@dataclass(frozen=True)
class Count:
    """What a row was computed from."""

    n_predictions: int | None
    """Per seed; None if the row is not about predictions."""
    n_seeds: int

    def __str__(self) -> str:
        seeds = units.count(self.n_seeds, "seed")
        if self.n_predictions is None:
            return seeds
        return f"{units.count(self.n_predictions, 'prediction')}, {seeds}"


@dataclass(frozen=True)
class ComparedRow:
    """Figures by column; None where there is none."""

    names: tuple[str, ...]
    figures: Sequence[Figure | None]
    count: Count | None = None
    """None if the table's text says it."""


@dataclass(frozen=True)
class Comparison:
    """A table of figures beside the paper's."""

    name: str
    title: str
    about: str
    heads: str
    """Titles of the names of rows, with blanks between them."""
    columns: Sequence[str]
    rows: Sequence[ComparedRow] = ()

    def figures(self, *names: str) -> Sequence[Figure | None]:
        """The figures of the row with these names; empty if there is none."""
        return next((row.figures for row in self.rows if row.names == names), ())

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "rows": [
                dict(zip(self.heads.split(), row.names, strict=True))
                | ({} if row.count is None else asdict(row.count))
                | {
                    _key(column): None if figure is None else figure.to_dict()
                    for column, figure in zip(self.columns, row.figures, strict=True)
                }
                for row in self.rows
            ],
        }

    def table(self) -> Table:
        """The table for people.

        If rows take several lines, their names are in one column, above the names of lines.
        """
        heads, numbers = self.heads.split(), [Column(_key(it), it, "number") for it in self.columns]
        texts = [
            [("", "", "", "") if it is None else it.texts for it in row.figures]
            for row in self.rows
        ]
        stacked, rows = any(any(cell[1:]) for row in texts for cell in row), []
        for row, cells in zip(self.rows, texts, strict=True):
            names = (", ".join(row.names),) if stacked else row.names
            rows.append((*names, *(Cell(cell[0], "text") for cell in cells)))
            for line, name in enumerate(_LINES, 1):
                if any(cell[line] for cell in cells):
                    lines = (name, *(cell[line] for cell in cells))
                    rows.append(tuple(Cell(text, "text", tone="faint") for text in lines))
        words = [Column("", ", ".join(heads))] if stacked else [Column(it, it) for it in heads]
        return Table(self.name, self.title, (*words, *numbers), rows, self.about)


def _key(column: str) -> str:
    """The name of a column in JSON: `PD 1` is pd_1, `training, s` is training_s."""
    return "_".join(re.findall(r"[\w@%-]+", column.lower()))


def counts_text(rows: Iterable[ComparedRow]) -> str:
    """`100 predictions, 1 seed.`; by the first two names of rows if they differ."""
    groups: dict[Count, dict[str, None]] = {}
    for row in rows:
        if row.count is not None:
            groups.setdefault(row.count, {})[" ".join(row.names[:2])] = None
    if len(groups) == 1:
        return f"{next(iter(groups))}."
    parts = [f"{', '.join(names)}: {count}" for count, names in groups.items()]
    return f"{'; '.join(parts)}." if parts else ""
