"""Figures beside the paper's, in tables."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from whereof import units
from whereof.evaluate.statistics import bootstrap_interval
from whereof.paper.plan import Printed
from whereof.table import Cell, Column, Table

_UNITS = {"facts": "count", "minutes": "number", "p": "p-value"}
"""Units of figures in JSON that have another name in `units`."""
_ROUNDED = {"share": 0.005, "points": 0.005, "facts": 0.5, "number": 0.005}
"""By unit: half of the last digit that the paper prints."""
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
    """That of the column, unless it is `points`."""

    @classmethod
    def over(cls, seeds: Sequence[float]) -> "Figure | None":
        """The mean of one value for each seed, and the interval over several; None if empty."""
        interval = bootstrap_interval([np.array([value]) for value in seeds])
        return cls(float(np.mean(seeds)), interval, tuple(seeds)) if seeds else None

    @classmethod
    def of(cls, record: Any, name: str, n_predictions: int | None = None) -> "Figure":
        """A value of a record, with its interval, its seeds and its deviation if it has them."""
        seeds = [it for it in getattr(record, f"{name}_seeds", ()) if units.is_number(it)]
        ends = ("mean", "interval", "std")
        mean, interval, std = (getattr(record, f"{name}_{end}", None) for end in ends)
        mean, found = getattr(record, name, mean), cls.over(seeds) or cls(None)
        return cls(mean, interval or found.interval, found.seeds, n_predictions, std)

    def beside(self, unit: str, printed: Printed) -> "Figure":
        """The same figure with its column's unit, and with the paper's as it is printed."""
        unit = "points" if self.unit == "points" else unit
        paper, std = printed if isinstance(printed, tuple) else (printed, None)
        if not units.is_number(paper):
            return replace(self, unit=unit)
        if unit in ("share", "points"):
            paper = round(paper / 100, 6)  # without the last bit of the division
        return replace(self, unit=unit, paper=paper, paper_std=std)

    @property
    def ends(self) -> tuple[float, float] | None:
        """The lowest and the highest seed."""
        return (min(self.seeds), max(self.seeds)) if self.seeds else None

    @property
    def paper_is(self) -> str | None:
        """Where the paper's figure lies: `inside` our range of seeds, `below` or `above` it."""
        if self.paper is None or self.ends is None:
            return None
        rounded = _ROUNDED.get(self.unit, 0.0)
        if self.unit == "share" and round(100 * self.paper, 4) % 1:
            rounded /= 100  # the paper prints whole percents, or two more digits
        rounded += 1e-9  # for the last bit of the division by 100
        if self.paper < self.ends[0] - rounded:
            return "below"
        return "above" if self.paper > self.ends[1] + rounded else "inside"

    def to_dict(self) -> dict[str, Any]:
        low, high = self.ends or (None, None)
        return asdict(self) | {"low": low, "high": high, "paper_is": self.paper_is}

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Our figure, its interval, the range of seeds, and the paper's figure."""
        ours = self._show((self.mean, self.std), "deviation")
        seeds = self.seeds_text if len(self.seeds) > 1 else ""
        return ours, self._range(self.interval), seeds, self.paper_text

    @property
    def seeds_text(self) -> str:
        return self._range(self.ends)

    @property
    def paper_text(self) -> str:
        """The paper's figure with the digits that it prints."""
        if self.paper is None:
            return ""
        size = 100 if self.unit in ("share", "points") else 1
        sign = "+" if self.unit == "points" and self.paper > 0 else ""
        end = "%" if self.unit == "share" else ""
        end += "" if self.paper_std is None else f" ± {self.paper_std:,g}"
        return f"{sign}{round(size * self.paper, 4):,g}{end}"

    def _range(self, ends: tuple[float, float] | None) -> str:
        if ends and ends[0] == ends[1]:
            return self._show(ends[0])
        if ends and self.unit == "points":
            return " to ".join(f"{100 * end:.0f}" for end in ends)
        return self._show(ends, "interval")

    def _show(self, value: Any, pair: str = "") -> str:
        unit = _UNITS.get(self.unit, self.unit)
        return units.show(value, unit, pair).removesuffix(" points")


class Count(NamedTuple):
    """What a row was computed from."""

    n_predictions: int | None
    """Per seed; None if the row is not about predictions."""
    n_seeds: int

    def __str__(self) -> str:
        seeds = units.count(self.n_seeds, "seed")
        many = self.n_predictions
        return seeds if many is None else f"{units.count(many, 'prediction')}, {seeds}"


@dataclass(frozen=True)
class Row:
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
    columns: Sequence[str]
    about: str
    heads: str = "model optimizer"
    """What the names of rows are, with blanks between them."""
    units: str = "share"
    """For each column, with blanks between them; or one for all."""
    parts: str = "table1"
    """Parts that give the rows: names or groups, with blanks between them."""
    rows: Sequence[Row] = ()

    def figures(self, *names: str) -> Sequence[Figure | None]:
        """The figures of the row with these names."""
        return next(row.figures for row in self.rows if row.names == names)

    def to_dict(self) -> dict[str, Any]:
        keys = [*self.heads.split(), *map(_key, self.columns)]
        rows = []
        for row in self.rows:
            figures = (figure and figure.to_dict() for figure in row.figures)
            values = dict(zip(keys, (*row.names, *figures), strict=True))
            rows.append(values | (row.count._asdict() if row.count else {}))
        return {"name": self.name, "title": self.title, "about": self.about, "rows": rows}

    def table(self) -> Table:
        """The table for people.

        If rows take several lines, their names are in one column, above the names of lines.
        """
        heads, rows = self.heads.split(), []
        texts = [[it.texts if it else ("",) * 4 for it in row.figures] for row in self.rows]
        stacked = any(any(cell[1:]) for row in texts for cell in row)
        for row, cells in zip(self.rows, texts, strict=True):
            ours, *others = zip(*cells, strict=True)
            names = (", ".join(row.names),) if stacked else row.names
            rows.append((*names, *(Cell(text, "text") for text in ours)))
            for name, line in zip(_LINES, others, strict=True):
                if any(line):
                    rows.append(tuple(Cell(it, "text", tone="faint") for it in (name, *line)))
        words = [Column("", ", ".join(heads))] if stacked else [Column(it, it) for it in heads]
        numbers = [Column(_key(it), it, "number") for it in self.columns]
        return Table(self.name, self.title, (*words, *numbers), rows, self.about)


def _key(column: str) -> str:
    """The name of a column in JSON: `PD 1` is pd_1, `training, s` is training_s."""
    return "_".join(re.findall(r"[\w@%-]+", column.lower()))


def counts_text(rows: Iterable[Row]) -> str:
    """`100 predictions, 1 seed.`; by the first two names of rows if they differ."""
    groups: dict[Count, dict[str, None]] = {}
    for row in rows:
        if row.count is not None:
            groups.setdefault(row.count, {})[" ".join(row.names[:2])] = None
    if len(groups) == 1:
        return f"{next(iter(groups))}."
    parts = [f"{', '.join(names)}: {count}" for count, names in groups.items()]
    return f"{'; '.join(parts)}." if parts else ""
