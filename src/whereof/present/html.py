"""HTML pages from templates; each page is one self-contained file."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from whereof.present.charts import chart_svg
from whereof.present.svg import OPPOSES, SUPPORTS, clean
from whereof.table import Cell, Column, Table, cell_text
from whereof.units import is_number, typographic

Part = tuple[Any, ...]
"""The name of a macro in templates/parts.html, and its arguments."""

_BREAKS = re.compile(r"(?<=[/._:,;|-])(?=[^\W\d])")
"""Characters after which a long name may be broken."""


def page(
    parts: Iterable[Part], *, title: str, heading: str = "", template: str = "page.html"
) -> str:
    """Render parts to a page; all text is escaped."""
    found = _environment().get_template(template)
    return found.render(parts=parts, title=title, heading=heading)


@dataclass(frozen=True)
class HtmlCell:
    """A cell as a page shows it."""

    text: Markup
    key: str
    """What the column is sorted by."""
    is_number: bool
    tone: str
    about: Markup
    width: str = ""
    """The length of a bar, in percent."""


def html_rows(table: Table) -> Iterator[list[HtmlCell]]:
    """The rows of a table that a page shows."""
    for row in table.rows[: table.most]:
        yield [_cell(value, column) for value, column in zip(row, table.columns, strict=True)]


def _cell(value: Any, column: Column) -> HtmlCell:
    mine = value if isinstance(value, Cell) else Cell(value)
    unit = column.unit if mine.unit is None else mine.unit
    share = unit == "share" and is_number(mine.value)
    shown = typographic(cell_text(value, column))
    return HtmlCell(
        text=_breakable(shown) if unit == "text" else escape(shown),
        key="" if mine.value is None else str(mine.value),
        is_number=column.unit != "text",
        tone=mine.tone,
        about=_breakable(mine.about),
        width=f"{100 * abs(mine.value):.1f}" if share else "",
    )


def _breakable(text: str) -> Markup:
    """An escaped text that can be broken after punctuation, but not within a word."""
    return Markup("<wbr>").join(escape(clean(part)) for part in _BREAKS.split(text))


def _finalize(value: Any) -> Any:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> Environment:
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
    made.filters |= {"html_rows": html_rows, "chart_svg": chart_svg, "typographic": typographic}
    made.globals |= {"SUPPORTS": SUPPORTS, "OPPOSES": OPPOSES}
    return made
