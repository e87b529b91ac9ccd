"""HTML pages from templates; each page is one self-contained file."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from whereof.present.charts import chart_svg
from whereof.present.svg import OPPOSES, SUPPORTS, clean
from whereof.table import WORDS, Cell, Column, Table, cell_text
from whereof.units import is_number, typographic

if TYPE_CHECKING:
    from whereof.chart import Chart

_BREAKS = re.compile(r"(?<=[/._:,;|-])(?=[^\W\d])")
"""Characters after which a long name may be broken."""


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


def page(template: str, **parts: Any) -> str:
    """Render a template to a page; text is escaped, SVG must be `svg_markup`."""
    return _environment().get_template(template).render(**parts)


def svg_markup(svg: str) -> Markup:
    """Mark our own SVG as safe for a page."""
    return Markup(svg)  # drawn in this room, which escapes every name


def chart_markup(chart: "Chart") -> Markup:
    """A chart as SVG for a page."""
    return svg_markup(chart_svg(chart))


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
        text=_breakable(shown) if unit in WORDS else escape(shown),
        key=_key(mine.value),
        is_number=_is_number(column),
        tone=mine.tone,
        about=_breakable(mine.about),
        width=f"{100 * abs(mine.value):.1f}" if share else "",
    )


def _breakable(text: str) -> Markup:
    """An escaped text that can be broken after punctuation, but not within a word."""
    return Markup("<wbr>").join(escape(clean(part)) for part in _BREAKS.split(text))


def _key(value: Any) -> str:
    """A sort key for a number, or for the first of a pair."""
    if isinstance(value, tuple | list):
        value = value[0] if value else None
    if isinstance(value, bool | int | float):
        return repr(float(value)) if math.isfinite(value) else ""
    return "" if value is None else str(value)


def _is_number(column: Column) -> bool:
    return column.unit not in WORDS


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
    made.filters |= {"html_rows": html_rows, "chart": chart_markup, "typographic": typographic}
    made.tests["number_column"] = _is_number
    made.globals |= {"SUPPORTS": SUPPORTS, "OPPOSES": OPPOSES}
    return made
