"""Tables as Markdown."""

from collections.abc import Iterator, Sequence

from whereof.table import Table, cell_text


def markdown(table: Table, level: int = 2) -> str:
    """A heading, the note and the table; `level` 0 omits heading and note."""
    parts = [f"{'#' * level} {table.title}", ""] if level and table.title else []
    parts += [table.note, ""] if level and table.note else []
    return "\n".join([*parts, *_lines(table)]) + "\n"


def _lines(table: Table) -> Iterator[str]:
    shown = table.rows[: table.most]
    yield _line([column.title for column in table.columns])
    yield _line(["---" if column.unit == "text" else "---:" for column in table.columns])
    for row in shown:
        yield _line(list(map(cell_text, row, table.columns)))
    more = len(table.rows) - len(shown)
    if more:
        yield f"\nand {more:,} more {'row' if more == 1 else 'rows'}"


def _line(cells: Sequence[str]) -> str:
    safe = (" ".join(cell.split()).replace("|", "\\|").replace("<", "&lt;") for cell in cells)
    return f"| {' | '.join(safe)} |"
