"""Progress on standard error: bars in a terminal, otherwise a line from time to time."""

import signal
import threading
import time
from contextlib import ExitStack
from functools import partial
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from whereof.events import (
    Advanced,
    Compiling,
    Downloading,
    Event,
    Events,
    Foreseen,
    Note,
    Planned,
    StageStarted,
    TrainingAdvanced,
    TrainingStarted,
    Validated,
)
from whereof.present.metrics import metric_column
from whereof.units import count as counted
from whereof.units import size

_BAR_SECONDS, _LINE_SECONDS = 0.1, 10.0
_COLUMNS: dict[str, tuple[ProgressColumn, ...]] = {
    "training": (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}")),
    "bytes": (BarColumn(), DownloadColumn(), TransferSpeedColumn()),
}


class TerminalEvents(Events):
    """Shows events on standard error. The first Ctrl-C or SIGTERM ends the work cleanly."""

    def __init__(self) -> None:
        # Standard output is for results.
        self.console = Console(
            stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True
        )
        self._stack = ExitStack()
        self._bar: Progress | None = None
        self._bar_kind = self._url = ""
        self._last_line = self._drawn = time.monotonic()
        self._stop = threading.Event()
        self._handlers: dict[int, Any] = {}
        self._n_foreseen: int | None = None  # 0 once it was shown
        self._once: set[str] = set()

    def __enter__(self) -> "TerminalEvents":
        from whereof._jit import announced

        self._stack.enter_context(announced(partial(self.emit, Compiling())))
        self._handle({signal.SIGTERM: signal.default_int_handler})  # a kill is like Ctrl-C
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._close_bar()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def should_stop(self) -> bool:
        return self._stop.is_set()

    def say(self, text: str) -> None:
        self.console.print(text)

    def emit(self, event: Event) -> None:
        match event:
            case Note(text):
                self.say(text)
            case Compiling():
                self._say_once("compiling kernels, the first time only; this takes half a minute")
            case Downloading():
                self._download(event)
            case TrainingStarted():
                self._take_signals()
                self._close_bar()
                for line in start_lines(event):
                    self.say(line)
            case TrainingAdvanced():
                self._train(event)
            case Validated():
                self._validate(event)
            case Foreseen(n_retrainings):
                self._n_foreseen = n_retrainings
            case Planned():
                self._take_signals()
                self._close_bar()
                self._plan(event)
            case Advanced():
                self._take_signals()
                self._advance(event)
            case StageStarted(number, n_stages, title):
                self._close_bar()
                self.say(f"{number} of {n_stages}: {title}")

    def _say_once(self, text: str) -> None:
        if text not in self._once:
            self._once.add(text)
            self.say(text)

    def _take_signals(self) -> None:
        """From now on, Ctrl-C keeps finished work; before, it ends the process immediately."""
        if signal.SIGINT not in self._handlers:
            self._handle(dict.fromkeys((signal.SIGINT, signal.SIGTERM), self._interrupt))

    def _handle(self, handlers: dict[signal.Signals, Any]) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                self._handlers.setdefault(number, signal.signal(number, handler))

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()
        self.say("finishing the current step; press Ctrl-C again to quit now")
        signal.signal(number, signal.default_int_handler)  # a second one ends the process

    def _plan(self, plan: Planned) -> None:
        """If there is an upper bound for all rounds, show only that."""
        if self._n_foreseen is None:
            self.say(plan_text(plan.n_retrainings, plan.seconds, plan.at_once, plan.n_known))
        elif self._n_foreseen:
            mine, whole = (-(-n // plan.at_once) for n in (plan.n_retrainings, self._n_foreseen))
            text = plan_text(self._n_foreseen, plan.seconds / mine * whole, plan.at_once)
            self.say(f"at most {text}")
            self._n_foreseen = 0

    def _advance(self, event: Advanced) -> None:
        if self.console.is_terminal:
            self._draw(event.noun, event.n_done, event.n_total)
        elif self._is_time():
            self.say(f"{event.n_done:,} of {event.n_total:,} {event.noun}")
        if event.n_done == event.n_total:
            self._close_bar()

    def _train(self, event: TrainingAdvanced) -> None:
        rate = f"{event.facts_per_second:,.0f} facts/s"
        epoch, loss = f"epoch {event.epoch}/{event.n_epochs}", f"loss {event.loss:.4f}"
        at_most = "at most " if event.may_stop_early else ""
        left = f"{at_most}{time_text(event.seconds_left)} left"
        if self.console.is_terminal:
            self._draw("training", event.share, 1.0, f"{epoch}  {rate}  {loss}", left=left)
        elif self._is_time():
            self.say(f"{epoch}, {event.share:.0%}, {rate}, {loss}, {left}")

    def _validate(self, event: Validated) -> None:
        if event.best and (event.epoch == event.n_epochs or self._is_time()):
            title = metric_column(event.metric).title
            self.say(f"epoch {event.epoch}: valid {title} {event.value:.4f}, the best so far")

    def _download(self, event: Downloading) -> None:
        if event.url != self._url:
            self._url, self._last_line = event.url, time.monotonic()
            self.say(f"downloading {event.url}")
        if self.console.is_terminal:
            self._draw("bytes", event.n_done, event.n_total)
        elif self._is_time():
            total = f" of {size(event.n_total)}" if event.n_total else ""
            self.say(f"{size(event.n_done)}{total}")

    def _is_time(self) -> bool:
        """Whether enough time has passed since the last line."""
        now = time.monotonic()
        if now - self._last_line <= _LINE_SECONDS:
            return False
        self._last_line = now
        return True

    def _draw(
        self, kind: str, n_done: float, n_total: float | None, text: str = "", **fields: Any
    ) -> None:
        now = time.monotonic()
        if self._bar is None or kind != self._bar_kind:
            self._close_bar()
            counts = (TextColumn(kind), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            columns = _COLUMNS.get(kind, counts)
            self._bar = Progress(*columns, console=self.console, transient=True)
            self._bar_kind = kind
            self._bar.add_task(text, total=n_total, **fields)
            self._bar.start()
        elif now - self._drawn < _BAR_SECONDS:
            return
        self._drawn, task = now, self._bar.task_ids[0]
        self._bar.update(task, completed=n_done, total=n_total, description=text, **fields)

    def _close_bar(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def start_lines(event: TrainingStarted) -> list[str]:
    """Lines to print before the first step: notes, run, model and trace."""
    lines = [f"note   {note}" for note in event.notes]
    if not event.n_valid:
        lines.append(
            "note   no validation facts: the last epoch is kept; hold some facts out with "
            "--valid-fraction 0.1"
        )
    lines += [f"run    {event.run}", f"model  {_config_text(event.config)}"]
    if not event.trace_bytes:
        return [*lines, "trace  none"]
    n_rows, width = event.trace_shape
    where = "memory-mapped" if event.trace_mapped else "in memory"
    trace = f"{counted(n_rows, 'fact')} x {width} numbers: {size(event.trace_bytes)}, {where}"
    return [*lines, f"trace  {trace}"]


def _config_text(config: Any) -> str:
    """The most important settings, on one line."""
    negatives, budget = config["negatives"], config["time_budget"]
    up_to = "up to " if config["patience"] or budget else ""
    parts = [
        f"{config['model']}{' with inverse relations' if config['inverse'] else ''}",
        f"dim {config['dim']}",
        f"{config['loss']} loss" + (f" over {counted(negatives, 'negative')}" if negatives else ""),
        *(f"{name} {config[name]:g}" for name in ("l2", "n3") if config[name]),
        *([f"constraint {config['constraint']}"] if config["constraint"] != "none" else []),
        f"{config['optimizer']} {config['rate']:g}",
        *([f"batches of {config['batch_size']}"] if config["batch_size"] > 1 else []),
        f"{up_to}{counted(config['epochs'], 'epoch')}",
        *([f"{budget:g} s at most"] if budget else []),
        f"seed {config['seed']}",
    ]
    return ", ".join(parts)


def plan_text(n_retrainings: int, seconds: float, at_once: int, n_known: int = 0) -> str:
    """Such as `11 retrainings, 2 at a time, about 1.4 s; 3 more are stored already`."""
    parts = [counted(n_retrainings, "retraining")]
    if n_retrainings > 1 and at_once > 1:
        parts.append(f"{min(at_once, n_retrainings)} at a time")
    parts.append("less than a second" if seconds < 1 else f"about {time_text(seconds)}")
    known = (
        f"; {n_known:,} more {'is' if n_known == 1 else 'are'} stored already" if n_known else ""
    )
    return ", ".join(parts) + known


def time_text(seconds: float) -> str:
    """A duration in seconds, minutes or hours, with two digits or as a whole number."""
    size, unit = next(
        ((size, unit) for size, unit in ((3600, "h"), (60, "min")) if seconds >= 2 * size),
        (1, "s"),
    )
    amount = seconds / size
    return f"{amount:.2g} {unit}" if amount < 99 else f"{amount:,.0f} {unit}"
