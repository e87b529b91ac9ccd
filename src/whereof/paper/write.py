"""Writes the paper's tables and figures as JSON, Markdown, SVG and a page."""

import json
import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whereof import units
from whereof._version import __version__
from whereof.chart import Box, Chart, Points
from whereof.errors import Interrupted, WhereofError
from whereof.evaluate.evaluation import plain
from whereof.evaluate.protocol import protocols
from whereof.events import Events, Note, StageStarted
from whereof.paper.compare import approximations, compare
from whereof.paper.figures import Comparison
from whereof.paper.measure import Measuring, Results
from whereof.paper.plan import PaperOptions, plan
from whereof.paper.runs import Deadline, Runs, make_budget
from whereof.paper.summary import summarise
from whereof.present.charts import chart_svg
from whereof.present.graph import explanation_svg
from whereof.present.html import Part, page
from whereof.present.text import markdown
from whereof.retrain.engine import choose_engine, settle_engine
from whereof.run.files import write_text
from whereof.table import Column

HOW_TO_READ = (
    "A row has our figure, the mean over seeds. Below it stand the 95% interval, the lowest and "
    "highest seed, and the paper's figure, which comes from one seed."
)
_COUNTED = ("n_predictions", "n_retrainings", "seconds")


@dataclass(frozen=True)
class Drawing:
    """A figure as SVG."""

    name: str
    title: str
    svg: str


@dataclass(frozen=True)
class Paper:
    """The paper's tables and figures with ours, and what they say in sentences."""

    results: Results
    tables: tuple[Comparison, ...]
    summary: tuple[str, ...]
    drawings: tuple[Drawing, ...]

    @classmethod
    def of(cls, results: Results) -> "Paper":
        tables = compare(results)
        charts = (*_scatter(results), *_boxes(results))
        drawn = [Drawing(each.name, each.title, chart_svg(each)) for each in charts]
        drawings = (*drawn, *_examples(results))
        return cls(results, tuple(tables), tuple(summarise(results, tables)), drawings)

    @property
    def title(self) -> str:
        return f"The paper's tables and figures: {self.results.options.published.title}"

    @property
    def measured(self) -> list[dict[str, Any]]:
        """Parts that were measured by one command, on one machine and one day."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for mine in self.results.finished:
            how = mine.result.measured
            day = how.date.partition("T")[0]
            found.setdefault((how.command, how.machine, day), []).append(mine.part.title)
        names = ("command", "machine", "date", "parts")
        return [dict(zip(names, (*key, titles), strict=True)) for key, titles in found.items()]

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
        options = self.results.options
        parts = [
            {name: getattr(mine.part, name) for name in ("name", "title", "model", "settings")}
            | {"seeds": list(mine.part.seeds), "measured": mine.result.measured}
            | {name: getattr(mine.evaluation, name) for name in _COUNTED}
            for mine in self.results.finished
        ]
        found: dict[str, Any] = plain(
            {
                "whereof": __version__,
                "dataset": options.dataset,
                "models": options.models,
                "limit": options.n_predictions,
                "measured": self.measured,
                "missing": [part.name for part in self.results.missing],
                "parts": parts,
                "summary": self.summary,
                "tables": {table.name: table.to_dict() for table in self.tables},
                "figures": {each.name: f"{each.name}.svg" for each in self.drawings},
            }
        )
        return found

    def write(self, folder: Path) -> None:
        """Write every file, over those of before."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)
        files = {
            "paper.json": f"{text}\n",
            "tables.md": self._markdown(),
            "paper.html": self._page(),
            **{f"{each.name}.svg": each.svg for each in self.drawings},
        }
        for name, text in files.items():
            write_text(folder / name, text, force=True)

    def _markdown(self) -> str:
        summary = "\n".join(f"- {sentence}" for sentence in self.summary)
        parts = [f"# {self.title}", *self.sources, summary, HOW_TO_READ]
        parts += [markdown(table.table()).rstrip() for table in self.tables]
        return "\n\n".join(parts) + "\n"

    def _page(self) -> str:
        parts: list[Part] = [
            ("paragraphs", [*self.sources, HOW_TO_READ]),
            ("bullets", self.summary),
            *(("titled", table.table()) for table in self.tables),
            ("heading", "Figures"),
        ]
        for each in self.drawings:
            parts += [("heading", each.title, 3), ("drawing", each.svg, each.title)]
        return page(parts, title=self.title, heading=self.title)


