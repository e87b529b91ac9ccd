"""Evaluations in the terminal; a run and its evaluations as one page that needs nothing else."""

import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from importlib.metadata import version
from typing import Any

from rich.console import Console

from whereof import units
from whereof._version import __version__
from whereof.chart import Chart, Curve
from whereof.evaluate.evaluation import Evaluation
from whereof.explain.explanation import Explanation
from whereof.present import metrics, names
from whereof.present.explanation import confirmation_text, facts_table, first_fact_text
from whereof.present.graph import explanation_svg
from whereof.present.html import Part, page
from whereof.present.run import counts, ending
from whereof.present.terminal import heading, markdown, show
from whereof.run.folder import RunInfo
from whereof.table import Column
from whereof.training.config import TrainConfig
from whereof.training.defaults import CHOSEN


def show_evaluation(out: Console, found: Evaluation) -> None:
    """Print the tables and sentences of every protocol."""
    show(out, *found.heading())
    for section in found.sections():
        show(out, heading(section.title))
        for table in section.tables:
            show(out, table, "")
        show(out, *section.sentences)
    show(out, "", *found.ending())


def evaluation_markdown(found: Evaluation, level: int = 2) -> str:
    """The sentences and tables of every protocol, as Markdown; level: of the headings."""
    texts = [*found.heading()]
    for section in found.sections():
        texts += [f"{'#' * level} {section.title}", *section.sentences]
        texts += [markdown(table, level + 1) for table in section.tables]
    return "\n\n".join([*texts, *found.ending()])


def report_markdown(info: RunInfo, evaluations: Sequence[Evaluation], made: str = "") -> str:
    """A run's metrics and its evaluations as Markdown, with the commands; `made` is the date."""
    texts = [f"# {info.model} on {info.dataset}"]
    if any(info.metrics.values()):
        table = metrics.metrics_table(info.metrics, two_way=info.two_way)
        texts.append(markdown(replace(table, title="Metrics")))
    texts += [evaluation_markdown(each) for each in evaluations]
    commands = "\n".join(["```console", *_command_lines(info, evaluations), "```\n"])
    return "\n\n".join([*texts, "## Run it again", f"Made {made}.", commands])


def report_page(
    info: RunInfo,
    evaluations: Sequence[Evaluation] = (),
    examples: Sequence[Explanation] = (),
    notes: Sequence[str] = (),
    made: str = "",
) -> str:
    """A whole HTML file; sections without content are left out. `made` is the date."""
    title = f"{info.model} on {info.dataset}"
    parts = [
        *_summary(info, evaluations),
        *_run(info),
        *_metrics(info),
        *_training(info),
        *_evaluations(info, evaluations),
        *_examples(examples),
        *_commands(info, evaluations, made),
    ]
    links = [(part[3], part[1]) for part in parts if part[0] == "heading" and len(part) > 3]
    top = [("paragraphs", [f"Note: {note}" for note in notes]), ("contents", links)]
    return page([*top, *parts], title=f"{title}: report", heading=title)


def _summary(info: RunInfo, evaluations: Sequence[Evaluation]) -> Iterator[Part]:
    """How good the model is, and whether retraining confirms its explanations."""
    said, found = [], metrics.main_metric(info.metrics)
    if found is not None:
        split, name, value = found
        metric, values = metrics.metric_column(name), info.metrics[split]
        alone = ", objects only" * (metrics.objects_only(values) and not info.two_way)
        measured = f"{metric.title} of {units.show(value, metric.unit)} on the {split} facts"
        said.append(f"{info.model} has an {measured} of {info.dataset}{alone}.")
    said += [sentence for each in evaluations for sentence in each.headlines()]
    said += info.reliability.sentences(info.run)
    if not evaluations:
        said.append(
            "This run has not been evaluated: we do not know whether retraining confirms its "
            "explanations. Run `whereof evaluate`, then write this page again."
        )
    yield "heading", "In short", 2, "short"
    yield "paragraphs", said, "verdict"


def _run(info: RunInfo) -> Iterator[Part]:
    items = [("run", info.run or "in memory"), ("dataset", info.dataset), ("model", info.model)]
    items += counts(info)
    if info.created:
        items.append(("trained", f"{info.created} by whereof {info.whereof}"))
    if info.dataset_hash:
        items.append(("hash of the data", info.dataset_hash))
    config = info.config.items()
    settings = [(name, "none" if value is None else units.show(value)) for name, value in config]
    yield "heading", "The run", 2, "run"
    yield "paragraphs", [f"Note: {note}" for note in info.notes]
    yield "items", items
    yield "items", settings, "Settings"


def _metrics(info: RunInfo) -> Iterator[Part]:
    if any(info.metrics.values()):
        yield "heading", "Metrics", 2, "metrics"
        about = "Filtered: the ranking of an answer skips other answers that are known."
        yield "paragraphs", [about]
        yield "table", metrics.metrics_table(info.metrics, two_way=info.two_way)


