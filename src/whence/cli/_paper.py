"""How the paper's tables look in a terminal, and how far they are."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Shown

from whence.cli._downloads import Downloads
from whence.cli._screen import counted, error_console
from whence.paper import Budget, Paper, PaperWatch
from whence.paper._records import Table
from whence.paper._text import grid

_LINE_SECONDS = 10.0


class PaperScreen(PaperWatch):
    """The budget, the parts, and a bar over the retrainings of each; elsewhere a line at times."""

    def __init__(self) -> None:
        self.console = error_console()
        self._bar: Progress | None = None
        self._downloads = Downloads()
        self._said = time.monotonic()

    def __enter__(self) -> "PaperScreen":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._downloads.stop()
        self._stop()

    def preparing(self, run: str) -> None:
        self.console.print(f"training {run}")

    def budgeted(self, budget: Budget) -> None:
        kept = f"; {budget.n_kept} of {budget.n_parts} parts are finished" if budget.n_kept else ""
        each = budget.seconds / max(budget.n_retrainings, 1)
        self.console.print(
            f"{counted(budget.n_retrainings, 'retraining')} at most, "
            f"{each:.2g} s each: about {duration(budget.seconds)}{kept}"
        )

    def began(self, number: int, n_parts: int, title: str) -> None:
        self._stop()
        self.console.print(f"{number} of {n_parts}: {title}")

    def noted(self, text: str) -> None:
        self.console.print(text)

    def downloading(self, url: str, done: int, total: int | None) -> None:
        self._downloads.advanced(url, done, total)

    def retrained(self, n_done: int, n_retrainings: int) -> None:
        if not self.console.is_terminal:
            if time.monotonic() - self._said > _LINE_SECONDS:
                self._said = time.monotonic()
                self.console.print(f"{n_done:,} of {n_retrainings:,} retrainings")
            return
        if self._bar is None:
            columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Progress(
                TextColumn("retrainings"), *columns, console=self.console, transient=True
            )
            self._bar.add_task("")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=n_done, total=n_retrainings)
        if n_done == n_retrainings:
            self._stop()

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def duration(seconds: float) -> str:
    """`40 s`, `7 minutes`, `3.5 hours`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def show_paper(screen: Console, paper: Paper) -> None:
    """Every table, then what they say."""
    screen.print(paper.title, style="bold")
    for table in paper.tables:
        screen.print(f"\n{table.title}", style="bold")
        screen.print(table.about, style="dim")
        screen.print(_shown(table))
    screen.print("\nIn short", style="bold")
    for sentence in paper.summary:
        screen.print(f"- {sentence}")


def _shown(table: Table) -> Shown:
    """Lines of a row stand together: ours plain, the others dim."""
    cells = grid(table)
    made = Shown(box=None, pad_edge=False, collapse_padding=True)
    for place, head in enumerate(cells.heads):
        made.add_column(head, justify="left" if place < cells.n_names else "right")
    for block in cells.blocks:
        for number, line in enumerate(block):
            made.add_row(*line, style="dim" if number else None)
    return made
