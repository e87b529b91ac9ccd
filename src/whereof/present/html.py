"""HTML pages from templates: pages of the server, and self-contained files.

Both have the same templates and style sheet. The server's pages link to files under /static/; a
self-contained file has them inside.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from whereof.present.charts import chart_svg
from whereof.present.svg import OPPOSES, SUPPORTS, clean
from whereof.table import Cell, Column, Table, cell_text
from whereof.units import typographic

Part = tuple[Any, ...]
"""The name of a macro in templates/parts.html, and its arguments."""

_BREAKS = re.compile(r"(?<=[/._:,;|-])(?=[^\W\d])")
"""Characters after which a long name may be broken."""


_CODE = re.compile(r"`([^`\n]+)`")

STATIC = Path(__file__).parent / "static"
"""The folder of style sheet and scripts."""


@dataclass(frozen=True)
class Site:
    """Where a page of the server is: what its head shows."""

    run: str = ""
    """The id of the run in addresses; empty on pages of no run."""
    page: str = ""
    """The key of the page: ask, audit, about, compare, jobs."""

    @property
    def links(self) -> list[tuple[str, str, str]]:
        """Key, address and name of the other pages."""
        own = [("ask", "Ask"), ("audit", "Audit"), ("about", "Run")] if self.run else []
        return [
            *((key, f"/runs/{quote(self.run, safe='')}/{key}", name) for key, name in own),
            ("jobs", f"/jobs?run={quote(self.run, safe='')}" if self.run else "/jobs", "Jobs"),
        ]


def page(
    parts: Iterable[Part],
    *,
    title: str,
    heading: str | Sequence[tuple[str, str]] = "",
    template: str = "page",
    scripts: Sequence[str] = (),
    site: Site | None = None,
) -> str:
    """Render parts to a page; all text is escaped.

    heading: words, or the places of a fact with their labels.
    """
    return render(template, title, site, scripts, parts=parts, heading=heading)


def render(
    template: str, title: str, site: Site | None = None, scripts: Sequence[str] = (), **context: Any
) -> str:
    """Render a template. Without a site, the page is one self-contained file.

    scripts: names of modules in the folder of static files.
    """
    found = _environment().get_template(f"{template}.html")
    return str(found.render(title=title, site=site, scripts=scripts, **context))


@cache
def _static(name: str) -> Markup:
    """The text of a style sheet or script, to be put into a page."""
    return Markup((STATIC / name).read_text("utf-8"))


@cache
def static_root() -> str:
    """The address of the static files; it changes with them, so that browsers may keep them.

    The version is a folder: scripts import each other by relative addresses, which then have it.
    """
    content = blake2b(digest_size=4)
    for file in sorted(each for each in STATIC.rglob("*") if each.is_file()):
        content.update(file.read_bytes())
    return f"/static/{content.hexdigest()}"


def _asset(name: str) -> str:
    """The address of a static file."""
    return f"{static_root()}/{name}"


def _rows(table: Table) -> Iterator[list[tuple[Cell, Column]]]:
    for row in table.rows[: table.most]:
        cells = [value if isinstance(value, Cell) else Cell(value) for value in row]
        yield list(zip(cells, table.columns, strict=True))


def _cell(cell: Cell, column: Column) -> Markup:
    shown = typographic(cell_text(cell, column))
    return _breakable(shown) if (cell.unit or column.unit) == "text" else escape(shown)


def _breakable(text: str) -> Markup:
    """An escaped text that can be broken after punctuation, but not within a word."""
    return Markup("<wbr>").join(escape(clean(part)) for part in _BREAKS.split(text))


def _prose(text: str) -> Markup:
    """A sentence: minus signs, breaks within long names, and commands in backquotes as code."""
    parts = _CODE.split(typographic(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(clean(part)) if number % 2 else _breakable(part)
        for number, part in enumerate(parts)
    )


def _finalize(value: Any) -> Any:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # slow to import

    made = Environment(
        loader=PackageLoader("whereof.present"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # The drawings of this room escape every name themselves.
    made.filters |= {"chart_svg": partial(chart_svg, styled=False), "static": _static}
    made.filters |= {
        "typographic": typographic,
        "breakable": _breakable,
        "prose": _prose,
        "asset": _asset,
    }
    made.filters |= {"html_rows": _rows, "html": _cell}
    made.globals |= {"SUPPORTS": SUPPORTS, "OPPOSES": OPPOSES}
    return made
