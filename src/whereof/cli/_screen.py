"""What commands share when they speak to people."""

import shutil
import sys
from pathlib import Path

from rich.console import Console


def error_console() -> Console:
    """Where messages go: standard output is left to results."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def program() -> str:
    """How to call this program here: by its name, or else as it was called."""
    called = Path(sys.argv[0]).absolute()
    if shutil.which("whereof"):
        return "whereof"
    if called.name == "__main__.py":
        return "python -m whereof"
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)
