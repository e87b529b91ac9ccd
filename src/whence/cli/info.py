"""`whence info`."""

from pathlib import Path
from typing import Any

import click

from whence.cli._completion import RUN
from whence.cli._options import config_option, json_option, print_json


@click.command("info")
@click.argument("run", type=RUN)
@click.option("--check", is_flag=True, help="Check every file again, changed or not.")
@config_option
@json_option
def command(run: Path, check: bool, as_json: bool) -> None:
    """Show what a run is: data, settings, metrics, files."""
    from whence.api import Run

    opened = Run.open(run, check=check)
    if as_json:
        print_json(opened.info())
    else:
        _show(opened)


def _show(run: Any) -> None:
    from whence.cli._tables import console, metrics_table, table
    from whence.cli._watch import size

    info, out = run.info(), console()
    out.print(
        f"{info['run']}  written {info['created']} by whence {info['whence']}", soft_wrap=True
    )
    for note in info["notes"]:
        out.print(f"note: {note}", soft_wrap=True)
    facts = table("Run", "", "")
    facts.add_row("model", f"{run.model.title}: {run.model.formula}")
    facts.add_row("dataset", info["dataset"])
    for name in ("n_facts", "n_entities", "n_relations", "epochs", "best_epoch", "steps"):
        facts.add_row(name, f"{info[name]:,}")
    facts.add_row("seconds", f"{info['seconds']:.3g}")
    facts.add_row("lipschitz", f"{info['lipschitz']:.2f}")
    for name, share in info["bookkeeping"].items():
        facts.add_row(f"change by {name}", f"{share:.1%}")
    out.print(facts)
    if run.metrics.get("valid") or run.metrics.get("test"):
        out.print(metrics_table(run.metrics))
    settings = table("Settings", "", "")
    for name, value in info["config"].items():
        settings.add_row(name, str(value))
    out.print(settings)
    files = table("Files", "", "size")
    for name, about in info["files"].items():
        files.add_row(name, size(about["bytes"]))
    out.print(files)
