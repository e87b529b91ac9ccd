"""HTML pages from templates; each page is one self-contained file."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from markupsafe import Markup, escape

from whereof.present.charts import chart_svg
from whereof.present.svg import OPPOSES, SUPPORTS, clean
from whereof.table import Cell, Column, Table, cell_text
from whereof.units import typographic

Part = tuple[Any, ...]
"""The name of a macro in templates/parts.html, and its arguments."""

_BREAKS = re.compile(r"(?<=[/._:,;|-])(?=[^\W\d])")
"""Characters after which a long name may be broken."""


def page(parts: Iterable[Part], *, title: str, heading: str = "", template: str = "page") -> str:
    """Render parts to a page; all text is escaped."""
    found = _environment().get_template(f"{template}.html")
    return str(found.render(parts=parts, title=title, heading=heading))


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
    made.filters |= {"chart_svg": chart_svg, "typographic": typographic, "breakable": _breakable}
    made.filters |= {"html_rows": _rows, "html": _cell}
    made.globals |= {"SUPPORTS": SUPPORTS, "OPPOSES": OPPOSES}
    return made
