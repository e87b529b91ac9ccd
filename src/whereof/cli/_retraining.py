"""A look at many retrainings from the command line: the plan, a bar, and a way to stop."""

from contextlib import ExitStack
from types import TracebackType

from whereof.cli._progress import Tell, progress
from whereof.cli._screen import counted, error_console
from whereof.retrain import Plan, RetrainWatch
from whereof.training.results import Interrupted

# This imports what is compiled: commands import it when they run.


class RetrainScreen(RetrainWatch):
    """Says what retraining will take and how far it is; Ctrl-C ends it, and nothing is lost."""

    def __init__(self) -> None:
        self._console = error_console()
        self._bar = ExitStack()
        self._tell: Tell | None = None
        self._total: Plan | None = None
        self._said = False

    def __enter__(self) -> "RetrainScreen":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.close()
        if isinstance(error, KeyboardInterrupt | Interrupted):
            raise Interrupted("interrupted; the same command goes on where it stopped") from None

    def foreseen(self, plan: Plan) -> None:
        self._total, self._said = plan, False

    def planned(self, plan: Plan) -> None:
        self._bar.close()
        # A total is said with the first that is not known, and stands for the plan of each go.
        if self._total is None:
            self._console.print(plan_text(plan))
        elif not self._said:
            self._console.print(f"at most {plan_text(self._total)}")
            self._said = True
        self._tell = self._bar.enter_context(progress("retrainings"))

    def retrained(self, n_done: int, n_retrainings: int) -> None:
        if self._tell is not None:
            self._tell(n_done, n_retrainings)
        if n_done == n_retrainings:
            self._bar.close()

    def noted(self, text: str) -> None:
        self._console.print(text)


def plan_text(plan: Plan) -> str:
    """`11 retrainings, 2 at a time, about 1.4 s; 3 more are known`."""
    parts = [counted(plan.n_retrainings, "retraining")]
    if plan.n_retrainings > 1 and plan.at_once > 1:
        parts.append(f"{min(plan.at_once, plan.n_retrainings)} at a time")
    known = ""
    if plan.n_known:
        known = f"; {plan.n_known:,} more {'is' if plan.n_known == 1 else 'are'} known"
    time = "less than a second" if plan.seconds < 1 else f"about {time_text(plan.seconds)}"
    return f"{', '.join(parts)}, {time}{known}"


def time_text(seconds: float) -> str:
    """A time for people: seconds, minutes or hours, in two digits or whole ones."""
    size, unit = next(
        ((size, unit) for size, unit in ((3600, "h"), (60, "min")) if seconds >= 2 * size),
        (1, "s"),
    )
    amount = seconds / size
    return f"{amount:.2g} {unit}" if amount < 99 else f"{amount:,.0f} {unit}"
