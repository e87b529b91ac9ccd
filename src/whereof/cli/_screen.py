"""What commands share when they speak to people."""

import shutil
import sys
from pathlib import Path
from typing import Any

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


def size(n_bytes: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def counted(n: int | str, noun: str) -> str:
    """`1 fact`, `1,592 facts`, `all entities`."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{f'{n:,}' if isinstance(n, int) else n} {noun if n == 1 else several}"


def ending(info: dict[str, Any], epochs: int) -> str:
    """How training of so many epochs ended, and what was kept of it."""
    trained, best = info["epochs"], info["best_epoch"]
    if info.get("stopped") != "time":
        return f"kept epoch {best} of {trained}" + (", no better since" if best < trained else "")
    cut = info["best_facts"] < best * info["n_facts"]
    kept = f"what was trained of epoch {best}" if cut else f"epoch {best}"
    return f"stopped by the time budget in epoch {trained} of {epochs}; kept {kept}"
