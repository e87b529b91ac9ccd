"""`whereof paper`."""

from typing import Any

import click

from whereof.cli import _options
from whereof.events import Events, Foreseen, Planned, SweepsPlanned, Without
from whereof.paper.plan import DATASETS, PaperOptions
from whereof.retrain.options import EngineOptions


@_options.command("paper", progress=True, tables=(PaperOptions, EngineOptions))
@click.argument("dataset", default="nations", type=_options.Choice(tuple(DATASETS)))
def command(dataset: str, events: Events, **settings: Any) -> _options.Result:
    """Reproduce the paper's tables and figures, with ours beside them.

    Whereof trains, explains, removes facts and retrains as in the paper, and writes tables and
    figures into a folder. First it prints how long each part takes. The cheapest parts come first.
    After an interruption, the folder has all finished parts, and the same command continues.
    """
    from whereof.paper.write import HOW_TO_READ, reproduce
    from whereof.present.terminal import console, heading, show

    given = _options.given(settings)
    asked = PaperOptions(dataset=dataset, engine=EngineOptions.take(given), **given)
    paper = reproduce(asked, Without(events, Foreseen, Planned, SweepsPlanned))

    def print_tables() -> None:
        screen = console()
        show(screen, heading(paper.title), *paper.sources, HOW_TO_READ)
        for table in paper.tables:
            show(screen, "", table.table())
        show(screen, heading("In short"), *(f"- {sentence}" for sentence in paper.summary))
        show(screen, "", f"page: {asked.folder / 'paper.html'}")

    return paper, print_tables
