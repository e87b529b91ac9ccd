"""Tables and figures as one page that needs nothing else."""

from collections.abc import Iterator, Sequence

from whereof.drawing._page_parts import STYLE
from whereof.drawing._text import safe
from whereof.paper._figures import Drawn
from whereof.paper._provenance import Measured, measured_text
from whereof.paper._records import Table
from whereof.paper._text import grid


def page(
    title: str,
    measured: Sequence[Measured],
    summary: Sequence[str],
    tables: Sequence[Table],
    drawn: Drawn,
) -> str:
    """A whole HTML file: what was measured where, what the tables say, the tables, the figures."""
    parts = [
        *_top(title),
        *(f"<p>{safe(sentence)}</p>" for sentence in measured_text(measured)),
        "<ul>",
        *(f"<li>{safe(sentence)}</li>" for sentence in summary),
        "</ul>",
        *(line for table in tables for line in _table(table)),
        "<h2>Figures</h2>",
        *(
            f'<h3>{safe(about)}</h3>\n<div class="wide">\n{svg}</div>'
            for about, svg in drawn.values()
        ),
        "</main>\n</body>\n</html>",
    ]
    return "\n".join(parts) + "\n"


def _top(title: str) -> Iterator[str]:
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{safe(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>"
    yield f"<h1>{safe(title)}</h1>"


def _table(table: Table) -> Iterator[str]:
    shown = grid(table)
    yield f"<h2>{safe(table.title)}</h2>"
    yield f'<div class="wide"><table><caption>{safe(table.about)}</caption>'
    heads = (
        f'<th scope="col"{_number(place, shown.n_names)}>{safe(head)}</th>'
        for place, head in enumerate(shown.heads)
    )
    yield f"<thead><tr>{''.join(heads)}</tr></thead>"
    for block in shown.blocks:
        yield "<tbody>"
        for line in block:
            cells = (
                f"<td{_number(place, shown.n_names)}>{safe(cell)}</td>"
                for place, cell in enumerate(line)
            )
            yield f"<tr>{''.join(cells)}</tr>"
        yield "</tbody>"
    yield "</table></div>"


def _number(place: int, n_names: int) -> str:
    return ' class="number"' if place >= n_names else ""
