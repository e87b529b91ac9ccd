"""`whereof evaluate`."""

from pathlib import Path
from typing import Any

import click

from whereof.cli._completion import RUN
from whereof.cli._config import config_option
from whereof.cli._options import (
    ENGINES,
    EVALUATING,
    SettingsCommand,
    json_option,
    print_json,
    setting_options,
)
from whereof.errors import WhereofError

_FILE = click.Path(path_type=Path)


@click.command("evaluate", cls=SettingsCommand)
@click.argument("run", type=RUN)
@click.option("-o", "--out", type=_FILE, metavar="FILE", help="Also every retraining, a row each.")
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@config_option
@json_option
@setting_options(EVALUATING | ENGINES)
def command(run: Path, out: Path | None, force: bool, as_json: bool, **settings: Any) -> None:
    """Remove facts and retrain, over many predictions: how well methods explain a run.

    For every prediction each method names the facts that it owes most to. The model is trained
    again without them, from scratch, with the same seed, negatives and order. PD is the share of
    predictions whose probability falls, TC the share whose top answer changes. --k says how many
    facts are removed; all are those with a positive influence, and random takes as many as
    rollback.

    --predictions top is the top new answer of every query of a split, true the facts of the split,
    and a file has one a line, as whereof explain takes them. --seeds N does the same with runs
    of the next seeds, which are trained once. --protocols adds other ways to evaluate.

    Every retraining is kept in the run: after an interruption the same command goes on where it
    stopped. -o writes them by the ending of FILE: .parquet, or .jsonl, .tsv, .txt or .csv, each
    also with .gz.
    """
    from whereof.api import Run
    from whereof.cli.progress import TerminalEvents
    from whereof.present.evaluation import show_evaluation
    from whereof.present.files import check_retrainings
    from whereof.present.terminal import console

    given = {name: value for name, value in settings.items() if value is not None}
    if out is not None:
        check_retrainings(out, force=force)
    elif force:
        raise WhereofError("--force overwrites a file: name it with -o")
    opened = Run.open(run)
    with TerminalEvents() as events:
        found = opened.evaluate(events=events, **given)
    if out is not None:  # first, since who reads the tables may stop early
        found.to_file(out, force=force)
        click.echo(f"{out} is written", err=True)
    if as_json:
        print_json(found.to_dict())
    else:
        show_evaluation(console(), found)
