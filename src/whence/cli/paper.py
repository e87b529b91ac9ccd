"""`whence paper`."""

from pathlib import Path
from typing import Any

import click

from whence.cli._config import config_option
from whence.cli._options import json_option, print_json

_DATASETS = ("nations", "fb15k-237", "movielens")
_PATH = click.Path(path_type=Path)


@click.command("paper")
@click.argument("dataset", default="nations", type=click.Choice(_DATASETS))
@click.option(
    "-o", "--out", type=_PATH, help="Folder of all that is made  [default: runs/paper-DATASET]"
)
@click.option("--models", default="distmult,complex", show_default=True, help="By commas.")
@click.option(
    "--seeds",
    type=click.IntRange(1),
    help="Models of each kind: seeds 42, 43 and so on  [default: 5 of Nations, else 1]",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    help="Only so many test predictions, drawn at random  [default: all of Nations, else 100]",
)
@click.option("--data-dir", type=_PATH, help="Where named datasets lie.")
@click.option("--engine", default="auto", show_default=True, help="Where models are retrained.")
@click.option("--threads", type=click.IntRange(1), help="So many at a time  [default: all cores]")
@config_option
@json_option
def command(dataset: str, models: str, as_json: bool, **options: Any) -> None:
    """Reproduce the paper's tables and figures, ours beside its own.

    Trains, explains, removes facts and retrains as the paper did, on Nations by default, and
    writes tables and figures into a folder. After an interruption the same command goes on.
    """
    from whence.cli._paper import PaperScreen, show_paper
    from whence.cli._progress import kill_as_interrupt
    from whence.cli._tables import console
    from whence.paper import PaperOptions, reproduce
    from whence.training.results import Interrupted

    names = tuple(name for each in models.split(",") if (name := each.strip()))
    asked = PaperOptions(dataset=dataset, models=names, **options)
    try:
        with kill_as_interrupt(), PaperScreen() as watch:
            paper = reproduce(asked, watch)
    except (KeyboardInterrupt, Interrupted):
        raise Interrupted(
            f"interrupted; what is finished is kept in {asked.folder}: the same command goes on"
        ) from None
    if as_json:
        print_json(paper.to_dict())
        return
    screen = console()
    show_paper(screen, paper)
    screen.print(f"\npage: {asked.folder / 'paper.html'}", soft_wrap=True)
