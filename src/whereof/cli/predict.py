"""`whereof predict`."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

import whereof
from whereof.cli import _options
from whereof.errors import WhereofError
from whereof.events import Events, Note
from whereof.settings import Settings, choice, number
from whereof.units import count, seconds


@dataclass(frozen=True)
class _PredictOptions(Settings):
    top: int | str = number(10, "Number of answers.", "Options", 1, word="all")
    new: bool = choice(False, "Leave out answers known from training or validation.", "Options")


@_options.command("predict", progress=True, tables=(_PredictOptions,))
@_options.run_argument
@click.argument("query", nargs=-1)
@_options.file_option("--history", help="What a new user chose, one item per line.")
@_options.file_option("--queries", help="A file of queries, one per line.")
@_options.file_option("-o", "--out", help="The file for the answers.")
@_options.flag("--force", help="Overwrite a file that exists.")
def command(
    run: "whereof.Run",
    query: tuple[str, ...],
    history: Path | None,
    queries: Path | None,
    out: Path | None,
    force: bool,
    events: Events,
    **settings: Any,
) -> _options.Result:
    r"""Rank the answers to a query, or to a file of queries.

    QUERY is SUBJECT RELATION to ask for objects, _ RELATION OBJECT to ask for subjects (in a run
    trained with --inverse), or a whole triple to see this answer alone. Two-way runs have no
    RELATION. If the name of an entity is _, type '\_'. Ranks skip answers known from training or
    validation; --new leaves them out.

    A file of queries has one query per line, with TABs between names, or commas in a .csv file.
    Whereof checks all lines first. The ending of the output file decides its format: .tsv, .txt,
    .csv or .jsonl, each also with .gz, or .parquet.

    --history ranks items for a user who is not in the data, without retraining. The file has one
    item per line. For a rating model, the rating follows after a TAB, or after a comma in a .csv
    file. QUERY is then empty, or one ITEM.
    """
    if history is not None and queries is not None:
        raise WhereofError("--history and --queries cannot be combined; choose one")
    if history is None and bool(query) == (queries is not None):
        raise WhereofError("give either a QUERY, such as SUBJECT RELATION, or --queries FILE")
    if (queries is None) != (out is None):
        raise WhereofError("--queries requires -o FILE, and -o requires --queries")
    chosen = _PredictOptions(**_options.given(settings))
    asked: Any = {"top": None if chosen.top == "all" else chosen.top, "new": chosen.new}
    if queries is None or out is None:
        found = run.predict(*query, history=history, **asked)
        if run.config.rated and len(found.answers) > 1:
            events.emit(Note("the run predicts ratings; to rank items, train with --loss softmax"))
        return found, partial(_show, run, found)
    written = run.predict_file(queries, out, force=force, events=events, **asked)
    n_answers, n_queries = count(written.n_answers, "answer"), count(written.n_queries, "query")
    said = f"{written.path}: {n_answers} to {n_queries} in {seconds(written.seconds)}"
    return written, partial(click.echo, said)


def _show(run: "whereof.Run", found: Any) -> None:
    from whereof.present.run import answers_table, query_text
    from whereof.present.terminal import console, show

    out = console()
    out.print(query_text(found), style="bold", soft_wrap=True)
    if not found.answers:
        out.print("nothing new: every answer is known from training or validation")
        return
    ratings, scale = run.dataset.ratings, None
    if run.config.rated and ratings is not None:
        scale = float(ratings.train.min()), float(ratings.train.max())
    show(out, answers_table("", found.answers, scale))
