"""Measures all parts within a time budget; writes tables and figures as JSON, SVG and pages."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whereof._version import __version__
from whereof.chart import Chart
from whereof.errors import Interrupted, WhereofError
from whereof.evaluate.evaluation import plain
from whereof.evaluate.protocols.approximation import panels
from whereof.events import Events, Note, StageStarted, Without
from whereof.paper.compare import compare, summarise
from whereof.paper.figures import Comparison
from whereof.paper.measure import Measured, Measuring, Results
from whereof.paper.plan import PaperOptions, Part, plan
from whereof.present import charts, graph, html, terminal
from whereof.run.files import write_text
from whereof.table import Column
from whereof.types import RELATION, SUBJECT
from whereof.units import count, show

HOW_TO_READ = (
    "A row has our figure, the mean over seeds. Below it stand the 95% interval, the lowest and "
    "highest seed, and the paper's figure, which comes from one seed."
)
_MOST_SENTENCES = 4
"""Number of sentences in the page's opening, besides the first."""
_SCATTERS = {
    "probability": ("scatter", "Predicted and actual probability without rollback's first fact"),
    "change": ("scatter-changes", "Predicted and actual change of the probability"),
}


class Paper(Results):
    """The paper's tables and figures with ours, and what they say in sentences."""

    @cached_property
    def tables(self) -> list[Comparison]:
        return compare(self)

    @cached_property
    def summary(self) -> list[str]:
        return summarise(self, self.tables)

    @cached_property
    def drawings(self) -> dict[str, tuple[str, str]]:
        """By name: the title of a figure, and the figure as SVG."""
        found = {each.name: (each.title, charts.chart_svg(each)) for each in _charts(self)}
        for mine in self.find("table1"):
            for number, example in enumerate(mine.examples, 1):
                name = f"example-{mine.part.model}-{mine.part.optimizer}-{number}"
                found[name] = f"{mine.title}, example {number}", graph.explanation_svg(example)
        return found

    @property
    def title(self) -> str:
        return f"The paper's tables and figures: {self.options.published.title}"

    @property
    def measured(self) -> list[dict[str, Any]]:
        """Parts that were measured by one command, on one machine and one day."""
        found: dict[Measured, list[str]] = {}
        for mine in self.finished:
            day = replace(mine.measured, date=mine.measured.date.partition("T")[0])
            found.setdefault(day, []).append(mine.part.title)
        return [asdict(day) | {"parts": titles} for day, titles in found.items()]

    @property
    def sources(self) -> list[str]:
        """How it was measured, a sentence for each command, machine and day."""
        found = self.measured
        return [
            f"Measured {each['date']} on {each['machine']}: `{each['command']}`"
            + (f" ({'; '.join(each['parts'])})." if len(found) > 1 else ".")
            for each in found
        ]

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof paper --json` prints."""
        parts = []
        for mine in self.finished:
            part, found = mine.part, mine.evaluation
            about = {name: getattr(part, name) for name in ("name", "title", "model", "settings")}
            counts = ("n_predictions", "n_retrainings", "seconds")
            about |= {name: getattr(found, name) for name in counts}
            parts.append(about | {"seeds": list(part.seeds), "measured": mine.measured})
        document: dict[str, Any] = plain(
            {
                "whereof": __version__,
                "dataset": self.options.dataset,
                "models": self.options.models,
                "limit": self.options.n_predictions,
                "measured": self.measured,
                "missing": [part.name for part in self.missing],
                "parts": parts,
                "summary": self.summary,
                "tables": {table.name: table.to_dict() for table in self.tables},
                "figures": {name: f"{name}.svg" for name in self.drawings},
            }
        )
        return document

    def write(self, folder: Path) -> None:
        """Write every file, over those of before."""
        document = json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)
        bullets = "\n".join(f"- {sentence}" for sentence in self.summary)
        texts = [f"# {self.title}", *self.sources, bullets, HOW_TO_READ]
        texts += [terminal.markdown(table.table()) for table in self.tables]
        page = html.page(self._parts(), title=self.title, heading=self.title)
        files = {
            "paper.json": f"{document}\n",
            "tables.md": "\n\n".join(texts) + "\n",
            "paper.html": page,
            **{f"{name}.svg": svg for name, (_, svg) in self.drawings.items()},
        }
        for name, content in files.items():
            write_text(folder / name, content, force=True)

    def _parts(self) -> list[html.Part]:
        """The page: five sentences and a chart, then tables, figures and how it was measured."""
        lead, *said = self.summary or ["No part is finished."]
        first, others = said[:_MOST_SENTENCES], said[_MOST_SENTENCES:]
        chart = next(_first_charts(self), None)
        links = [(table.name, table.title) for table in self.tables]
        links += [("figures", "Figures"), ("measured", "How it was measured")]
        parts: list[html.Part] = [("summary", lead, first, chart)]
        parts += [("bullets", others, "More findings")] if others else []
        parts += [("contents", links), ("paragraphs", [HOW_TO_READ], "quiet")]
        parts += [("titled", table.table(), table.name) for table in self.tables]
        charts = [*_charts(self)]
        parts += [("heading", "Figures", 2, "figures"), ("charts", charts)]
        drawn = {chart.name for chart in charts}
        for title, svg in (each for name, each in self.drawings.items() if name not in drawn):
            parts += [("heading", title, 3), ("drawing", svg, title)]
        parts.append(("heading", "How it was measured", 2, "measured"))
        return [*parts, ("paragraphs", self.sources)]


def _first_charts(results: Results) -> Iterator[Chart]:
    """How often the probability falls without facts, by model and optimizer."""
    for mine in results.find("table1"):
        for section in mine.evaluation.sections():
            for chart in section.charts:
                if chart.name == "pd":
                    yield replace(chart, title=f"{mine.title}: {chart.title}")


def _charts(results: Results) -> Iterator[Chart]:
    """The protocols' own charts, by model and optimizer."""
    for what, (name, title) in _SCATTERS.items():
        marks = [
            replace(panel, series=f"{mine.title}, {panel.series.lower()}")
            for mine in results.find("approximation table1")
            for panel in panels(mine.evaluation, what)
        ]
        x, y = (Column(it, f"{it} {what}", "probability") for it in ("predicted", "actual"))
        if marks:
            yield Chart(name, title, marks, x, y)
    for mine in results.find("table1"):
        for section in mine.evaluation.sections():
            for chart in section.charts:
                if chart.name == "changes":
                    name = f"boxes-{mine.part.model}-{mine.part.optimizer}"
                    title = f"{mine.title}: how much more rollback's facts lower the probability"
                    yield replace(chart, name=name, title=title)


@dataclass(frozen=True)
class Cost:
    """The time that one part needs with all its seeds; numbers are upper bounds."""

    part: Part
    n_retrainings: int
    retraining_seconds: float
    """Estimated by a short probe."""
    n_trainings: int = 0
    training_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        return self.retraining_seconds + self.training_seconds

    @property
    def seconds_each(self) -> float:
        """Time per retraining at full parallelism."""
        return self.retraining_seconds / max(self.n_retrainings, 1)


class Budget(Note, frozen=True):
    """The time that is needed, known before the work begins."""

    parts: tuple[Cost, ...]
    """In the order of the work: parts that have begun, then the cheapest first."""
    n_kept: int
    """Number of parts that were finished before."""
    at_once: int

    def total(self, name: str) -> float:
        """The sum of a field of `Cost` over all parts."""
        return float(sum(getattr(cost, name) for cost in self.parts))


def make_budget(parts: Sequence[Part], kept: Sequence[Part], measuring: Measuring) -> Budget:
    """The cost of every part that is left, in the order of the work.

    A run that several parts need is counted in the first of them. `kept` are finished parts.
    """
    engine, costs, counted = measuring.engine, [], set[Path]()
    # A query has one top answer, and two queries may give the same prediction.
    n_queries = len(np.unique(measuring.dataset.test[:, [SUBJECT, RELATION]], axis=0))
    for part in parts:
        recipe = measuring.recipe(part)
        n_each, n_seeds = part.n_retrainings(n_queries, len(recipe.problem.facts)), len(part.seeds)
        costs.append(Cost(part, n_each * n_seeds, engine.seconds_for(recipe, n_each) * n_seeds))
    begun = {part.run for part in parts if measuring.run_path(part).exists()}
    begun -= {part.run for part in kept}
    costs.sort(key=lambda cost: (cost.part.run not in begun, cost.seconds))
    for number, cost in enumerate(costs):
        missing = set(measuring.missing(cost.part)) - counted
        counted |= missing
        if missing:
            seconds = len(missing) * engine.seconds_for(measuring.recipe(cost.part), 1)
            costs[number] = replace(cost, n_trainings=len(missing), training_seconds=seconds)
    budget = Budget("", tuple(costs), len(kept), engine.at_once)
    return msgspec.structs.replace(budget, text="\n".join(_lines(budget)))


def _lines(budget: Budget) -> Iterator[str]:
    """A line for each part, then all of them together."""
    for cost in budget.parts:
        each, seconds = show(cost.seconds_each, "seconds"), show(cost.retraining_seconds, "seconds")
        yield f"{cost.part.title}: {count(cost.n_retrainings, 'retraining')} x {each} = {seconds}"
    work = count(budget.total("n_retrainings"), "retraining")
    if n_trainings := budget.total("n_trainings"):
        trainings = count(n_trainings, "training")
        yield f"{trainings}: about {show(budget.total('training_seconds'), 'seconds')}"
        work += f" and {trainings}"
    n_kept, seconds = budget.n_kept, show(budget.total("seconds"), "seconds")
    kept = f"; {n_kept} of {n_kept + len(budget.parts)} parts are finished" if n_kept else ""
    yield f"at most {work}, {budget.at_once} at a time: about {seconds}{kept}"


class Deadline(Without):
    """Passes all events on, and stops the work when the time budget is spent."""

    def __init__(self, events: Events, seconds: float) -> None:
        super().__init__(events)
        self._seconds, self._end = seconds, time.monotonic() + seconds
        self.spent = False
        """Whether the time budget, not the user, stopped the work."""

    def should_stop(self) -> bool:
        self.spent |= time.monotonic() >= self._end
        return self.spent or super().should_stop()

    def has_room_for(self, seconds: float) -> bool:
        """Whether a part may begin.

        A part that is longer than the whole budget may begin too: it would never fit, and its
        finished retrainings are kept.
        """
        left = self._end - time.monotonic()
        self.spent |= left <= 0 or left < seconds <= self._seconds
        return not self.spent


def reproduce(options: PaperOptions, events: Events | None = None) -> Paper:
    """Train, evaluate and write everything that options ask for; finished parts are kept.

    Raises `Interrupted` when it is stopped or the time budget is spent. The files then hold all
    finished parts, and the same call continues.
    """
    folder = options.folder
    if (folder / "manifest.json").exists():
        raise WhereofError(f"{folder} is a run; choose another folder with -o")
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not nearest.is_dir():
        raise WhereofError(f"{nearest} is a file; choose a folder with -o")
    deadline, paper = Deadline(events or Events(), options.seconds), None
    measuring = Measuring(options, deadline)
    with closing(measuring.engine):
        try:
            for paper in _measure(measuring, deadline):
                paper.write(folder)
        except (Interrupted, KeyboardInterrupt):
            why = "the time budget is spent" if deadline.spent else "interrupted"
            there = f"tables of finished parts: {folder}" if paper else "no part is finished"
            raise Interrupted(f"{why}; {there}; run the same command again to continue") from None
    assert paper is not None
    return paper


def _measure(measuring: Measuring, deadline: Deadline) -> Iterator[Paper]:
    """The paper of all finished parts: the stored ones, then with one more each time."""
    options, parts = measuring.options, plan(measuring.options)
    found = {part.name: kept for part in parts if (kept := measuring.kept(part))}
    missing = [part for part in parts if part.name not in found]
    if found:
        yield Paper(options, [*found.values()])
    if not missing:
        return
    if outdated := [part.title for part in missing if measuring.path(part).exists()]:
        why = "measured again, because the settings, the machine or the version differ"
        deadline.emit(Note(f"{why}: {'; '.join(outdated)}"))
    budget = make_budget(missing, [mine.part for mine in found.values()], measuring)
    deadline.emit(budget)
    longest = max(cost.seconds_each * budget.at_once for cost in budget.parts)
    if longest > options.seconds:
        first = f"the first retrainings of a part take up to {longest:.0f} s"
        deadline.emit(Note(f"{first}; with a shorter time budget none may finish"))
    for cost in budget.parts:
        if not deadline.has_room_for(cost.seconds):
            raise Interrupted("the time budget is spent")
        deadline.emit(StageStarted(len(found) + 1, len(parts), cost.part.title))
        found[cost.part.name] = measuring.measure(cost.part)
        yield Paper(options, [found[part.name] for part in parts if part.name in found])
