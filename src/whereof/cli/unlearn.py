"""`whereof unlearn`."""

from functools import partial
from pathlib import Path
from typing import Any

import click

import whereof
from whereof.cli import _options
from whereof.events import Events
from whereof.retrain.options import UnlearnOptions


@_options.command("unlearn", progress=True, tables=(UnlearnOptions,))
@_options.run_argument
@click.argument("facts", nargs=-1)
@_options.new_run
def command(
    run: "whereof.Run", facts: tuple[str, ...], out: Path | None, events: Events, **settings: Any
) -> _options.Result:
    """Make a new run without some facts.

    FACTS are the words of one fact, SUBJECT RELATION OBJECT; texts such as SUBJECT,RELATION,OBJECT;
    ids; or files of facts, such as one that `whereof audit -o` writes. Two-way runs have no
    RELATION. Where numbers can be names or ids, names win: write id:5 for an id. --entity and
    --source choose all facts of an entity or of a source.

    Whereof removes the facts from the data and the trace of the new run, and subtracts from its
    rows what they changed. It also removes entities and relations that have no other fact.

    Unlearning is approximate. Whereof also retrains the model once from scratch without the facts,
    and shows how far the new run is from the retrained model. --no-measure skips this. RUN does not
    change.
    """
    from whereof.present.changed import show_unlearned
    from whereof.present.terminal import console

    found = run.unlearn(*facts, out=out, events=events, **_options.given(settings))
    return found, partial(show_unlearned, console(), found)
