"""Evaluations in the terminal: the tables and sentences of every protocol."""

from rich.console import Console

from whereof.evaluate.evaluation import Evaluation
from whereof.present.terminal import heading, show
from whereof.table import Table


def show_evaluation(out: Console, found: Evaluation) -> None:
    """Print the tables and sentences of every protocol."""
    show(out, *found.heading())
    for section in found.sections():
        show(out, heading(section.title))
        parts: list[Table | str] = [*section.tables, *section.sentences]
        for before, part in zip([None, *parts], parts, strict=False):
            show(out, *([""] if isinstance(before, Table) else []), part)
    show(out, "", *found.ending())
