"""Results as tables in the terminal."""

from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.segment import Segment, Segments
from rich.table import Table

from whereof.cli._columns import middle
from whereof.drawing import named
from whereof.drawing._metrics import (
    metric_names,
    metric_rows,
    metric_text,
    metric_title,
    metrics_heading,
)

_STYLED_ROWS = 1000

SIZES = ("n_facts", "n_valid", "n_test", "n_entities", "n_relations")
COUNTS = (*SIZES, "epochs", "best_epoch", "steps", "seconds")
"""What tables of runs show of their sizes and training."""


Scale = tuple[float, float]
"""The lowest and the highest rating."""


def console() -> Console:
    """Standard output; NO_COLOR is heeded."""
    return Console(highlight=False, markup=False, emoji=False)


def table(title: str, *columns: str) -> Table:
    """A plain table whose columns, but the first, are flush right."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for position, column in enumerate(columns):
        made.add_column(column, justify="left" if position == 0 else "right")
    return made


def metrics_table(metrics: dict[str, Any]) -> Table:
    """Metrics of every split and its parts, in percent."""
    rows = list(metric_rows(metrics))
    names = metric_names(rows)
    made = table(metrics_heading(names), "", *map(metric_title, names))
    for row in rows:
        cells = (metric_text(name, row.values.get(name)) for name in names)
        made.add_row(f"  {row.part}" if row.part else row.split, *cells)
    return made


def answers_table(
    title: str, answers: list[dict[str, Any]], scale: Scale | None = None
) -> RenderableType:
    """Answers of a prediction; those known from training or validation have no rank shown.

    Scores of a model that learned ratings are ratings, held to their scale, and probabilities mean
    nothing there.
    """
    scores = ("rating",) if scale else ("probability", "score")
    columns = ("answer", *scores, "rank", "known")
    rows = [_answer_row(answer, scale, alone=len(answers) == 1) for answer in answers]
    if len(rows) > _STYLED_ROWS:
        return _plain_table(title, columns, rows)
    made = table(title, *columns)
    for row in rows:
        made.add_row(*row, style=None if row[-2] else "dim")
    return made


def _answer_row(answer: dict[str, Any], scale: Scale | None, *, alone: bool) -> tuple[str, ...]:
    known = answer["known"] or ""
    rank = str(answer["rank"]) if alone or known not in ("train", "valid") else ""
    name = middle(named(answer["entity"], answer["label"]), 40)
    if scale:
        return name, f"{min(max(answer['score'], scale[0]), scale[1]):.3f}", rank, known
    return name, f"{answer['probability']:.4f}", f"{answer['score']:.3f}", rank, known


def _plain_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Segments:
    """The layout of `table` in one piece of text: rich takes seconds over 10,000 rows."""
    lines = [columns, *rows]
    first, *others = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    text = [title] if title else []
    for name, *cells in lines:
        padded = (cell.rjust(width) for cell, width in zip(cells, others, strict=True))
        text.append("  ".join([set_cell_size(name, first), *padded]))
    return Segments([Segment("\n".join(text) + "\n")])


def number(value: float) -> str:
    """A count with its thousands apart, or three digits of a measure."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
