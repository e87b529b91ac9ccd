"""`whence demo`."""

from pathlib import Path

import click

from whence.cli._options import json_option, print_json

_QUERY = ("india", "students")


@click.command("demo")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="Folder of the run  [default: a new one in runs/]",
)
@json_option
def command(out: Path | None, as_json: bool) -> None:
    """Train on the bundled Nations and ask the model something."""
    from whence import api
    from whence.cli._screen import program
    from whence.cli._tables import answers_table, console, metrics_table
    from whence.cli._watch import TerminalWatch

    path = out or api.free_path("demo")
    with TerminalWatch() as watch:
        watch.say("Nations: 1,592 facts between 14 countries, such as (egypt, embassy, usa).")
        run = api.train("nations", out=path, preset="paper", watch=watch)
    prediction = run.predict(*_QUERY, top=5).to_dict()
    if as_json:
        print_json({"train": run.summary(), "predict": prediction})
        return
    screen, whence = console(), program()
    screen.print(metrics_table(run.metrics))
    screen.print()
    screen.print(answers_table("Where do students from india go?", prediction["answers"]))
    screen.print(
        f"\nEvery fact's changes are in {path / 'trace.npy'}. Try next:\n"
        f"  {whence} predict {run.path} israel conferences\n"
        f"  {whence} info {run.path}\n"
        f"  {whence} train YOUR.tsv",
        soft_wrap=True,
    )
