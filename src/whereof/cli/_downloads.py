"""A look at downloads from the command line: a bar on a terminal, a line now and then elsewhere."""

import time
from importlib.resources.abc import Traversable
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

from whereof.cli._screen import error_console, size
from whereof.data import fetch_dataset

_LINE_SECONDS = 10.0


def show_download(name: str, data_dir: Path | None = None) -> Path | Traversable:
    """The folder of a named dataset; where it has to be downloaded, this is shown."""
    with Downloads() as downloads:
        return fetch_dataset(name, data_dir, downloads.advanced)


class Downloads:
    """Shows how far each address is, on standard error."""

    def __init__(self) -> None:
        self._console = error_console()
        self._bar: Progress | None = None
        self._url = ""
        self._said = time.monotonic()

    def __enter__(self) -> "Downloads":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def advanced(self, url: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if url != self._url:
            self._url, self._said = url, now
            self._console.print(f"downloading {url}")
        if self._console.is_terminal:
            self._draw(done, total)
        elif now - self._said > _LINE_SECONDS:
            self._said = now
            self._console.print(size(done) + (f" of {size(total)}" if total else ""))

    def _draw(self, done: int, total: int | None) -> None:
        if self._bar is None:
            columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.add_task("", total=None)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)
