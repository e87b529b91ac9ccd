"""Results as tables in the terminal."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table

_METRICS = ("mrr", "hits@1", "hits@3", "hits@10")


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
    """Metrics of every split and side, in percent, the paper's filter below the standard one."""
    made = table("Metrics, filtered, in percent", "", "MRR", "Hits@1", "Hits@3", "Hits@10")
    for name, values in _rows(metrics):
        made.add_row(name, *(f"{100 * values[metric]:.1f}" for metric in _METRICS))
    return made


def _rows(metrics: dict[str, Any]) -> Iterable[tuple[str, dict[str, float]]]:
    for split, values in metrics.items():
        if not values:
            continue
        yield split, values
        for side in ("objects", "subjects"):
            if side in values:
                yield f"  {side}", values[side]
        yield "  paper's filter", values["paper_filter"]


def answers_table(title: str, answers: list[dict[str, Any]]) -> Table:
    """Answers of a prediction; those known from training or validation have no rank shown."""
    made = table(title, "answer", "probability", "score", "rank", "known")
    for answer in answers:
        known = answer["known"] or ""
        skipped = known in ("train", "valid") and len(answers) > 1
        rank = "" if skipped else str(answer["rank"])
        name = answer["entity"]
        if answer["label"] != name:
            name = f"{answer['label']} ({name})"
        style = "dim" if not rank else None
        numbers = (f"{answer['probability']:.4f}", f"{answer['score']:.3f}", rank, known)
        made.add_row(middle(name, 40), *numbers, style=style)
    return made


def middle(text: str, width: int) -> str:
    """A text cut in the middle where it is longer than width."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
