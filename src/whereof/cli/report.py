"""`whereof report`."""

from functools import partial
from pathlib import Path
from typing import Any

import click

import whereof
from whereof.cli import _options


@_options.command("report", progress=True)
@_options.run_argument
@_options.file_option(
    "-o",
    "--out",
    default="report.html",
    show_default=True,
    help="The page to write (.html, .htm, .md).",
)
@_options.file_option(
    "--evaluation",
    "evaluations",
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
@_options.flag("--force", help="Overwrite a file that exists.")
def command(run: "whereof.Run", out: Path, **options: Any) -> _options.Result:
    """Write one page about a run and its evaluations, as HTML or Markdown.

    The page has the data, settings and metrics, all evaluations with charts, and the explanations
    of some predictions. It shows the evaluations that `whereof evaluate` stored in the run;
    --evaluation adds others. The page is one file that needs no other file. If its name ends in
    .md, it is Markdown, with metrics and evaluations but without charts.
    """
    path = run.report(out, **options)
    return {"report": str(path)}, partial(click.echo, f"{path} is written")
