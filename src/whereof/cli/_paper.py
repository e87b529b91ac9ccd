"""How the paper's tables look in a terminal, and how far they are."""

from types import TracebackType

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Shown

from whereof.cli._downloads import Downloads
from whereof.cli._progress import progress
from whereof.cli._retraining import RetrainScreen, time_text
from whereof.cli._screen import counted
from whereof.paper import Budget, Paper, PaperWatch
from whereof.paper._provenance import measured_text
from whereof.paper._records import Table
from whereof.paper._text import Grid, grid
from whereof.retrain import Plan
from whereof.training.results import Interrupted

_ANY_WIDTH = 10_000


class PaperScreen(RetrainScreen, PaperWatch):
    """The budget, the parts, and a bar over the retrainings of each."""

    def __init__(self) -> None:
        super().__init__()
        self._downloads = Downloads()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not isinstance(error, Interrupted):  # which says more than others would
            super().__exit__(kind, error, traceback)
        self._bar.close()

    def preparing(self, run: str) -> None:
        self.noted(f"training {run}")

    def budgeted(self, budget: Budget) -> None:
        self._downloads.stop()
        for cost in budget.parts:
            self.noted(
                f"{cost.title}: {counted(cost.n_retrainings, 'retraining')} x "
                f"{cost.seconds_each:.2g} s = {time_text(cost.retraining_seconds)}"
            )
        trainings = counted(budget.n_trainings, "training")
        if budget.n_trainings:
            self.noted(f"{trainings}: about {time_text(budget.training_seconds)}")
        n_parts = budget.n_kept + len(budget.parts)
        kept = f"; {budget.n_kept} of {n_parts} parts are finished" if budget.n_kept else ""
        n_all = counted(budget.n_retrainings, "retraining")
        n_all += f" and {trainings}" if budget.n_trainings else ""
        at_once = f"{budget.at_once} at a time"
        self.noted(f"at most {n_all}, {at_once}: about {time_text(budget.seconds)}{kept}")

    def began(self, number: int, n_parts: int, title: str) -> None:
        self._bar.close()
        self.noted(f"{number} of {n_parts}: {title}")

    def planned(self, plan: Plan) -> None:
        self._bar.close()
        if plan.n_retrainings:
            self._tell = self._bar.enter_context(progress("retrainings"))

    def downloading(self, url: str, done: int, total: int | None) -> None:
        self._downloads.advanced(url, done, total)


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
