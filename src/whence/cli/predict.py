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
    """Rank the answers to a query.

    QUERY is SUBJECT RELATION to ask for objects, _ RELATION OBJECT to ask for subjects (of a run
    trained with --inverse), or a whole triple to see that one answer. Two-way runs leave RELATION
    out. Answers known from training or validation are shown, but ranks skip them.
    """
    from whence._jit import announced
    from whence.api import Run
    from whence.cli._tables import answers_table, console
    from whence.cli._watch import TerminalWatch

    opened = Run.open(run)
    with announced(TerminalWatch().compiling):
        prediction = opened.predict(*query, top=top).to_dict()
    if as_json:
        print_json(prediction)
    else:
        places = prediction["query"].items()
        names = [name or "?" for place, name in places if name or place == prediction["asks"]]
        console().print(answers_table(" ".join(names), prediction["answers"]))
