"""`whereof audit`."""

from functools import partial
from typing import Any

import whereof
from whereof.cli import _options
from whereof.evaluate.options import AuditOptions
from whereof.events import Events
from whereof.retrain.options import EngineOptions


@_options.command("audit", progress=True, tables=(AuditOptions, EngineOptions))
@_options.run_argument
def command(run: "whereof.Run", events: Events, **settings: Any) -> _options.Result:
    """Find suspicious facts, and what helps or harms the model.

    Whereof lists the training facts that look wrong, and the facts that are most responsible for
    wrong answers on held-out facts. It shows the influence of relations, entities, sources and
    groups of entities. It also lists facts that support nothing, relations and entities that repeat
    each other, and facts that break a rule of their relation.

    Influences are estimates. --verify retrains the model without the listed facts, and without each
    listed group, and shows the actual influence. The run stores finished retrainings.
    """
    from whereof.present.audit import show_audit
    from whereof.present.terminal import console

    found = run.audit(events=events, **_options.given(settings))
    return found, partial(show_audit, console(), found)
