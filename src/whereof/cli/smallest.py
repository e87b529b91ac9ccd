"""`whereof smallest`."""

from functools import partial
from typing import Any

import click

import whereof
from whereof.cli import _options
from whereof.retrain.options import EngineOptions, SmallestOptions


@_options.command("smallest", progress=True, tables=(SmallestOptions, EngineOptions))
@_options.run_argument
@click.argument("prediction", nargs=-1, required=True)
@_options.flag("--sufficient", help="Find facts that give other entities this answer instead.")
def command(
    run: "whereof.Run", prediction: tuple[str, ...], sufficient: bool, **settings: Any
) -> _options.Result:
    r"""Find the fewest facts whose removal changes the top answer.

    PREDICTION is SUBJECT RELATION OBJECT; two-way runs have no RELATION. _ means the top new
    answer; if the name of an entity is _, type '\_'.

    Whereof searches with the estimates of --method and retrains the model without every set that
    it tries: first single facts, then growing sets until the top answer changes, then smaller
    sets. The result is the smallest set that really changed the answer. It also says whether each
    fact of the set is needed. --budget limits the number of retrainings, or the time.

    --sufficient asks the opposite question: which facts of SUBJECT, given to other entities, make
    the model predict OBJECT for them too? Whereof adds the facts and retrains.

    The run stores finished retrainings: after an interruption, the same command continues where
    it stopped, and asking again costs nothing.
    """
    from whereof.present.smallest import show_smallest, show_sufficient
    from whereof.present.terminal import console

    if sufficient:
        gift = run.sufficient(*prediction, **_options.given(settings))
        return gift, partial(show_sufficient, console(), gift)
    found = run.smallest(*prediction, **_options.given(settings))
    return found, partial(show_smallest, console(), found)
