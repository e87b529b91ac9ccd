"""The paper done again: one call, one object, one folder."""

import json
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence._version import __version__
from whence.errors import WhenceError
from whence.evaluate.results import plain
from whence.files import write_text
from whence.paper._figures import Drawn, draw
from whence.paper._markdown import markdown
from whence.paper._page import page
from whence.paper._plan import FIRST_SEED, PaperOptions, plan
from whence.paper._records import Table
from whence.paper._results import Document, Results
from whence.paper._summary import summarise
from whence.paper._tables import make_tables
from whence.paper._watch import PaperWatch

if TYPE_CHECKING:
    from whence.paper._measuring import Measuring

_TITLES = {"nations": "Nations", "fb15k-237": "FB15k-237", "movielens": "MovieLens"}


@dataclass(frozen=True)
class Paper:
    """Tables and figures beside the paper's, and what they say in plain words."""

    options: PaperOptions
    tables: tuple[Table, ...]
    summary: tuple[str, ...]
    drawn: Drawn

    @classmethod
    def of(cls, results: Results) -> "Paper":
        tables = make_tables(results)
        summary = summarise(results, tables)
        return cls(results.options, tuple(tables), tuple(summary), draw(results))

    @property
    def title(self) -> str:
        return f"The paper's tables and figures: {_TITLES[self.options.dataset]}"

    def to_dict(self) -> dict[str, Any]:
        """What `whence paper --json` prints."""
        first = FIRST_SEED
        document = {
            "whence": __version__,
            "dataset": self.options.dataset,
            "models": list(self.options.models),
            "seeds": list(range(first, first + self.options.n_seeds)),
            "limit": self.options.n_predictions,
            "folder": str(self.options.folder),
            "summary": list(self.summary),
            "tables": {table.name: table.to_dict() for table in self.tables},
            "figures": {name: f"{name}.svg" for name in self.drawn},
        }
        found: dict[str, Any] = plain(document)
        return found

    def write(self, folder: Path) -> None:
        """Every file anew: JSON, Markdown, SVG and the page."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)
        files = {
            "paper.json": f"{text}\n",
            "tables.md": markdown(self.title, self.summary, self.tables),
            "paper.html": page(self.title, self.summary, self.tables, self.drawn),
            **{f"{name}.svg": svg for name, (_, svg) in self.drawn.items()},
        }
        for name, text in files.items():
            write_text(folder / name, text, force=True)


def reproduce(options: PaperOptions, watch: PaperWatch | None = None) -> Paper:
    """Train, evaluate and write all that options ask for; what is finished is not done again."""
    from whence.engines import choose_engine
    from whence.paper._measuring import Measuring
    from whence.paper._runs import Runs

    if (options.folder / "manifest.json").exists():
        raise WhenceError(f"{options.folder} is a run; choose another folder with -o")
    watch = watch or PaperWatch()
    with closing(choose_engine(options.engine)) as engine:
        found = _measure(Measuring(options, engine, watch, Runs(options, watch)))
    paper = Paper.of(Results(options, found))
    paper.write(options.folder)
    return paper


def _measure(measuring: "Measuring") -> dict[str, Document]:
    """What every part came to, by its name, in the order of the plan."""
    watch, parts = measuring.watch, plan(measuring.options)
    found = {part.name: kept for part in parts if (kept := measuring.kept(part)) is not None}
    missing = [part for part in parts if part.name not in found]
    if missing:
        watch.budgeted(measuring.budget(missing, len(found)))
    for number, part in enumerate(parts, 1):
        if part.name not in found:
            watch.began(number, len(parts), part.title)
            found[part.name] = measuring.measure(part)
    return {part.name: found[part.name] for part in parts}
