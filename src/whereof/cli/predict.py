"""`whereof predict`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import whereof
from whereof.cli import _options
from whereof.errors import WhereofError
from whereof.settings import Settings, choice, number


@dataclass(frozen=True)
class _PredictOptions(Settings):
    top: int | str = number(10, "Number of answers.", "Options", 1, "all")
    new: bool = choice(False, "Leave out answers known from training or validation.", "Options")


@_options.command("predict", tables=(_PredictOptions,))
@_options.run_argument
@click.argument("query", nargs=-1)
@_options.file_option("--queries", help="A file of queries, one per line.")
@_options.file_option("-o", "--out", help="The file for the answers.")
@_options.flag("--force", help="Overwrite a file that exists.")
def command(
    run: "whereof.Run",
    query: tuple[str, ...],
    queries: Path | None,
    out: Path | None,
    force: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    r"""Rank the answers to a query, or to a file of them.

    QUERY is SUBJECT RELATION to ask for objects, _ RELATION OBJECT to ask for subjects (in a run
    trained with --inverse), or a whole triple to see this answer alone. Two-way runs have no
    RELATION. An entity named _ is typed '\_'. Answers known from training or validation are
    shown, but ranks skip them; --new leaves them out.

    A file of queries has one query per line, separated by TAB, or by commas in a .csv file. All
    lines are checked first. The ending of the output is its format: .tsv, .txt, .csv or .jsonl,
    each also with .gz, or .parquet.
    """
    from whereof.cli.progress import TerminalEvents

    if bool(query) == (queries is not None):
        raise WhereofError("give either a QUERY, such as SUBJECT RELATION, or --queries FILE")
    if (queries is None) != (out is None):
        raise WhereofError("--queries requires -o FILE, and -o requires --queries")
    chosen = _PredictOptions(**_options.given(settings))
    asked: Any = {"top": None if chosen.top == "all" else chosen.top, "new": chosen.new}
    with TerminalEvents() as events:
        if queries is None or out is None:
            _show(run, run.predict(*query, **asked), as_json)
        else:
            written = run.predict_file(queries, out, force=force, events=events, **asked)
            _report(written, as_json)


def _show(run: "whereof.Run", found: Any, as_json: bool) -> None:
    from whereof.present.run import answers_table, query_text
    from whereof.present.terminal import console, show

    if as_json:
        _options.print_json(found.to_dict())
        return
    out = console()
    out.print(query_text(found), style="bold", soft_wrap=True)
    if found.answers:
        show(out, answers_table("", found.answers, _scale(run)))
    else:
        out.print("nothing new: every answer is known from training or validation")


def _scale(run: "whereof.Run") -> tuple[float, float] | None:
    """The range of the training ratings, for a rating model."""
    ratings = run.dataset.ratings
    if run.config.loss != "squared" or ratings is None:
        return None
    return float(ratings.train.min()), float(ratings.train.max())


def _report(written: Any, as_json: bool) -> None:
    from whereof.units import count, show

    if as_json:
        _options.print_json(written.to_dict())
    else:
        click.echo(
            f"{written.path}: {count(written.n_answers, 'answer')} to "
            f"{count(written.n_queries, 'query')} in {show(written.seconds, 'seconds')}"
        )
