"""`whereof report`."""

from pathlib import Path

import click

from whereof.cli._completion import RUN
from whereof.cli._config import config_option
from whereof.cli._options import json_option, print_json

_FILE = click.Path(path_type=Path)


@click.command("report")
@click.argument("run", type=RUN)
@click.option(
    "-o",
    "--out",
    type=_FILE,
    metavar="FILE",
    default="report.html",
    show_default=True,
    help="Where the page goes.",
)
@click.option(
    "--evaluation",
    "evaluations",
    type=_FILE,
    metavar="FILE",
    multiple=True,
    help="Also an evaluation in a JSON file; may be given again.",
)
@click.option(
    "--examples",
    type=int,
    metavar="N",
    default=3,
    show_default=True,
    help="How many predictions are explained.",
)
@click.option("--force", is_flag=True, help="Overwrite that file if it exists.")
@config_option
@json_option
def command(
    run: Path, out: Path, evaluations: tuple[Path, ...], examples: int, force: bool, as_json: bool
) -> None:
    """Write one page of a run, with all that its evaluations found.

    The page says what the run is, how good it is and what its explanations are worth: data,
    settings, metrics, evaluations with charts, and a few predictions explained. Evaluations that
    `whereof evaluate` kept in the run's folder are in it; --evaluation adds others. It needs
    nothing else to be read, and prints well.
    """
    from whereof.api import Run
    from whereof.cli.progress import TerminalEvents

    opened = Run.open(run)
    with TerminalEvents() as events:
        path = opened.report(
            out, evaluations=evaluations, examples=examples, force=force, events=events
        )
    if as_json:
        print_json({"report": str(path)})
    else:
        click.echo(f"{path} is written")
