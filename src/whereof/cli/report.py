"""`whereof report`."""

from pathlib import Path

import click

from whereof.cli._options import FILE, RUN, common_options, print_json


@click.command("report")
@click.argument("run", type=RUN)
@click.option(
    "-o",
    "--out",
    type=FILE,
    metavar="FILE",
    default="report.html",
    show_default=True,
    help="The page to write.",
)
@click.option(
    "--evaluation",
    "evaluations",
    type=FILE,
    metavar="FILE",
    multiple=True,
    help="Add an evaluation from a JSON file; may be repeated.",
)
@click.option(
    "--examples",
    type=int,
    metavar="N",
    default=3,
    show_default=True,
    help="Number of predictions to explain.",
)
@click.option("--force", is_flag=True, help="Overwrite a file that exists.")
@common_options
def command(
    run: Path, out: Path, evaluations: tuple[Path, ...], examples: int, force: bool, as_json: bool
) -> None:
    """Write one HTML page about a run and its evaluations.

    The page has the data, settings and metrics, all evaluations with charts, and some predictions
    explained. Evaluations by `whereof evaluate` are in the run's folder; --evaluation adds others.
    The page is one file without links to others.
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
