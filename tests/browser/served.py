"""The real command `whereof serve`, in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serving(*runs: Path) -> Iterator[str]:
    """Serve runs; the address of the server, without a slash at its end."""
    command = [sys.executable, "-m", "whereof", "serve", *map(str, runs), "--port", "0"]
    with subprocess.Popen([*command, "--no-open"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip().rstrip("/")
        finally:
            server.terminate()
