"""Reports of benchmarks: tables, notes, and the machine that they were measured on."""

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from io import StringIO
from pathlib import Path

# Whereof is imported in the functions that need it: the memory benchmarks start small processes,
# and a process inherits the peak memory of its parent.


_LOAD = {"load at start": f"{os.getloadavg()[0]:.1f}"} if hasattr(os, "getloadavg") else {}


@dataclass(frozen=True)
class Report:
    """A title, a table whose first column is text, and notes below it."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[str] = ()

    def text(self, *, markdown: bool = False) -> str:
        from rich.console import Console

        from whereof.present import terminal
        from whereof.table import Cell, Column, Table

        units = ("text", *["number"] * (len(self.columns) - 1))
        columns = [Column(name, name, unit) for name, unit in zip(self.columns, units, strict=True)]
        rows = [[Cell(cell, "text") for cell in row] for row in self.rows]
        table = Table("report", self.title, columns, rows)
        bullet = "- " if markdown else ""
        notes = "".join(f"{bullet}{note}\n" for note in self.notes)
        if markdown:
            return f"{terminal.markdown(table)}\n{notes}"
        screen = Console(file=StringIO())
        terminal.show(screen, table)
        return f"{screen.file.getvalue()}\n{notes}"  # type: ignore[attr-defined]


def publish(*reports: Report, markdown: bool = False) -> None:
    """Print the command, the machine, and the reports."""
    script, *arguments = sys.argv
    command = " ".join(["python", f"benchmarks/{Path(script).name}", *arguments])
    print(f"`{command}` on {machine_line(machine())}\n")
    for report in reports:
        print(report.text(markdown=markdown))


def machine() -> dict[str, str]:
    """The processor, the versions of packages, the load and the date."""
    facts = {"cpu": _cpu(), "cores": str(os.cpu_count()), "python": platform.python_version()}
    for package in ("numpy", "numba", "torch"):
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            facts[package] = "not installed"
    return facts | _LOAD | {"date": datetime.now(UTC).strftime("%Y-%m-%d")}


def machine_line(facts: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def peak_memory() -> int:
    """The most bytes that this process had in memory."""
    import resource  # Unix only

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _cpu() -> str:
    """The name of the processor, and on Linux the size of its last-level cache."""
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
