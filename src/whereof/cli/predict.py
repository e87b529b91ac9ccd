"""`whereof predict`."""

from pathlib import Path
from typing import Any

import click

from whereof.cli._options import FILE, RUN, common_options, print_json, top_option
from whereof.errors import WhereofError


@click.command("predict")
@click.argument("run", type=RUN)
@click.argument("query", nargs=-1)
@click.option("--queries", type=FILE, metavar="FILE", help="A file of queries, one per line.")
@click.option("-o", "--out", type=FILE, metavar="FILE", help="The file for the answers.")
@click.option("--force", is_flag=True, help="Overwrite a file that exists.")
@top_option
@click.option("--new", is_flag=True, help="Leave out answers known from training or validation.")
@common_options
def command(
    run: Path, query: tuple[str, ...], top: int | str, new: bool, as_json: bool, **files: Any
) -> None:
    """Rank the answers to a query, or to a file of them.

    QUERY is SUBJECT RELATION to ask for objects, _ RELATION OBJECT to ask for subjects (in a run
    trained with --inverse), or a whole triple to see this answer alone. Two-way runs have no
    RELATION. Answers known from training or validation are shown, but ranks skip them; --new
    leaves them out.

    A file of queries has one query per line, separated by TAB, or by commas in a .csv file. All
    lines are checked first. The ending of the output is its format: .tsv, .txt, .csv or .jsonl,
    each also with .gz, or .parquet.
    """
    from whereof.api import Run
    from whereof.cli.progress import TerminalEvents

    _check(query, files["queries"], files["out"])
    opened = Run.open(run)
    number = None if isinstance(top, str) else top
    with TerminalEvents() as events:
        if query:
            _show(opened, opened.predict(*query, top=number, new=new), as_json)
        else:
            _answer_file(opened, as_json, top=number, new=new, events=events, **files)


def _check(query: tuple[str, ...], queries: Path | None, out: Path | None) -> None:
    if bool(query) == (queries is not None):
        raise WhereofError("give either a QUERY, such as SUBJECT RELATION, or --queries FILE")
    if (queries is None) != (out is None):
        raise WhereofError("--queries requires -o FILE, and -o requires --queries")


def _show(run: Any, found: Any, as_json: bool) -> None:
    from whereof.present.run import answers_table, query_text
    from whereof.present.terminal import console, show

    if as_json:
        print_json(found.to_dict())
        return
    out = console()
    out.print(query_text(found), style="bold", soft_wrap=True)
    if found.answers:
        show(out, answers_table("", found.answers, _scale(run)))
    else:
        out.print("nothing new: every answer is known from training or validation")


def _scale(run: Any) -> tuple[float, float] | None:
    """The range of the training ratings, for a rating model."""
    if run.config.loss != "squared":
        return None
    ratings = run.dataset.ratings.train
    return float(ratings.min()), float(ratings.max())


def _answer_file(run: Any, as_json: bool, **asked: Any) -> None:
    from whereof.units import count, show

    written = run.predict_file(**asked)
    if as_json:
        print_json(written.to_dict())
    else:
        click.echo(
            f"{written.path}: {count(written.n_answers, 'answer')} to "
            f"{count(written.n_queries, 'query')} in {show(written.seconds, 'seconds')}"
        )
