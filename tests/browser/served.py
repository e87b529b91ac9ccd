"""The real command `whereof serve`, in a process of its own."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serving(*runs: Path) -> Iterator[str]:
    """Serve runs; the address of the server, without a slash at its end.

    A server that ends too early fails the test with what it said last.
    """
    command = [sys.executable, "-X", "faulthandler", "-m", "whereof", "serve", *map(str, runs)]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            [*command, "--port", "0", "--no-open"], stdout=subprocess.PIPE, stderr=log, text=True
        ) as server,
    ):
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip().rstrip("/")
        finally:
            ended = server.poll()
            server.terminate()
            log.seek(0)
            said = log.read()
        assert ended is None, f"the server ended with {ended}: {said[-4000:]}"
