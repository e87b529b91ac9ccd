"""`whereof evaluate`."""

from functools import partial
from pathlib import Path
from typing import Any

import click

import whereof
from whereof.cli import _options
from whereof.errors import WhereofError
from whereof.evaluate.options import EvaluateOptions
from whereof.retrain.options import EngineOptions


@_options.command("evaluate", progress=True, tables=(EvaluateOptions, EngineOptions))
@_options.run_argument
@_options.file_option("-o", "--out", help="Also write all retrainings as rows.")
@_options.flag("--force", help="Overwrite FILE if it exists.")
def command(run: "whereof.Run", out: Path | None, force: bool, **settings: Any) -> _options.Result:
    """Measure how well methods explain a run: remove facts and retrain.

    For every prediction, each method names the most important facts. Whereof retrains the model
    without them, with the same seed, negatives and order. PD is the share of predictions whose
    probability falls, TC the share whose top answer changes. --k is the number of facts to
    remove; all removes every supporting fact.

    --predictions top: the top new answer of every query of a split. true: the facts of the split.
    FILE: one prediction per line. --seeds N repeats all of it for N seeds. --protocols chooses
    other ways to evaluate.

    The run stores every retraining: after an interruption, the same command continues where it
    stopped. The ending of the file for -o decides its format: .parquet, or .jsonl, .tsv, .txt or
    .csv, each also with .gz.
    """
    from whereof.present.files import check_output
    from whereof.present.report import show_evaluation
    from whereof.present.terminal import console

    if out is not None:
        check_output(out, force=force)
    elif force:
        raise WhereofError("--force overwrites a file: name it with -o")
    found = run.evaluate(**_options.given(settings))
    if out is not None:  # first, because the reader of the tables may stop early
        found.to_file(out, force=force)
        click.echo(f"{out} is written", err=True)
    return found, partial(show_evaluation, console(), found)
