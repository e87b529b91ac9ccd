"""`whereof update`."""

from functools import partial
from pathlib import Path
from typing import Any

import click

import whereof
from whereof.cli import _options
from whereof.events import Events
from whereof.retrain.options import UpdateOptions


@_options.command("update", progress=True, tables=(UpdateOptions,))
@_options.run_argument
@click.argument("facts", type=str)
@_options.new_run
def command(
    run: "whereof.Run", facts: str, out: Path | None, events: Events, **settings: Any
) -> _options.Result:
    """Continue training with new facts, and write a new run.

    FACTS is a file of new facts, in any format that `whereof train` reads. They may contain new
    entities and relations. Training continues from the rows and the optimizer state of RUN. Every
    epoch uses all new facts and some earlier facts. The trace continues too, so explanations cover
    old and new facts.

    RUN does not change. After an interruption, continue with `whereof train --resume`.
    """
    from whereof.present.changed import show_updated
    from whereof.present.terminal import console

    found = run.update(facts, out=out, events=events, **_options.given(settings))
    return found, partial(show_updated, console(), found)
