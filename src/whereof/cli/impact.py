"""`whereof impact`."""

from functools import partial
from typing import Any

import click

import whereof
from whereof.cli import _options
from whereof.events import Events
from whereof.explain.options import ImpactOptions
from whereof.retrain.options import EngineOptions


@_options.command("impact", progress=True, tables=(ImpactOptions, EngineOptions))
@_options.run_argument
@click.argument("fact", nargs=-1, required=True)
def command(
    run: "whereof.Run", fact: tuple[str, ...], events: Events, **settings: Any
) -> _options.Result:
    """Show which predictions a training fact holds up.

    FACT is SUBJECT RELATION OBJECT, also with commas between them, or the id of the fact. Two-way
    runs have no RELATION. To remove several facts together, give their ids, or several texts
    SUBJECT,RELATION,OBJECT. Where numbers can be names or ids, names win: write id:5 for an id.

    Whereof looks at the top new answers to the test queries, and to the queries that the fact
    answers. --predictions names other predictions. Whereof estimates each prediction without the
    fact. By default it uses rollback, which estimates all of them at once.

    --verify also retrains the model twice: without the fact, and with all facts (the control). For
    each listed prediction, it then shows the actual influence beside the estimated one. The run
    stores the retrainings.
    """
    from whereof.present.impact import show_impact
    from whereof.present.terminal import console

    found = run.impact(*fact, events=events, **_options.given(settings))
    can_verify = not run.about.trained_elsewhere
    return found, partial(show_impact, console(), found, can_verify=can_verify)
