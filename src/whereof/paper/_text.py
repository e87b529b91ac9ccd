"""Figures as people read them: shares in percent, ours above the paper's."""

from collections.abc import Sequence
from dataclasses import dataclass

from whereof.paper._records import Count, Figure, Row, Table

_LINES = ("ours", "95%", "seeds", "paper")
_TELLING = 2
"""The first names of a row: of a model, its optimizer too."""
_SURE = 0.0001
"""A p-value as small as shuffling can tell."""


@dataclass(frozen=True)
class Grid:
    """A table as text, cell by cell."""

    heads: tuple[str, ...]
    n_names: int
    """How many columns, from the left, are words."""
    blocks: tuple[tuple[tuple[str, ...], ...], ...]
    """Lines of every row: ours, then what else there is; only the first has names."""


def grid(table: Table) -> Grid:
    """A table's rows as blocks of lines; a line that no figure of a table has is left out."""
    cells = [[_lines(figure) for figure in row.figures] for row in table.rows]
    kinds = [
        kind for kind in range(len(_LINES)) if any(cell[kind] for row in cells for cell in row)
    ]
    labelled = len(kinds) > 1
    blocks = []
    for row, figures in zip(table.rows, cells, strict=True):
        shown = [kind for kind in kinds if kind == 0 or any(cell[kind] for cell in figures)]
        names = [row.names, *[("",) * len(row.names)] * (len(shown) - 1)]
        blocks.append(
            tuple(
                (*name, *((_LINES[kind],) if labelled else ()), *(cell[kind] for cell in figures))
                for name, kind in zip(names, shown, strict=True)
            )
        )
    heads = (*table.heads, *(("",) if labelled else ()), *table.columns)
    return Grid(heads, len(table.heads) + labelled, tuple(blocks))


def counts_text(rows: Sequence[Row]) -> str:
    """What rows rest on: `100 predictions, 1 seed.`; where they differ, by their first names."""
    groups: dict[Count, list[Row]] = {}
    for row in rows:
        if row.count is not None:
            groups.setdefault(row.count, []).append(row)
    if len(groups) == 1:
        return f"{_count_text(*groups)}."
    parts = []
    for count, mine in groups.items():
        names = dict.fromkeys(" ".join(row.names[:_TELLING]) for row in mine)
        parts.append(f"{', '.join(names)}: {_count_text(count)}")
    return f"{'; '.join(parts)}." if parts else ""


def _count_text(count: Count) -> str:
    seeds = f"{count.n_seeds} seed{'s' * (count.n_seeds > 1)}"
    if count.n_predictions is None:
        return seeds
    n = count.n_predictions
    return f"{n:,} prediction{'s' * (n > 1)}, {seeds}"


def value_text(value: float | None, unit: str) -> str:
    """One number by its unit, without the unit's name."""
    if value is None:
        return "-"
    if unit == "share":
        return f"{100 * value:.1f}"
    if unit == "points":
        return f"{100 * value:+.1f}"
    if unit == "facts":
        return f"{value:,.0f}"
    if unit == "p":
        return f"<{2 * _SURE:g}" if value < 2 * _SURE else f"{value:.4f}"
    return f"{value:.3f}" if unit == "number" and 0.01 <= abs(value) < 10 else f"{value:.3g}"


def paper_text(figure: Figure) -> str:
    """The paper's figure, with no more digits than it prints."""
    value, unit = figure.paper, figure.unit
    if value is None:
        return ""
    if unit in ("share", "points"):
        text = f"{round(100 * value, 4):g}"
        return f"{'+' * (value > 0)}{text}" if unit == "points" else text
    text = f"{value:,.0f}" if unit == "facts" else f"{value:g}"
    return text if figure.paper_std is None else f"{text} ± {value_text(figure.paper_std, unit)}"


def seeds_text(figure: Figure) -> str:
    """The lowest and the highest seed."""
    return range_text(min(figure.seeds), max(figure.seeds), figure.unit, _digits(figure))


def _digits(figure: Figure) -> int:
    """After the point of a percent in a range; where the paper prints more, so do we."""
    return 0 if figure.rounded is None else 1


def range_text(low: float, high: float, unit: str, digits: int = 0) -> str:
    """`86-93`; of what may be negative, or is no share, `-2 to 10`; of one value, that one.

    Percents have so many digits after the point.
    """
    percent = unit in ("share", "points")
    ends = [f"{100 * end:.{digits}f}" if percent else value_text(end, unit) for end in (low, high)]
    if ends[0] == ends[1]:
        return ends[0]
    return ("-" if unit == "share" else " to ").join(ends)


def _lines(figure: Figure | None) -> tuple[str, str, str, str]:
    """Ours, the interval, the lowest and highest seed, and the paper's."""
    if figure is None:
        return "", "", "", ""
    ours, unit = value_text(figure.ours, figure.unit), figure.unit
    if figure.std is not None:
        ours += f" ± {value_text(figure.std, unit)}"
    ends = figure.interval
    interval = "" if ends is None else range_text(*ends, unit, _digits(figure))
    several = len(figure.seeds) > 1
    seeds = seeds_text(figure) if several else ""
    return ours, interval, seeds, paper_text(figure)
