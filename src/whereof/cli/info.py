"""`whereof info`."""

from pathlib import Path

import click

from whereof.cli._options import RUN, common_options, print_json


@click.command("info")
@click.argument("runs", metavar="RUN...", type=RUN, nargs=-1, required=True)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="With several runs: all settings and metrics.",
)
@click.option("--check", is_flag=True, help="Check every file again, even if it has not changed.")
@common_options
def command(runs: tuple[Path, ...], everything: bool, check: bool, as_json: bool) -> None:
    """Show a run: data, settings, metrics, files.

    Several runs are shown side by side, with the settings that differ. A run that is not finished
    is shown with its progress.
    """
    from whereof.api import Run
    from whereof.present.run import RunInfo, differences, show_run, show_runs
    from whereof.present.terminal import console

    documents = [Run.describe(run, check=check) for run in runs]
    infos = list(map(RunInfo.of, documents))
    if as_json and len(infos) == 1:
        print_json(documents[0])
    elif as_json:
        print_json({"runs": documents, "differences": differences(infos)})
    elif len(infos) == 1:
        state = "" if infos[0].finished else _state(runs[0])
        show_run(console(), infos[0], _model(infos[0].model), state)
    else:
        show_runs(console(), infos, everything=everything)


def _state(run: Path) -> str:
    """Whether a run is being trained, or how to continue it."""
    from whereof.run.files import is_held

    held = is_held(run / ".lock")
    return (
        "another process is training it" if held else f"continue with: whereof train --resume {run}"
    )


def _model(name: str) -> str:
    from whereof.models import find_model

    model = find_model(name)
    return f"{model.title}: {model.formula}"
