"""`whereof info`."""

from functools import partial
from pathlib import Path

import click

from whereof.cli import _options


@_options.command("info")
@click.argument("runs", metavar="RUN...", type=_options.RUN, nargs=-1, required=True)
@_options.flag("--all", "everything", help="With several runs: all settings and metrics.")
@_options.flag("--check", help="Check every file again, even if it has not changed.")
def command(runs: tuple[Path, ...], everything: bool, check: bool) -> _options.Result:
    """Show a run: data, settings, metrics, files.

    Whereof shows several runs side by side, with the settings that differ. For a run that is not
    finished, it shows the progress.
    """
    from whereof.api.run import Run
    from whereof.models import describe_model
    from whereof.present.run import differences, show_run, show_runs
    from whereof.present.terminal import console
    from whereof.run.files import is_held

    infos = [Run.open(run, check=check, unfinished=True).about for run in runs]
    if len(infos) > 1:
        documents = {"runs": [info.to_dict() for info in infos], "differences": differences(infos)}
        return documents, partial(show_runs, console(), infos, everything=everything)
    state = ""
    if not infos[0].finished:
        state = f"continue with: whereof train --resume {runs[0]}"
        if is_held(runs[0] / ".lock"):
            state = "another process is training it"
    about = describe_model(infos[0].model)
    return infos[0], partial(show_run, console(), infos[0], about, state)
