"""`whereof paper`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whereof.cli._config import config_option
from whereof.cli._options import (
    ENGINES,
    SettingsCommand,
    json_option,
    print_json,
    setting_options,
)

if TYPE_CHECKING:
    from whereof.paper import PaperOptions

_DATASETS = ("nations", "fb15k-237", "movielens")
_PATH = click.Path(path_type=Path)


@click.command("paper", cls=SettingsCommand)
@click.argument("dataset", default="nations", type=click.Choice(_DATASETS))
@click.option(
    "-o", "--out", type=_PATH, help="Folder of all that is made  [default: runs/paper-DATASET]"
)
@click.option("--models", default="distmult,complex", show_default=True, help="By commas.")
@click.option(
    "--seeds",
    type=click.IntRange(1),
    help="Of every model: 42, 43 and so on  [default: 5 of Nations; else 3 of distmult with "
    "adam-lazy, 1 of others]",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    help="Only so many test predictions, drawn at random  [default: all of Nations, else 100]",
)
@click.option(
    "--time-budget",
    metavar="TIME",
    help="Seconds, or such as 90s, 10m, 2h, after which it stops; the same command goes on.",
)
@click.option("--data-dir", type=_PATH, help="Where named datasets lie.")
@config_option
@json_option
@setting_options(ENGINES)
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
    """Reproduce the paper's tables and figures, ours beside its own.

    Trains, explains, removes facts and retrains as the paper did, on Nations by default, and
    writes tables and figures into a folder, the cheapest first. What it will take is said before
    it begins. After an interruption the folder has what is finished, and the same command goes on.
    """
    from whereof.paper import PaperOptions
    from whereof.retrain import EngineOptions

    names = tuple(name for each in models.split(",") if (name := each.strip()))
    engine = EngineOptions(**{name: value for name, value in settings.items() if value is not None})
    asked = PaperOptions(
        dataset=dataset,
        models=names,
        seeds=seeds,
        limit=limit,
        out=out,
        data_dir=data_dir,
        engine=engine,
        time_budget=time_budget,
    )
    _reproduce(asked, as_json=as_json)


def _reproduce(asked: "PaperOptions", *, as_json: bool) -> None:
    from whereof.cli._paper import PaperEvents, show_paper
    from whereof.paper import reproduce
    from whereof.present.terminal import console

    with PaperEvents() as events:
        paper = reproduce(asked, events)
    if as_json:
        print_json(paper.to_dict())
        return
    screen = console()
    show_paper(screen, paper)
    screen.print(f"\npage: {asked.folder / 'paper.html'}", soft_wrap=True)