def _training(info: RunInfo) -> Iterator[Part]:
    if not info.history:
        return
    said = []
    if info.best_epoch is not None and info.epochs is not None:
        said.append(f"Training {ending(info)}.")
    if info.seconds is not None and info.steps:
        said.append(f"{units.count(info.steps, 'step')} took {units.seconds(info.seconds)}.")
    if info.lipschitz:
        slope = units.show(info.lipschitz, "number")
        said.append(f"The steepest slope of the score during training is {slope}.")
    measured = dict.fromkeys(name for epoch in info.history for name in epoch)
    others = ("epoch", "facts", "loss", "seconds")
    axes = [metrics.metric_column(name) for name in measured if name not in others]
    epochs, charts = Column("epoch", "epoch", "count"), []
    for axis in (Column("loss", "loss", "number"), *axes):
        title = "Loss" if axis.name == "loss" else f"{axis.title} on validation"
        curve = Curve(axis.name, [(each["epoch"], each.get(axis.name)) for each in info.history])
        charts.append(Chart(axis.name, f"{title} by epoch", [curve], epochs, axis))
    yield "heading", "Training", 2, "training"
    yield "paragraphs", said
    yield "charts", charts


def _evaluations(info: RunInfo, evaluations: Sequence[Evaluation]) -> Iterator[Part]:
    for index, evaluation in enumerate(evaluations, 1):
        several = len(evaluations) > 1
        said = [*evaluation.heading(), *evaluation.ending()]
        if evaluation.config != info.config:
            caution = "Caution: this evaluation belongs to a run with other settings"
            said.append(f"{caution}: {evaluation.run}.")
        yield "heading", f"Evaluation {index}" if several else "Evaluation"
        yield "paragraphs", said
        for found in evaluation.sections():
            title = f"{found.title} ({index})" if several else found.title
            yield "heading", title, 3, f"{found.name}-{index}" if several else found.name
            yield "paragraphs", found.sentences, "verdict"
            for table in found.tables:
                yield "table", table, "; the JSON of the evaluation has all rows"
            if found.charts:
                yield "charts", found.charts


def _examples(examples: Sequence[Explanation]) -> Iterator[Part]:
    if not examples:
        return
    rated = names.is_rated(examples[0].prediction)
    which = "new answers with the highest rating" if rated else "most probable new answers"
    yield "heading", "Examples", 2, "examples"
    about = f"The {which}, and the facts behind them."
    yield "paragraphs", [f"{about} The numbers are {confirmation_text(examples[0])}."]
    for each in examples:
        said = f"{names.stands_text(each).capitalize()}."
        if each.facts and names.has_falls(each):
            first, n_adjacent = each.facts[0], units.count(each.n_adjacent, "adjacent fact")
            influence = units.show(first.influence, names.influence_unit(each))
            what = names.estimated_title("influence", each)
            which = f"{names.fact_text(first)} has the largest {what}: {influence}"
            said += f" Of {n_adjacent}, {which}. {first_fact_text(each)}"
        yield "heading", names.fact_text(each.prediction), 3
        yield "paragraphs", [said]
        yield "drawing", explanation_svg(each)
        yield "table", replace(facts_table(each, ids=False), most=5)


def _command_lines(info: RunInfo, evaluations: Sequence[Evaluation]) -> list[str]:
    run = shlex.quote(str(info.run or "RUN"))
    read = {name: value for name, value in info.read.items() if name != "read_as"}
    data, lines = read.pop("data", None), []
    if data is not None:
        plain = [(it.name, it.default) for it in fields(TrainConfig) if it.name not in CHOSEN]
        told = {name: value for name, value in info.config.items() if (name, value) not in plain}
        flags = [*_flags(read), *_flags(told)]
        lines.append(" ".join(["whereof train", shlex.quote(str(data)), *flags, "-o", run]))
    lines += [" ".join(["whereof evaluate", run, *_flags(each.options)]) for each in evaluations]
    if not evaluations:
        traced = info.config.get("trace", True)
        others = "" if traced else " --methods gradient-dot,random --k 1,10"
        lines.append(f"whereof evaluate {run}{others}")
    return [*lines, f"whereof report {run}"]


def _commands(info: RunInfo, evaluations: Sequence[Evaluation], made: str) -> Iterator[Part]:
    yield "heading", "Run it again", 2, "again"
    python = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    versions = [("whereof", __version__), *((name, version(name)) for name in ("numpy", "numba"))]
    yield "items", [("made", made), *versions, ("Python", python)]
    yield "commands", _command_lines(info, evaluations)


def _flags(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{flag}" if value else f"--no-{flag}"
        elif isinstance(value, list | tuple | str | int | float):
            told = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            yield f"--{flag} {shlex.quote(told)}"
