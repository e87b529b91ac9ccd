"""A look at training from the command line: a bar on a terminal, now and then a line elsewhere."""

import math
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from whereof.cli._downloads import Downloads
from whereof.cli._screen import counted, error_console, size
from whereof.drawing._metrics import metric_title
from whereof.training.config import TrainConfig
from whereof.training.results import Start, Validation, Watch

_LINE_SECONDS = 10.0


class TerminalWatch(Watch):
    """Shows progress and turns the first Ctrl-C, or a polite kill, into a checkpoint."""

    def __init__(self) -> None:
        self.console = error_console()
        self._stop = threading.Event()
        self._handlers: dict[int, Any] = {}
        self._downloads = Downloads()
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._clock = self._said = time.monotonic()
        self._first: int | None = None
        self._total = self._epochs = 0
        self._budget = math.inf

    def __enter__(self) -> "TerminalWatch":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._downloads.stop()
        if self._bar is not None:
            self._bar.stop()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _take_signals(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._interrupt)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()
        self.say("stopping at the next stretch; once more to stop at once")
        # A second one ends the process as usual.
        signal.signal(number, self._handlers[number])

    def should_stop(self) -> bool:
        return self._stop.is_set()

    def say(self, text: str) -> None:
        self.console.print(text)

    def downloading(self, url: str, done: int, total: int | None) -> None:
        self._downloads.advanced(url, done, total)

    def started(self, about: Start) -> None:
        # From here on there is something to keep; until then Ctrl-C ends the process at once.
        self._take_signals()
        self._downloads.stop()
        for note in about.notes:
            self.say(f"note   {note}")
        if not about.n_valid:
            self.say(
                "note   no validation facts: the last epoch is kept; hold some facts out with "
                "--valid-fraction 0.1"
            )
        self.say(f"run    {about.run}")
        self.say(f"model  {_in_words(about.config)}")
        if about.trace_bytes:
            where = "memory-mapped" if about.trace_mapped else "in memory"
            rows, width = about.trace_shape
            facts = counted(rows, "fact")
            self.say(f"trace  {facts} x {width} numbers: {size(about.trace_bytes)}, {where}")
        else:
            self.say("trace  none")
        self._epochs = about.config.epochs
        self._total = about.n_facts * self._epochs
        self._budget = float(about.config.time_budget or math.inf)

    def compiling(self) -> None:
        self.say("compiling kernels for such settings; once on a machine, half a minute or so ...")

    def resumed(self, n_facts: int) -> None:
        self.say(f"resumed at {n_facts / self._total:.0%}")

    def advanced(self, n_facts: int, loss: float, epoch: int) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first, self._clock, self._said = n_facts, now, now
        took = now - self._clock
        rate = (n_facts - self._first) / max(took, 1e-9)
        # Training ends with the last epoch or the time budget, whichever comes first.
        share = max(n_facts / self._total, took / self._budget)
        if self.console.is_terminal:
            self._draw(share, f"epoch {epoch}/{self._epochs}  {rate:,.0f} facts/s  loss {loss:.4f}")
        elif rate > 0 and now - self._said > _LINE_SECONDS:
            self._said = now
            left = min((self._total - n_facts) / rate, max(self._budget - took, 0))
            self.say(
                f"epoch {epoch}/{self._epochs}, {share:.0%}, "
                f"{rate:,.0f} facts/s, loss {loss:.4f}, {left:.0f} s left"
            )

    def _draw(self, share: float, text: str) -> None:
        if self._bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self.console, transient=True)
            self._task = self._bar.add_task("", total=1.0)
            self._bar.start()
        self._bar.update(self._task, completed=share, description=text)

    def validated(self, epoch: int, found: Validation, *, best: bool) -> None:
        now = time.monotonic()
        if best and (now - self._said > _LINE_SECONDS or epoch == self._epochs):
            self._said = now
            title = metric_title(found.metric)
            self.say(f"epoch {epoch}: valid {title} {found.value:.4f}, the best so far")


def _in_words(config: TrainConfig) -> str:
    """The settings that matter most, on one line."""
    negatives, up_to = config.negatives, "up to " if config.patience or config.time_budget else ""
    parts = [
        f"{config.model}{' with inverse relations' if config.inverse else ''}",
        f"dim {config.dim}",
        f"{config.loss} loss" + (f" over {counted(negatives, 'negative')}" if negatives else ""),
        *(f"{name} {getattr(config, name):g}" for name in ("l2", "n3") if getattr(config, name)),
        *([f"constraint {config.constraint}"] if config.constraint != "none" else []),
        f"{config.optimizer} {config.rate:g}",
        *([f"batches of {config.batch_size}"] if config.batch_size > 1 else []),
        f"{up_to}{counted(config.epochs, 'epoch')}",
        *([f"{config.time_budget:g} s at most"] if config.time_budget else []),
        f"seed {config.seed}",
    ]
    return ", ".join(parts)
