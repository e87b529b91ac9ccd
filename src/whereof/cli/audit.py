"""`whereof audit`."""

from functools import partial
from pathlib import Path
from typing import Any

import click

import whereof
from whereof.cli import _options
from whereof.errors import WhereofError
from whereof.evaluate.options import AuditOptions
from whereof.events import Events
from whereof.retrain.options import EngineOptions


@_options.command("audit", progress=True, tables=(AuditOptions, EngineOptions))
@_options.run_argument
@_options.file_option("-o", "--out", help="Also write the suspicious facts as rows.")
@_options.flag("--force", help="Overwrite FILE if it exists.")
def command(
    run: "whereof.Run", out: Path | None, force: bool, events: Events, **settings: Any
) -> _options.Result:
    """Find suspicious facts, and what helps or harms the model.

    Whereof lists the training facts that look wrong, and the facts that are most responsible for
    wrong answers on held-out facts. Of relations, entities, sources and groups of entities, it
    lists those that help the model most, and those that harm it most. It also lists facts that
    support nothing, relations and entities that repeat each other, and facts that break a rule of
    their relation.

    Influences are estimates. --verify retrains the model without the listed facts, and without each
    listed group, and shows the actual influence. The run stores finished retrainings.

    -o writes the suspicious facts to a file, which `whereof unlearn` reads. The ending of the file
    decides its format: .parquet, or .jsonl, .tsv, .txt or .csv, each also with .gz.
    """
    from whereof.present.audit import show_audit
    from whereof.present.files import check_output
    from whereof.present.terminal import console

    if out is not None:
        check_output(out, force=force)
    elif force:
        raise WhereofError("--force overwrites a file: name it with -o")
    found = run.audit(events=events, **_options.given(settings))
    if out is not None:
        found.to_file(out, force=force)
        click.echo(f"{out} is written", err=True)
    can_verify = not run.about.trained_elsewhere
    return found, partial(show_audit, console(), found, can_verify=can_verify)
