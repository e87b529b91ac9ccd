"""`whence predict`."""

from pathlib import Path

import click

from whence.cli._options import config_option, json_option, print_json, top_option


@click.command("predict")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("query", nargs=-1, required=True)
@top_option
@config_option
@json_option
def command(run: Path, query: tuple[str, ...], top: int | None, as_json: bool) -> None:
    """Rank the answers to QUERY: SUBJECT RELATION, or _ RELATION OBJECT for subjects.

    Two-way runs leave RELATION out. Answers known from training or validation are shown, but
    ranks skip them. Asking for subjects takes a run trained with --inverse.
    """
    from whence.api import Run
    from whence.cli._tables import answers_table, console

    prediction = Run.open(run).predict(*query, top=top).to_dict()
    if as_json:
        print_json(prediction)
    else:
        names = [name or "?" for name in prediction["query"].values()]
        console().print(answers_table(" ".join(names), prediction["answers"]))
