"""Evaluations in the terminal; a run and its evaluations as one page that needs nothing else."""

import platform
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.console import Console

from whereof._version import __version__
from whereof.chart import Chart, Curve
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.evaluation import Section as Results
from whereof.explain.explanation import Explanation
from whereof.present.explanation import facts_table
from whereof.present.graph_svg import explanation_svg
from whereof.present.metrics import (
    main_metric,
    metric_title,
    metric_unit,
    metrics_table,
    objects_only,
)
from whereof.present.names import (
    fact_text,
    has_falls,
    influence_text,
    is_rated,
    stands_text,
)
from whereof.present.run import RunInfo
from whereof.present.terminal import heading, show
from whereof.table import Column, Table, count
from whereof.training.config import TrainConfig
from whereof.training.defaults import CHOSEN
from whereof.units import show as text

_PACKAGES = ("whereof", "numpy", "numba")
_EXAMPLE_FACTS = 5
_NO_METRICS = ("epoch", "facts", "loss", "seconds")
"""Fields of an epoch other than the validation metric."""


@dataclass(frozen=True)
class Report:
    """The content of a page."""

    info: RunInfo
    evaluations: Sequence[Evaluation] = ()
    explanations: Sequence[Explanation] = ()
    """The examples."""
    notes: Sequence[str] = ()
    made: str = ""
    """When."""


@dataclass(frozen=True)
class Above:
    """A heading above several sections."""

    title: str
    sentences: Sequence[str] = ()


@dataclass(frozen=True)
class Example:
    """A prediction and the facts behind it."""

    title: str
    said: str
    graph: str
    facts: Table


@dataclass(frozen=True)
class ReportSection:
    """A heading and its content."""

    key: str
    """The anchor for links."""
    title: str
    sentences: Sequence[str] = ()
    kind: str = ""
    """`verdict` where the sentences are results."""
    items: Sequence[tuple[str, str]] = ()
    folded: Sequence[tuple[str, str]] = ()
    """Settings, shown on demand."""
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    examples: Sequence[Example] = ()
    commands: Sequence[str] = ()
    level: int = 2
    above: Above | None = None


def show_evaluation(out: Console, found: Evaluation) -> None:
    """Print the tables and sentences of every protocol."""
    show(out, *found.heading())
    for section in found.sections():
        show(out, heading(section.title))
        for table in section.tables:
            show(out, table, "")
        show(out, *section.sentences)
    show(out, "", *found.ending())


def report_page(report: Report) -> str:
    """A whole HTML file; sections without content are left out."""
    from whereof.present.html import page

    info = report.info
    title = f"{info.model} on {info.dataset}"
    sections = [
        _summary(report),
        _run(info),
        *_metrics(info),
        *_training(info),
        *_evaluations(report),
        *_examples(report.explanations),
        _commands(report),
    ]
    return page(
        "report.html",
        title=f"{title}: report",
        heading=title,
        notes=[f"Note: {note}" for note in report.notes],
        sections=sections,
    )


def _summary(report: Report) -> ReportSection:
    """How good the model is, and whether retraining confirms its explanations."""
    info, said = report.info, []
    found = main_metric(info.metrics)
    if found is not None:
        split, name, value = found
        alone = objects_only(info.metrics[split]) and not info.two_way
        said.append(
            f"{info.model} has an {metric_title(name)} of {text(value, metric_unit(name))} on the "
            f"{split} facts of {info.dataset}{', objects only' if alone else ''}."
        )
    said += [sentence for each in report.evaluations for sentence in each.headlines()]
    if not report.evaluations:
        said.append(
            "There is no evaluation of this run here: it is not known whether retraining confirms "
            "its explanations. Run `whereof evaluate`, then make this page again."
        )
    return ReportSection("short", "In short", said, "verdict")


def _run(info: RunInfo) -> ReportSection:
    """The run: its folder, data and date."""
    items = [("run", info.run or "in memory"), ("dataset", info.dataset), ("model", info.model)]
    items += info.counts()
    if info.created:
        items.append(("trained", f"{info.created} by whereof {info.whereof}"))
    if info.dataset_hash:
        items.append(("hash of the data", info.dataset_hash))
    notes = [f"Note: {note}" for note in info.notes]
    settings = [(name, _setting(value)) for name, value in info.config.items()]
    return ReportSection("run", "The run", notes, items=items, folded=settings)


def _setting(value: object) -> str:
    return "none" if value is None else text(value)


def _metrics(info: RunInfo) -> Iterator[ReportSection]:
    """The model's metrics, by split."""
    if any(info.metrics.values()):
        table = metrics_table(info.metrics, two_way=info.two_way)
        said = "Each answer is ranked among those that are not known."
        yield ReportSection("metrics", "Metrics", [said], tables=[table])


