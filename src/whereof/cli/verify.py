"""`whereof verify`."""

from functools import partial
from pathlib import Path
from typing import Any

import click

import whereof
from whereof.cli import _options
from whereof.errors import WhereofError
from whereof.retrain.options import EngineOptions, VerifyOptions


@_options.command("verify", progress=True, tables=(VerifyOptions, EngineOptions))
@_options.run_argument
@click.argument("prediction", nargs=-1, required=True)
@_options.file_option("--html", help="Also write the verdict as a page.")
@_options.flag("--force", help="Overwrite FILE if it exists.")
def command(
    run: "whereof.Run", prediction: tuple[str, ...], html: Path | None, force: bool, **settings: Any
) -> _options.Result:
    r"""Retrain without the facts of a prediction, and compare with the estimate.

    PREDICTION is SUBJECT RELATION OBJECT; two-way runs have no RELATION. _ means the top new
    answer; if the name of an entity is _, type '\_'.

    Whereof removes the strongest facts that --method finds, or those that --facts names, all
    together. It retrains the model without them, with the same seed, negatives and order, and
    once with all facts: the control. --each also removes every fact alone. --seeds N repeats all
    of it for N seeds, which shows what is signal and what is chance.

    The run stores finished retrainings: after an interruption, the same command continues where
    it stopped, and asking again costs nothing.
    """
    from whereof.present.terminal import console
    from whereof.present.verdict import show_verdict, verdict_page
    from whereof.run.files import check_free, write_text

    given = _options.given(settings)
    for typed, other in (("facts", "top"), ("top", "facts")):
        if _options.is_typed(typed) and not _options.is_typed(other):
            given.pop(other, None)  # from a file
    if html is not None:
        check_free(html, force=force)
    elif force:
        raise WhereofError("--force overwrites a file: name it with --html")
    verdict = run.verify(*prediction, **given)
    if html is not None:
        write_text(html, verdict_page(verdict), force=force)
        click.echo(f"{html} is written", err=True)
    return verdict, partial(show_verdict, console(), verdict)
