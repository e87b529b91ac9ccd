"""The tables as Markdown."""

from collections.abc import Iterator, Sequence

from whereof.paper._provenance import Measured, measured_text
from whereof.paper._records import Table
from whereof.paper._text import grid


def markdown(
    title: str, measured: Sequence[Measured], summary: Sequence[str], tables: Sequence[Table]
) -> str:
    """A whole file: what was measured where, what the tables say, then each of them."""
    parts = [f"# {title}", "", *measured_text(measured, code="`"), ""]
    parts += [f"- {sentence}" for sentence in summary]
    for table in tables:
        parts += ["", f"## {table.title}", "", table.about, "", *_rows(table)]
    return "\n".join(parts) + "\n"


def _rows(table: Table) -> Iterator[str]:
    shown = grid(table)
    n_numbers = len(shown.heads) - shown.n_names
    yield _line(shown.heads)
    yield _line(["---"] * shown.n_names + ["---:"] * n_numbers)
    for block in shown.blocks:
        yield from map(_line, block)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