def _training(info: RunInfo) -> Iterator[ReportSection]:
    """Curves of the loss and of the metric that selected the best epoch."""
    if not info.history:
        return
    names = dict.fromkeys(name for epoch in info.history for name in epoch)
    charts = [_curve(info, "loss", "Loss by epoch", Column("loss", "loss", "number"))]
    for name in (name for name in names if name not in _NO_METRICS):
        title = metric_title(name)
        axis = Column(name, title, metric_unit(name))
        charts.append(_curve(info, name, f"{title} on validation by epoch", axis))
    yield ReportSection("training", "Training", list(_trained(info)), charts=charts)


def _curve(info: RunInfo, name: str, title: str, axis: Column) -> Chart:
    curve = Curve(name, [(epoch["epoch"], epoch.get(name)) for epoch in info.history])
    return Chart(name, title, [curve], Column("epoch", "epoch", "count"), axis)


def _trained(info: RunInfo) -> Iterator[str]:
    """The time of training, and the kept epoch."""
    if info.best_epoch is not None and info.epochs is not None:
        yield f"Training {info.ending()}."
    if info.seconds is not None and info.steps:
        yield f"{count(info.steps, 'step')} took {text(info.seconds, 'seconds')}."
    if info.lipschitz:
        slope = text(info.lipschitz, "number")
        yield f"The steepest slope of the score during training is {slope}."


def _evaluations(report: Report) -> Iterator[ReportSection]:
    """The sentences, tables and charts of every protocol."""
    several = len(report.evaluations) > 1
    for index, evaluation in enumerate(report.evaluations, 1):
        said = [*evaluation.heading(), *evaluation.ending()]
        if evaluation.config != report.info.config:
            said.append(
                f"Caution: this evaluation belongs to a run with other settings: {evaluation.run}."
            )
        above = Above(f"Evaluation {index}" if several else "Evaluation", said)
        for place, found in enumerate(evaluation.sections()):
            yield _results(found, index if several else 0, None if place else above)


def _results(found: Results, index: int, above: Above | None) -> ReportSection:
    return ReportSection(
        f"{found.name}-{index}" if index else found.name,
        f"{found.title} ({index})" if index else found.title,
        found.sentences,
        "verdict",
        tables=found.tables,
        charts=found.charts,
        level=3,
        above=above,
    )


def _examples(explanations: Sequence[Explanation]) -> Iterator[ReportSection]:
    """A few predictions, each with its graph and its strongest facts."""
    from whereof.present.html import svg_markup

    if not explanations:
        return
    rated = is_rated(explanations[0].prediction)
    which = "new answers with the highest rating" if rated else "most probable new answers"
    shown = [
        Example(
            fact_text(each.prediction),
            _example_words(each),
            svg_markup(explanation_svg(each)),
            facts_table(each, each.facts, ids=False, most=_EXAMPLE_FACTS),
        )
        for each in explanations
    ]
    said = f"The {which}, and the facts behind them. The influences are estimates."
    yield ReportSection("examples", "Examples", [said], examples=shown)


def _example_words(explanation: Explanation) -> str:
    """The standing of the prediction, and its strongest fact."""
    stands = f"{stands_text(explanation).capitalize()}."
    if not explanation.facts or not has_falls(explanation):
        return stands
    first = explanation.facts[0]
    return (
        f"{stands} Of {count(explanation.n_adjacent, 'adjacent fact')}, {fact_text(first)} has "
        f"the largest influence: {influence_text(first.influence, explanation)}."
    )


def _commands(report: Report) -> ReportSection:
    """The commands that reproduce this page, versions and the date."""
    info = report.info
    run = shlex.quote(str(info.run or "RUN"))
    lines = [*_train_command(info, run)]
    lines += [" ".join(["whereof evaluate", run, *_flags(e.options)]) for e in report.evaluations]
    if not report.evaluations:
        traced = info.config.get("trace", True)
        others = "" if traced else " --methods gradient-dot,random --k 1,10"
        lines.append(f"whereof evaluate {run}{others}")
    lines.append(f"whereof report {run}")
    items = [("made", report.made), *_versions()]
    return ReportSection("again", "Run it again", items=items, commands=lines)


def _train_command(info: RunInfo, run: str) -> Iterator[str]:
    """The training command with every setting that is not a plain default."""
    read = {name: value for name, value in info.read.items() if name != "read_as"}
    data = read.pop("data", None)
    if data is None:
        return
    plain = {item.name: item.default for item in fields(TrainConfig) if item.name not in CHOSEN}
    told = {
        name: value
        for name, value in info.config.items()
        if name not in plain or value != plain[name]
    }
    flags = [*_flags(read), *_flags(told)]
    yield " ".join(["whereof train", shlex.quote(str(data)), *flags, "-o", run])


def _flags(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{flag}" if value else f"--no-{flag}"
        elif isinstance(value, list | tuple):
            yield f"--{flag} {shlex.quote(','.join(map(str, value)))}"
        elif isinstance(value, str | int | float):
            yield f"--{flag} {shlex.quote(str(value))}"


def _versions() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            yield name, __version__ if name == "whereof" else "unknown"
    yield "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
