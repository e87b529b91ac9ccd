"""Commands as a user types them."""

import io
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import whereof as library
from whereof.cli import main

PROGRAM = str(Path(library.__file__).with_name("__main__.py"))


def whereof(
    *arguments: str, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, where kernels are loaded; return its output and exit code."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    numbers = (signal.SIGINT, signal.SIGTERM)
    kept = {number: signal.getsignal(number) for number in numbers}
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, env))
        stack.enter_context(patch.object(sys, "argv", [PROGRAM, *arguments]))
        stack.enter_context(chdir(cwd or Path.cwd()))
        stack.enter_context(redirect_stdout(streams[0]))
        stack.enter_context(redirect_stderr(streams[1]))
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
    return subprocess.CompletedProcess(arguments, code, *map(_written, streams))


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def whereof_process(
    *arguments: str, cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in its own process."""
    return subprocess.run(
        [sys.executable, "-m", "whereof", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | env,
    )
