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
from whereof.evaluate.evaluation import Evaluation, Section
from whereof.evaluate.protocol import protocols
from whereof.evaluate.suite import SUITES
from whereof.explain.explanation import Explanation
from whereof.present import metrics, names
from whereof.present.explanation import confirmation_text, facts_part, first_fact_text
from whereof.present.graph import explanation_svg
from whereof.present.html import Part, page
from whereof.present.run import counts, ending, setting_text
from whereof.present.terminal import heading, markdown, show
from whereof.run.folder import RunInfo
from whereof.table import Column
from whereof.training.config import TrainConfig
from whereof.training.defaults import CHOSEN

_MOST_SENTENCES = 4
"""Number of sentences in a summary, besides the first."""


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
    title = run_title(info)
    parts = run_parts(info, evaluations, examples, notes, made)
    return page(parts, title=f"{title}: report", heading=title)


def run_html(info: RunInfo, evaluations: Sequence[Evaluation]) -> str:
    """What a report says first, and the sizes of the run, for notebooks."""
    parts = [_summary(info, evaluations), ("items", [*counts(info)], "Sizes")]
    return page(parts, title=run_title(info), template="notebook")


def evaluation_html(found: Evaluation) -> str:
    """Sentences, charts and tables of every protocol, for notebooks."""
    parts: list[Part] = [("paragraphs", [*found.heading()[1:], *found.ending()], "quiet")]
    for section in found.sections():
        parts += [("heading", section.title, 3), ("paragraphs", section.sentences)]
        parts += [("charts", section.charts)] if section.charts else []
        parts.append(("tables", section.tables, "; `to_dict()` has all rows"))
    return page(parts, title=found.heading()[0], template="notebook")


def run_title(info: RunInfo) -> str:
    """The model and its data."""
    return f"{info.model} on {info.dataset}"


def run_parts(
    info: RunInfo,
    evaluations: Sequence[Evaluation] = (),
    examples: Sequence[Explanation] = (),
    notes: Sequence[str] = (),
    made: str = "",
    *,
    offered: bool = False,
) -> list[Part]:
    """Everything about a run: first how far to trust it and what evaluations showed.

    offered: whether the page has buttons to measure what is not known yet.
    """
    parts = [
        *_reliability(info),
        *_evaluations(info, evaluations),
        *_examples(examples),
        *_metrics(info),
        *_training(info),
        *_run(info),
        *_commands(info, evaluations, made),
    ]
    links = [(part[3], part[1]) for part in parts if part[0] == "heading" and part[2:3] == (2,)]
    said = [f"Note: {note}" for note in notes]
    summary = _summary(info, evaluations, offered=offered)
    return [summary, ("paragraphs", said), ("contents", links), *parts]


def _summary(info: RunInfo, evaluations: Sequence[Evaluation], *, offered: bool = False) -> Part:
    """At most five sentences and one chart."""
    found = _main_sections([each for each in evaluations if each.config == info.config])
    lead, evidence = _trust(info, offered=offered)
    learned = [each.headline for each in found if each.headline]
    if not evaluations:
        how = "" if offered else ": `whereof evaluate` removes facts and retrains"
        learned = [f"This run has not been evaluated{how}."]
    elif learned and not info.reliability.is_measured:
        lead, *learned = learned
    said = [evidence, *_quality(info), *learned]
    charts = [*(each.charts[0] for each in found if each.charts), *reversed(_curves(info))]
    return "summary", lead, said[:_MOST_SENTENCES], charts[0] if charts else None


def _main_sections(evaluations: Sequence[Evaluation]) -> list[Section]:
    """The results of every protocol, each by its largest sample; the most telling first."""
    largest: dict[str, tuple[int, Section]] = {}
    for each in evaluations:
        size = each.n_predictions * len(each.seeds)
        for section in each.sections():
            if size >= largest.get(section.name, (0, section))[0]:
                largest[section.name] = size, section
    order = [*SUITES, *(each.name for each in protocols())]
    found = [section for _, section in largest.values() if section.name in order]
    return sorted(found, key=lambda each: (not each.charts, order.index(each.name)))


def _trust(info: RunInfo, *, offered: bool = False) -> tuple[str, str]:
    """Whether estimates can be trusted, and the evidence."""
    linearity, claims = info.reliability.linearity, info.reliability.claims
    rough = "Estimates are rough in this run: check what matters by retraining."
    if not info.reliability.is_measured:
        lead = "It is not known yet how far you can trust the estimates of this run."
        plain = "The reliability of estimates is not measured."
        return lead, plain if offered else info.reliability_texts[0]
    if linearity is not None and not claims:
        close = "Estimates by unrolled should be close to what retraining shows in this run."
        return close if linearity.is_close else rough, str(linearity)
    best = min(claims, key=lambda each: (not each.is_close, not each.believable))
    if not best.is_close:
        lead = rough
    elif best.believable or not best.n_announced:
        lead = f"In this run, estimates by {best.method} are close to what retraining shows."
    else:
        lead = (
            f"In this run, estimates by {best.method} have about the right size; check announced "
            "changes of the top answer by retraining."
        )
    return lead, str(best)


