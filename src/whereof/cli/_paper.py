"""How the paper's tables look in a terminal, and how far they are."""

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Shown

from whereof.cli.progress import TerminalEvents, time_text
from whereof.events import Event, Foreseen, Planned
from whereof.paper import Budget, Paper
from whereof.paper._provenance import measured_text
from whereof.paper._records import Table
from whereof.paper._text import Grid, grid
from whereof.units import count as counted

_ANY_WIDTH = 10_000


class PaperEvents(TerminalEvents):
    """Also shows the budget. It replaces the plan of each round of retraining."""

    def emit(self, event: Event) -> None:
        if isinstance(event, Budget):
            for line in budget_lines(event):
                self.say(line)
        elif not isinstance(event, Foreseen | Planned):
            super().emit(event)


def budget_lines(budget: Budget) -> list[str]:
    """What every part costs, and all of them together."""
    lines = [
        f"{cost.title}: {counted(cost.n_retrainings, 'retraining')} x "
        f"{cost.seconds_each:.2g} s = {time_text(cost.retraining_seconds)}"
        for cost in budget.parts
    ]
    n_all, trainings = counted(budget.n_retrainings, "retraining"), ""
    if budget.n_trainings:
        trainings = counted(budget.n_trainings, "training")
        lines.append(f"{trainings}: about {time_text(budget.training_seconds)}")
        n_all += f" and {trainings}"
    n_parts = budget.n_kept + len(budget.parts)
    kept = f"; {budget.n_kept} of {n_parts} parts are finished" if budget.n_kept else ""
    at_once, seconds = f"{budget.at_once} at a time", time_text(budget.seconds)
    return [*lines, f"at most {n_all}, {at_once}: about {seconds}{kept}"]


def show_paper(screen: Console, paper: Paper) -> None:
    """Every table, then what they say."""
    screen.print(paper.title, style="bold")
    for sentence in measured_text(paper.measured):
        screen.print(sentence, style="dim")
    for table in paper.tables:
        screen.print(f"\n{table.title}", style="bold")
        screen.print(table.about, style="dim")
        screen.print(_shown(screen, table))
    screen.print("\nIn short", style="bold")
    for sentence in paper.summary:
        screen.print(f"- {sentence}")


def _shown(screen: Console, table: Table) -> Shown:
    """What does not fit has the names that come first on lines of their own."""
    cells = grid(table)
    made, n_folded = _filled(cells, 0), cells.n_names - 2
    wanted = Measurement.get(screen, screen.options.update_width(_ANY_WIDTH), made).maximum
    return _filled(cells, n_folded) if wanted > screen.width and n_folded > 0 else made


def _filled(cells: Grid, n_folded: int) -> Shown:
    """Lines of a row stand together: ours plain, the others dim."""
    made = Shown(box=None, pad_edge=False, collapse_padding=True)
    for place, head in enumerate(cells.heads[n_folded:], n_folded):
        made.add_column(head, justify="left" if place < cells.n_names else "right")
    heading = ""
    for block in cells.blocks:
        before, heading = heading, ", ".join(block[0][:n_folded])
        if heading != before:
            made.add_row(heading, style="bold")
        for number, line in enumerate(block):
            made.add_row(*line[n_folded:], style="dim" if number else None)
    return made
