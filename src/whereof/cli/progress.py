"""Progress on standard error: bars in a terminal, otherwise a line from time to time."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import Any

from rich import progress as rich

from whereof import events
from whereof.present.metrics import metric_column
from whereof.present.terminal import console
from whereof.units import count, plan_text, seconds, size, sweeps_text

_MANY_EPOCHS = 20
"""Without validation, more epochs than this get a warning."""
_LINE_SECONDS, _LONG_SECONDS = 10.0, 5.0


class TerminalEvents(events.Events, ExitStack):
    """Shows events on standard error. The first Ctrl-C or SIGTERM ends the work cleanly."""

    def __init__(self) -> None:
        super().__init__()
        self.console = console(stderr=True)  # standard output is for results
        self._bar: rich.Progress | None = None
        self._url = self._swept = ""
        self._last_line = time.monotonic()
        self._stop = threading.Event()
        self._rounds = events.Rounds()
        self._compiles = self._handles = False

    def __enter__(self) -> "TerminalEvents":
        from whereof._jit import announced

        self.callback(self._close_bar)
        self.enter_context(announced(partial(self.emit, events.Compiling())))
        self._handle(signal.default_int_handler, signal.SIGTERM)  # a kill is like Ctrl-C
        return self

    def should_stop(self) -> bool:
        return self._stop.is_set()

    def say(self, text: str) -> None:
        with self._survive_closed_terminal():
            self.console.print(text, soft_wrap=True)

    @contextmanager
    def _survive_closed_terminal(self) -> Iterator[None]:
        """Continue if progress cannot be shown, for example because the terminal was closed."""
        try:
            yield
        except (OSError, ValueError):
            self.console.quiet = True

    def emit(self, event: events.Event) -> None:
        with self._survive_closed_terminal():
            self._emit(event)

    def _emit(self, event: events.Event) -> None:
        # From the first of these on, Ctrl-C keeps finished work; before, it ends the process.
        long = isinstance(event, events.TrainingStarted | events.Planned | events.Advanced)
        if long and not self._handles:
            self._handles = True
            self._handle(self._interrupt, signal.SIGINT, signal.SIGTERM)
            if getattr(signal, "SIGHUP", 0) and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
                self._handle(self._interrupt, signal.SIGHUP)  # not under nohup
        match event:
            case events.Note(text):
                self.say(text)
            case events.Compiling() if not self._compiles:
                self._compiles = True
                self.say("compiling kernels: this happens once, and takes seconds to minutes")
            case events.Downloading():
                self._download(event)
            case events.TrainingStarted():
                self._close_bar()
                self.say("\n".join(_start_lines(event)))
            case events.TrainingAdvanced():
                self._train(event)
            case events.Validated(epoch, n_epochs, metric, value, best):
                if best and (epoch == n_epochs or self._is_time()):
                    title = metric_column(metric).title
                    self.say(f"epoch {epoch}: valid {title} {value:.4f}, the best so far")
            case events.Foreseen():
                self._rounds.add(event)
            case events.Planned():
                self._close_bar()
                self._plan(event)
            case events.SweepsPlanned(n_sweeps, duration) if duration >= _LONG_SECONDS:
                self._sweep(sweeps_text(n_sweeps, duration))
            case events.Advanced(n_done, n_total, noun):
                self._show(noun, f"{n_done:,} of {n_total:,} {noun}", n_done, n_total)
                if n_done == n_total:
                    self._close_bar()
            case events.StageStarted(number, n_stages, title):
                self._close_bar()
                self.say(f"{number} of {n_stages}: {title}")

    def _handle(self, handler: Any, *signals: signal.Signals) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in signals:
                self.callback(signal.signal, number, signal.signal(number, handler))

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()
        self.say("finishing the current step; press Ctrl-C again to quit now")
        signal.signal(number, signal.default_int_handler)  # a second one ends the process

    def _plan(self, plan: events.Planned) -> None:
        """If there is an upper bound for all rounds, show only that."""
        whole = self._rounds.add(plan)
        if whole is not None:
            text = plan_text(whole.n_retrainings, whole.seconds, whole.at_once)
            self.say(f"at most {text}")
        elif not self._rounds.several:
            self.say(plan_text(plan.n_retrainings, plan.seconds, plan.at_once, plan.n_known))

    def _sweep(self, text: str) -> None:
        """Many sweeps may cost the same: say it once."""
        if text != self._swept:
            self._swept = text
            self._close_bar()
            self.say(text)

    def _train(self, event: events.TrainingAdvanced) -> None:
        parts = (
            f"epoch {event.epoch}/{event.n_epochs}",
            f"{event.facts_per_second:,.0f} facts/s",
            f"loss {event.loss:.4f}",
        )
        at_most = "at most " if event.may_stop_early else ""
        left = f"{at_most}{seconds(event.seconds_left)} left"
        line = ", ".join((parts[0], f"{event.share:.0%}", *parts[1:], left))
        self._show("training", line, event.share, 1.0, text="  ".join(parts), left=left)

    def _download(self, event: events.Downloading) -> None:
        if event.url != self._url:
            self._url, self._last_line = event.url, time.monotonic()
            self.say(f"downloading {event.url}")
        total = f" of {size(event.n_total)}" if event.n_total else ""
        self._show("bytes", f"{size(event.n_done)}{total}", event.n_done, event.n_total)

    def _is_time(self) -> bool:
        now = time.monotonic()
        if now - self._last_line <= _LINE_SECONDS:
            return False
        self._last_line = now
        return True

    def _show(self, kind: str, line: str, done: float, total: float | None, **fields: Any) -> None:
        """Draw a bar; if this is no terminal, print the line from time to time."""
        if not self.console.is_terminal:
            if self._is_time():
                self.say(line)
            return
        if self._bar is None or kind != self._bar.tasks[0].description:
            self._close_bar()
            self._bar = rich.Progress(*_columns(kind), console=self.console, transient=True)
            self._bar.add_task(kind, total=total, **fields)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total, **fields)

    def _close_bar(self) -> None:
        if self._bar is not None:
            bar, self._bar = self._bar, None
            with self._survive_closed_terminal():
                bar.stop()


def _columns(kind: str) -> tuple[str | rich.ProgressColumn, ...]:
    if kind == "training":
        return "{task.fields[text]}", rich.BarColumn(), "{task.fields[left]}"
    if kind == "bytes":
        return rich.BarColumn(), rich.DownloadColumn(), rich.TransferSpeedColumn()
    return kind, rich.BarColumn(), rich.MofNCompleteColumn(), rich.TimeRemainingColumn()


def _start_lines(event: events.TrainingStarted) -> list[str]:
    lines = [f"note   {note}" for note in event.notes]
    if not event.n_valid and not event.config.get("phases"):
        n_epochs = event.config["epochs"]
        line = f"note   no validation facts: training keeps the last of {count(n_epochs, 'epoch')}"
        if n_epochs > _MANY_EPOCHS:
            line += ", which may overfit and makes later work slow"
        remedies = [] if event.valid_fraction else ["--valid-fraction 0.1 to hold some facts out"]
        remedies += [f"--epochs {_MANY_EPOCHS}"] if n_epochs > _MANY_EPOCHS else []
        lines.append(f"{line}; type {' or '.join(remedies)}" if remedies else line)
    lines += [f"run    {event.run}", f"model  {_config_text(event.config)}"]
    (n_rows, width), n_bytes = event.trace_shape, size(event.trace_bytes)
    where = "memory-mapped" if event.trace_mapped else "in memory"
    trace = f"{count(n_rows, 'fact')} x {width} numbers: {n_bytes}, {where}"
    return [*lines, f"trace  {trace if event.trace_bytes else 'none'}"]


def _epochs_text(config: Any) -> str:
    """How long it trains; for an update, what the new phase trains on."""
    if not config.get("phases"):
        up_to = "up to " if config["patience"] or config["time_budget"] else ""
        return f"{up_to}{count(config['epochs'], 'epoch')}"
    before, phase = config["phases"][-2:]
    n_new, n_earlier = phase["n_facts"] - before["n_facts"], phase["n_replayed"]
    n_epochs = phase["n_trained"] // (n_new + n_earlier)
    facts = f"{count(n_new, 'new fact')} and {count(n_earlier, 'earlier fact')}"
    return f"{count(n_epochs, 'more epoch')}, each on {facts}"


def _config_text(config: Any) -> str:
    negatives, budget = config["negatives"], config["time_budget"]
    parts = [
        f"{config['model']}{' with inverse relations' if config['inverse'] else ''}",
        f"dim {config['dim']}",
        f"{config['loss']} loss" + (f" over {count(negatives, 'negative')}" if negatives else ""),
        *(f"{name} {config[name]:g}" for name in ("l2", "n3") if config[name]),
        f"constraint {config['constraint']}" if config["constraint"] != "none" else "",
        f"{config['optimizer']} {config['rate']:g}",
        f"accumulator {config['accumulator']:g}" if config["accumulator"] else "",
        f"batches of {config['batch_size']}" if config["batch_size"] > 1 else "",
        _epochs_text(config),
        f"{budget:g} s at most" if budget else "",
        f"seed {config['seed']}",
    ]
    return ", ".join(filter(None, parts))
