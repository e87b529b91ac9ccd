"""`whereof train`."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from whereof.cli import _options
from whereof.data.options import ReadOptions
from whereof.errors import WhereofError
from whereof.events import Events
from whereof.training.config import MachineOptions, TrainConfig
from whereof.training.defaults import PRESETS


@_options.command("train", progress=True, tables=(ReadOptions, TrainConfig, MachineOptions))
@click.argument("data", required=False, shell_complete=_options.complete)
@_options.new_run
@click.option("--resume", type=_options.FILE, metavar="RUN", help="Continue an interrupted run.")
@click.option("--preset", type=_options.Choice(PRESETS), help="Use the settings of the paper.")
@click.option(
    "--search/--no-search",
    default=None,
    help="Search for settings that you do not pass, by short adagrad trainings  [default: yes]",
)
def command(
    data: str | None, resume: Path | None, events: Events, **options: Any
) -> _options.Result:
    """Train a model on DATA and record what each fact changes in it.

    DATA is a file of facts (TSV, CSV, Parquet, N-Triples or Turtle), a folder with train, valid
    and test files, or the name of a dataset, such as nations.
    """
    from whereof.api import runs

    given = _options.given(options)
    if resume is not None:
        own = ["DATA"] * (data is not None)
        own += [f"--{n.replace('_', '-')}" for n in given if n not in MachineOptions.names()]
        if own:
            raise WhereofError(f"--resume uses the run's own settings; leave out {', '.join(own)}")
    elif data is None:
        raise WhereofError("DATA is missing: name a file, a folder or a dataset, such as nations")
    again = partial(runs.train, data) if resume is None else partial(runs.resume, resume)
    run = again(events=events, **given)
    return run.summary(), partial(_show, run)


def _show(run: Any) -> None:
    from whereof.present.metrics import metrics_table
    from whereof.present.run import ending
    from whereof.present.terminal import console, show
    from whereof.units import count, seconds

    info, metrics = run.about, run.about.metrics
    nouns = {"n_facts": "fact", "n_entities": "entity", "n_relations": "relation"}
    sizes = ", ".join(count(getattr(info, name), noun) for name, noun in nouns.items())
    time = f"{seconds(info.seconds)} ({info.facts_per_second:,.0f} facts/s)"
    work = f"{count(info.steps, 'step')} in {time}; {ending(info)}"
    title = f"{run.model.title} on {info.dataset}: {sizes}; {work}"
    tables = [metrics_table(metrics, two_way=info.two_way)] if any(metrics.values()) else []
    said = info.reliability_texts
    show(console(), title, *tables, *said, f"run: {run.path}")
