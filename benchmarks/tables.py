"""Tables, plain or in markdown, and the machine that they were measured on."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path


@dataclass(frozen=True)
class Report:
    """A title, a table of which the first column is words, and lines below it."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[str] = ()

    def plain(self) -> str:
        widths = [max(map(len, cells)) for cells in zip(self.columns, *self.rows, strict=True)]
        lines = [_aligned(cells, widths) for cells in (self.columns, *self.rows)]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.title, "", *lines, "", *self.notes, ""])

    def markdown(self) -> str:
        rule = ("---", *("---:" for _ in self.columns[1:]))
        lines = [f"| {' | '.join(cells)} |" for cells in (self.columns, rule, *self.rows)]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([f"## {self.title}", "", *lines, "", *notes, ""])


def _aligned(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])


def machine() -> dict[str, str]:
    """What a reader needs to know of where the numbers come from."""
    facts = {"cpu": _cpu(), "cores": str(os.cpu_count()), "python": platform.python_version()}
    for package in ("numpy", "numba", "torch"):
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            facts[package] = "not installed"
    if hasattr(os, "getloadavg"):
        facts["load at start"] = f"{os.getloadavg()[0]:.1f}"
    return facts | {"date": datetime.now(UTC).strftime("%Y-%m-%d")}


def machine_line(facts: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def _cpu() -> str:
    """The model by its marketing name, with the size of its last cache where Linux tells."""
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.processor() or platform.machine()
    fields = dict(
        (part.strip() for part in line.split(":", 1))
        for line in cpuinfo.read_text().splitlines()
        if ":" in line
    )
    cache = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
    size = f" (L3 {cache.read_text().strip()})" if cache.exists() else ""
    return fields.get("model name", platform.machine()) + size
