"""`whereof paper`."""

from pathlib import Path
from typing import Any

import click

from whereof.cli import _options

_DATASETS = ("nations", "fb15k-237", "movielens")


@click.command("paper", cls=_options.SettingsCommand)
@click.argument("dataset", default="nations", type=click.Choice(_DATASETS))
@click.option(
    "-o", "--out", type=_options.FILE, help="Folder for the results  [default: runs/paper-DATASET]"
)
@click.option(
    "--models", default="distmult,complex", show_default=True, help="Models, separated by commas."
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    help="Number of seeds for each model: 42, 43 and so on  [default: 5 on Nations; else 3 for "
    "distmult with adam-lazy, 1 for the others]",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    help="Number of test predictions, drawn at random  [default: all on Nations, else 100]",
)
@click.option(
    "--time-budget",
    metavar="TIME",
    help="Stop after this time: seconds, or 90s, 10m, 2h. Run the same command again to continue.",
)
@click.option("--data-dir", type=_options.FILE, help="Folder with the named datasets.")
@_options.common_options
@_options.setting_options(_options.ENGINES)
def command(
    dataset: str,
    out: Path | None,
    models: str,
    seeds: int | None,
    limit: int | None,
    time_budget: str | None,
    data_dir: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Reproduce the paper's tables and figures, with ours beside them.

    Trains, explains, removes facts and retrains as the paper did, and writes tables and figures
    into a folder. The cheapest parts come first, and the time they need is shown before the work
    begins. After an interruption, the folder has all finished parts, and the same command
    continues.
    """
    from whereof.cli.progress import TerminalEvents
    from whereof.events import Foreseen, Planned, Without
    from whereof.paper.plan import PaperOptions
    from whereof.paper.write import HOW_TO_READ, reproduce
    from whereof.present.terminal import console, heading, show
    from whereof.retrain.options import EngineOptions

    names = tuple(name for each in models.split(",") if (name := each.strip()))
    engine = EngineOptions(**_options.given(settings))
    asked = PaperOptions(dataset, names, seeds, limit, out, data_dir, engine, time_budget)
    with TerminalEvents() as events:
        paper = reproduce(asked, Without(events, Foreseen, Planned))
    if as_json:
        _options.print_json(paper.to_dict())
        return
    screen = console()
    show(screen, heading(paper.title), *paper.sources, HOW_TO_READ)
    for table in paper.tables:
        show(screen, "", table.table())
    show(screen, heading("In short"), *(f"- {sentence}" for sentence in paper.summary))
    show(screen, "", f"page: {asked.folder / 'paper.html'}")
