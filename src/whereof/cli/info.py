"""`whereof info`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from whereof.cli._completion import RUN
from whereof.cli._config import config_option
from whereof.cli._options import json_option, print_json


@click.command("info")
@click.argument("runs", metavar="RUN...", type=RUN, nargs=-1, required=True)
@click.option(
    "--all", "everything", is_flag=True, help="Of several runs, equal settings and all metrics too."
)
@click.option("--check", is_flag=True, help="Check every file again, changed or not.")
@config_option
@json_option
def command(runs: tuple[Path, ...], everything: bool, check: bool, as_json: bool) -> None:
    """Show what a run is: data, settings, metrics, files.

    Several runs are shown side by side, with the settings that differ. A run that is not finished
    is shown as far as it has come.
    """
    from whereof.api import Run
    from whereof.cli._compare import differences

    infos = [Run.describe(run, check=check) for run in runs]
    if not as_json:
        _show(infos[0]) if len(infos) == 1 else _compare(infos, everything)
    elif len(infos) == 1:
        print_json(infos[0])
    else:
        print_json({"runs": infos, "differences": differences(infos)})


def _compare(infos: Sequence[dict[str, Any]], everything: bool) -> None:
    from whereof.cli._compare import comparison_notes, comparison_tables
    from whereof.cli._tables import console

    out = console()
    for made in comparison_tables(infos, everything=everything, width=out.width):
        out.print(made)
        out.print()
    for note in comparison_notes(infos, everything=everything):
        out.print(note, soft_wrap=True)


def _show(info: dict[str, Any]) -> None:
    from whereof.cli._screen import size
    from whereof.cli._tables import console, metrics_table, table

    out = console()
    out.print(
        f"{info['run']}  written {info['created']} by whereof {info['whereof']}", soft_wrap=True
    )
    if not info["finished"]:
        out.print(f"not finished; {_going(Path(info['run']))}", soft_wrap=True)
    for note in info["notes"]:
        out.print(f"note: {note}", soft_wrap=True)
    out.print(_about(info))
    if any(info["metrics"].values()):
        out.print(metrics_table(info["metrics"]))
    settings = table("Settings", "", "")
    for name, value in info["config"].items():
        settings.add_row(name, str(value))
    out.print(settings)
    files = table("Files", "", "size")
    for name, about in info["files"].items():
        files.add_row(name, size(about["bytes"]))
    out.print(files)


def _going(run: Path) -> str:
    """Who goes on with a run, or how to."""
    from whereof.run._files import is_held

    held = is_held(run / ".lock")
    return "another process trains it" if held else f"go on with: whereof train --resume {run}"


def _about(info: dict[str, Any]) -> Any:
    from whereof.cli._screen import ending
    from whereof.cli._tables import COUNTS, number, table
    from whereof.models import find_model

    model = find_model(info["model"])
    facts = table("Run", "", "")
    facts.add_row("model", f"{model.title}: {model.formula}")
    facts.add_row("dataset", info["dataset"])
    read = info["read"] | info["read"].get("read_as", {})
    for name in (name for name in read if name != "read_as"):
        facts.add_row("read from" if name == "data" else f"  {name}", str(read[name]))
    for name in COUNTS:
        facts.add_row(name, number(info[name]))
    facts.add_row("sources", "yes" if "sources.json" in info["files"] else "no")
    if info["finished"]:
        facts.add_row("ended", ending(info, info["config"]["epochs"]))
        facts.add_row("lipschitz", f"{info['lipschitz']:.2f}")
        for name, share in info["bookkeeping"].items():
            facts.add_row(f"change by {name}", f"{share:.1%}")
    return facts