def _scatter(results: Results) -> Iterator[Chart]:
    """Predicted against actual probabilities, and their changes, a panel for each model."""
    titles = {
        "probability": "Predicted against actual probability without rollback's first fact",
        "change": "Predicted against actual change of the probability",
    }
    for what, title in titles.items():
        panels = []
        for mine, row in approximations(results):
            held = "" if row.constraint == "none" else f", constraint {row.constraint}"
            r = units.show(getattr(row, f"pearson_{what}"), "number")
            slope = units.show(row.lipschitz, "number")
            bases = [original if what == "change" else 0.0 for original, _, _ in row.points]
            places = [(p[1] - base, p[2] - base) for p, base in zip(row.points, bases, strict=True)]
            panels.append(Points(f"{mine.title}{held}", places, f"r = {r}, Lipschitz {slope}"))
        x, y = (Column(it, f"{it} {what}", "probability") for it in ("predicted", "actual"))
        if panels:
            name = "scatter" if what == "probability" else "scatter-changes"
            yield Chart(name, title, panels, x, y)


def _boxes(results: Results) -> Iterator[Chart]:
    """The removal protocol's own box plots."""
    for mine in results.table1:
        for protocol in protocols(mine.part.options.protocols):
            for chart in protocol.charts(mine.evaluation):
                if chart.marks and isinstance(chart.marks[0], Box):
                    name = f"boxes-{mine.part.model}-{mine.part.optimizer}"
                    title = f"{mine.title}: how much more rollback's facts lower the probability"
                    yield replace(chart, name=name, title=title)


def _examples(results: Results) -> Iterator[Drawing]:
    for mine in results.table1:
        for number, example in enumerate(mine.result.examples, 1):
            name = f"example-{mine.part.model}-{mine.part.optimizer}-{number}"
            yield Drawing(name, f"{mine.title}, example {number}", explanation_svg(example))


def reproduce(options: PaperOptions, events: Events | None = None) -> Paper:
    """Train, evaluate and write everything that options ask for; finished parts are kept.

    Raises `Interrupted` when it is stopped or the time budget is spent. The files then hold all
    finished parts, and the same call continues.
    """
    folder, first = options.folder, plan(options)[0]
    if (folder / "manifest.json").exists():
        raise WhereofError(f"{folder} is a run; choose another folder with -o")
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not nearest.is_dir():
        raise WhereofError(f"{nearest} is a file; choose a folder with -o")
    deadline, paper = Deadline(events or Events(), options.seconds), None
    runs = Runs(options, deadline, options.engine)
    if options.engine.engine == "auto":
        runs = replace(runs, engine=settle_engine(options.engine, runs.problem(first)))
    with closing(choose_engine(runs.engine)) as engine:
        measuring = Measuring(options, engine, deadline, runs)
        try:
            for results in _measure(measuring, deadline):
                paper = Paper.of(results)
                paper.write(folder)
        except (Interrupted, KeyboardInterrupt):
            why = "the time budget is spent" if deadline.spent else "interrupted"
            there = f"tables of finished parts: {folder}" if paper else "no part is finished"
            raise Interrupted(f"{why}; {there}; run the same command again to continue") from None
    assert paper is not None
    return paper


def _measure(measuring: Measuring, deadline: Deadline) -> Iterator[Results]:
    """The results of all finished parts: the stored ones, then with one more each time."""
    options, parts = measuring.options, {part.name: part for part in plan(measuring.options)}
    found = {name: kept for name, part in parts.items() if (kept := measuring.kept(part))}
    if found:
        yield Results(options, dict(found))
    missing = [part for name, part in parts.items() if name not in found]
    if not missing:
        return
    if outdated := [part.title for part in missing if measuring.path(part).exists()]:
        why = "measured again, because the settings, the machine or the version differ"
        deadline.emit(Note(f"{why}: {'; '.join(outdated)}"))
    finished = [parts[name] for name in found]
    budget = make_budget(missing, finished, measuring.runs, measuring.engine)
    deadline.emit(budget)
    if budget.longest > (options.seconds or math.inf):
        longest = f"the first retrainings of a part take up to {budget.longest:.0f} s"
        deadline.emit(Note(f"{longest}; with a shorter time budget none may finish"))
    for cost in budget.parts:
        if not deadline.has_room_for(cost.seconds):
            raise Interrupted("the time budget is spent")
        deadline.emit(StageStarted(len(found) + 1, len(parts), cost.part.title))
        found[cost.part.name] = measuring.measure(cost.part)
        yield Results(options, dict(found))
