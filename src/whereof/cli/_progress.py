"""How far a long command is: a bar on a terminal, now and then a line elsewhere."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from whereof.cli._screen import error_console

Tell = Callable[[int, int], None]
"""Takes how many are done, and of how many."""

_BAR_SECONDS, _LINE_SECONDS = 0.1, 10.0


@contextmanager
def progress(noun: str) -> Iterator[Tell]:
    """Show progress while inside, where a polite kill acts like Ctrl-C."""
    screen = error_console()
    with _kill_as_interrupt():
        if screen.is_terminal:
            columns = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            with Progress(*columns, console=screen, transient=True) as bar:
                task = bar.add_task("", total=None)
                yield _seldom(
                    _BAR_SECONDS, lambda n, total: bar.update(task, completed=n, total=total)
                )
        else:
            yield _seldom(
                _LINE_SECONDS, lambda n, total: screen.print(f"{n:,} of {total:,} {noun}")
            )


def _seldom(seconds: float, tell: Tell) -> Tell:
    """Pass on no more than one call in so many seconds."""
    said = time.monotonic()

    def maybe(n: int, total: int) -> None:
        nonlocal said
        if time.monotonic() - said > seconds:
            said = time.monotonic()
            tell(n, total)

    return maybe


@contextmanager
def _kill_as_interrupt() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
