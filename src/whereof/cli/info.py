"""`whereof info`."""

from pathlib import Path

import click

from whereof.cli import _options


@_options.command("info")
@click.argument("runs", metavar="RUN...", type=_options.RUN, nargs=-1, required=True)
@_options.flag("--all", "everything", help="With several runs: all settings and metrics.")
@_options.flag("--check", help="Check every file again, even if it has not changed.")
def command(runs: tuple[Path, ...], everything: bool, check: bool, as_json: bool) -> None:
    """Show a run: data, settings, metrics, files.

    Several runs are shown side by side, with the settings that differ. A run that is not finished
    is shown with its progress.
    """
    from whereof.api import Run
    from whereof.present.run import differences, show_run, show_runs
    from whereof.present.terminal import console

    infos = [Run.open(run, check=check, unfinished=True).about for run in runs]
    if as_json and len(infos) == 1:
        _options.print_json(infos[0].to_dict())
    elif as_json:
        documents = [info.to_dict() for info in infos]
        _options.print_json({"runs": documents, "differences": differences(infos)})
    elif len(infos) == 1:
        state = "" if infos[0].finished else _state(runs[0])
        show_run(console(), infos[0], _model(infos[0].model), state)
    else:
        show_runs(console(), infos, everything=everything)


def _state(run: Path) -> str:
    """Whether a run is being trained, or how to continue it."""
    from whereof.run.files import is_held

    if is_held(run / ".lock"):
        return "another process is training it"
    return f"continue with: whereof train --resume {run}"


def _model(name: str) -> str:
    from whereof.models import find_model

    model = find_model(name)
    return f"{model.title}: {model.formula}"