def _quality(info: RunInfo) -> Iterator[str]:
    """How good the model is."""
    if (found := metrics.main_metric(info.metrics)) is None:
        return
    split, name, value = found
    metric, values = metrics.metric_column(name), info.metrics[split]
    alone = ", objects only" * (metrics.objects_only(values) and not info.two_way)
    measured = f"{metric.title} of {units.show(value, metric.unit)} on the {split} facts"
    first = values.get("hits@1")
    right = "" if first is None else f"; the right answer ranks first for {units.percent(first)}"
    yield f"{info.model} has an {measured} of {info.dataset}{alone}{right}."


def _reliability(info: RunInfo) -> Iterator[Part]:
    if not info.reliability.is_measured:
        return  # the summary says so
    yield "heading", "Reliability of estimates", 2, "reliability"
    yield "paragraphs", info.reliability_texts


def _run(info: RunInfo) -> Iterator[Part]:
    items = [("run", info.run or "in memory"), ("dataset", info.dataset), ("model", info.model)]
    items += counts(info)
    if info.created:
        items.append(("trained", f"{info.created} by whereof {info.whereof}"))
    if info.dataset_hash:
        items.append(("hash of the data", info.dataset_hash))
    config = info.config.items()
    texts = ((name, setting_text(it) if isinstance(it, list) else it) for name, it in config)
    settings = [(name, "none" if value is None else units.show(value)) for name, value in texts]
    yield "heading", "The run", 2, "run"
    yield "paragraphs", [f"Note: {note}" for note in info.notes]
    yield "items", items
    yield "items", settings, "Settings"


def _metrics(info: RunInfo) -> Iterator[Part]:
    if any(info.metrics.values()):
        yield "heading", "Metrics", 2, "metrics"
        about = "Filtered: the ranking of an answer skips other answers that are known."
        yield "paragraphs", [about]
        yield "table", metrics.metrics_table(info.metrics, two_way=info.two_way), "", False


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
        said.append(f"The largest gradient of a score during training is {slope}.")
    yield "heading", "Training", 2, "training"
    yield "paragraphs", [" ".join(said)] if said else []
    yield "charts", _curves(info)


def _curves(info: RunInfo) -> list[Chart]:
    """The loss and the metrics on validation, by epoch."""
    measured = dict.fromkeys(name for epoch in info.history for name in epoch)
    others = ("epoch", "facts", "loss", "seconds")
    axes = [metrics.metric_column(name) for name in measured if name not in others]
    epochs, charts = Column("epoch", "epoch", "count"), []
    for axis in (Column("loss", "loss", "number"), *axes) if info.history else ():
        title = "Loss" if axis.name == "loss" else f"{axis.title} on validation"
        curve = Curve(axis.name, [(each["epoch"], each.get(axis.name)) for each in info.history])
        charts.append(Chart(axis.name, f"{title} by epoch", [curve], epochs, axis))
    return charts


def _evaluations(info: RunInfo, evaluations: Sequence[Evaluation]) -> Iterator[Part]:
    known = info.reliability_texts  # said above
    for index, evaluation in enumerate(evaluations, 1):
        number, key = (f" {index}", f"-{index}") if len(evaluations) > 1 else ("", "")
        said = [*evaluation.heading()[1:], *evaluation.ending()]
        if evaluation.config != info.config:
            caution = "Caution: this evaluation belongs to a run with other settings"
            said.append(f"{caution}: {evaluation.run}.")
        yield "heading", f"Evaluation{number}", 2, f"evaluation{key}"
        yield "paragraphs", said, "quiet"
        for found in evaluation.sections():
            yield "heading", found.title, 3, f"{found.name}{key}"
            yield "paragraphs", [each for each in found.sentences if each not in known]
            if found.charts:
                yield "charts", found.charts
            yield "tables", found.tables, "; the JSON of the evaluation has all rows"


def _examples(examples: Sequence[Explanation]) -> Iterator[Part]:
    if not examples:
        return
    rated = names.is_rated(examples[0].prediction)
    which = "new answers with the highest rating" if rated else "most probable new answers"
    yield "heading", "Examples", 2, "examples"
    about = f"The {which}, and the {names.fact_noun(examples[0])}s behind them."
    yield "paragraphs", [f"{about} The numbers are {confirmation_text(examples[0])}."]
    for number, each in enumerate(examples):
        said = f"{names.stands_text(each).capitalize()}."
        if each.facts and names.has_falls(each):
            first, noun = each.facts[0], names.fact_noun(each)
            n_adjacent = units.count(each.n_adjacent, f"adjacent {noun}")
            influence = units.show(first.influence, names.influence_unit(each))
            what = names.estimated_title("influence", each)
            which = f"{names.fact_text(first)} comes first, with {what} {influence}"
            said += f" Of {n_adjacent}, {which}. {first_fact_text(each)}"
        yield "heading", names.fact_text(each.prediction), 3
        yield "paragraphs", [said]
        yield facts_part(each, most=5, note=not number)
        yield "folded", "Graph", explanation_svg(each, styled=False)


def _command_lines(info: RunInfo, evaluations: Sequence[Evaluation]) -> list[str]:
    run = shlex.quote(str(info.run or "RUN"))
    read = {name: value for name, value in info.read.items() if name != "read_as"}
    data, lines = read.pop("data", None), []
    if data is not None and not info.config.get("phases"):  # no one command makes an updated run
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
    yield "items", [*([("made", made)] if made else []), *versions, ("Python", python)]
    yield "commands", _command_lines(info, evaluations)


def _flags(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{flag}" if value else f"--no-{flag}"
        elif isinstance(value, list | tuple | str | int | float):
            told = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            yield f"--{flag} {shlex.quote(told)}"
