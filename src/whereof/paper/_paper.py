"""The paper done again: one call, one object, one folder."""

import json
import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whereof._version import __version__
from whereof.errors import Interrupted, WhereofError
from whereof.evaluate.evaluation import plain
from whereof.events import Events, Note, StageStarted
from whereof.files import write_text
from whereof.paper._figures import Drawn, draw
from whereof.paper._markdown import markdown
from whereof.paper._options import PaperOptions
from whereof.paper._page import page
from whereof.paper._plan import plan
from whereof.paper._provenance import Measured
from whereof.paper._records import Table
from whereof.paper._results import Document, Results
from whereof.paper._summary import summarise
from whereof.paper._tables import make_tables
from whereof.paper._time import Budget, TimedEvents

if TYPE_CHECKING:
    from whereof.paper._measuring import Measuring
    from whereof.paper._runs import Runs

_TITLES = {"nations": "Nations", "fb15k-237": "FB15k-237", "movielens": "MovieLens"}


@dataclass(frozen=True)
class Paper:
    """Tables and figures beside the paper's, and what they say in plain words."""

    options: PaperOptions
    tables: tuple[Table, ...]
    summary: tuple[str, ...]
    drawn: Drawn
    measured: tuple[Measured, ...]
    parts: tuple[Document, ...]
    """Of every finished part, what it rests on."""
    missing: tuple[str, ...]
    """Names of parts that are not finished."""

    @classmethod
    def of(cls, results: Results) -> "Paper":
        tables = make_tables(results)
        return cls(
            results.options,
            tuple(tables),
            tuple(summarise(results, tables)),
            draw(results),
            tuple(results.measured),
            tuple(results.described),
            tuple(part.name for part in results.missing),
        )

    @property
    def title(self) -> str:
        return f"The paper's tables and figures: {_TITLES[self.options.dataset]}"

    def to_dict(self) -> dict[str, Any]:
        """What `whereof paper --json` prints."""
        document = {
            "whereof": __version__,
            "dataset": self.options.dataset,
            "models": list(self.options.models),
            "limit": self.options.n_predictions,
            "measured": list(self.measured),
            "missing": list(self.missing),
            "parts": list(self.parts),
            "summary": list(self.summary),
            "tables": {table.name: table.to_dict() for table in self.tables},
            "figures": {name: f"{name}.svg" for name in self.drawn},
        }
        found: dict[str, Any] = plain(document)
        return found

    def write(self, folder: Path) -> None:
        """Every file anew: JSON, Markdown, SVG and the page."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)
        about = (self.title, self.measured, self.summary, self.tables)
        files = {
            "paper.json": f"{text}\n",
            "tables.md": markdown(*about),
            "paper.html": page(*about, self.drawn),
            **{f"{name}.svg": svg for name, (_, svg) in self.drawn.items()},
        }
        for name, text in files.items():
            write_text(folder / name, text, force=True)


def reproduce(options: PaperOptions, events: Events | None = None) -> Paper:
    """Train, evaluate and write all that options ask for; what is finished is not done again.

    After an interruption, and once the time budget is spent, the files are there of all parts that
    are finished, and `Interrupted` is raised.
    """
    from whereof.paper._measuring import Measuring
    from whereof.retrain import choose_engine

    _check_folder(options.folder)
    timed, paper = TimedEvents(events or Events(), options.seconds), None
    runs = _settled_runs(options, timed)
    with closing(choose_engine(runs.engine)) as engine:
        measuring = Measuring(options, engine, timed, runs)
        try:
            for results in _measure(measuring, timed):
                paper = Paper.of(results)
                paper.write(options.folder)  # whatever comes next, this is there
        except (Interrupted, KeyboardInterrupt):
            raise Interrupted(_stopped(timed, paper)) from None
    assert paper is not None
    return paper


def _check_folder(folder: Path) -> None:
    """Refuse what is no folder of a paper before anything is done."""
    if (folder / "manifest.json").exists():
        raise WhereofError(f"{folder} is a run; choose another folder with -o")
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not nearest.is_dir():
        raise WhereofError(f"{nearest} is a file; choose a folder with -o")


def _settled_runs(options: PaperOptions, events: Events) -> "Runs":
    """Runs whose engine is settled once, for all parts."""
    from whereof.paper._runs import Runs
    from whereof.retrain import settle_engine

    runs = Runs(options, events, options.engine)
    if options.engine.engine != "auto":
        return runs
    first = plan(options)[0]
    return replace(runs, engine=settle_engine(options.engine, runs.problem(first)))


def _measure(measuring: "Measuring", events: TimedEvents) -> Iterator[Results]:
    """What all finished parts came to: with those of before, then with one more each time."""
    options = measuring.options
    parts = {part.name: part for part in plan(options)}
    found = {name: kept for name, part in parts.items() if (kept := measuring.kept(part))}
    if found:
        yield Results(options, found)
    missing = [part for name, part in parts.items() if name not in found]
    if not missing:
        return
    from whereof.paper._budget import make_budget

    finished = [parts[name] for name in found]
    budget = make_budget(missing, finished, measuring.runs, measuring.engine)
    events.emit(budget)
    _warn(options, budget, events)
    for cost in budget.parts:
        if not events.has_room_for(cost.seconds):
            raise Interrupted("the time budget is spent")
        events.emit(StageStarted(len(found) + 1, len(parts), cost.title))
        found[cost.part] = measuring.measure(parts[cost.part])
        yield Results(options, found)


def _warn(options: PaperOptions, budget: Budget, events: Events) -> None:
    """Say what else is better known before the long part begins."""
    if budget.longest > (options.seconds or math.inf):
        longest = f"the first retrainings of a part take up to {budget.longest:.0f} s"
        events.emit(Note(f"{longest}: in a shorter time budget none may be finished"))
    if find_spec("pyarrow") is None:
        events.emit(Note("single retrainings will not be written; for them pip install pyarrow"))


def _stopped(events: TimedEvents, paper: Paper | None) -> str:
    """What to say of an end before its time."""
    why = "the time budget is spent" if events.spent else "interrupted"
    there = (
        f"tables of what is finished: {paper.options.folder}" if paper else "no part is finished"
    )
    return f"{why}; {there}; the same command goes on where it stopped"
