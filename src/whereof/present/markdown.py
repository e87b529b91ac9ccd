"""Tables as Markdown."""

from collections.abc import Iterator, Sequence

from whereof.table import WORDS, Table, cell_text


def markdown(table: Table, level: int = 2) -> str:
    """A heading, the note and the table; `level` 0 omits heading and note."""
    parts = [f"{'#' * level} {table.title}", ""] if level and table.title else []
    parts += [table.note, ""] if level and table.note else []
    return "\n".join([*parts, *_lines(table)]) + "\n"


def _lines(table: Table) -> Iterator[str]:
    yield _line([column.title for column in table.columns])
    yield _line(["---" if column.unit in WORDS else "---:" for column in table.columns])
    for row in table.rows[: table.most]:
        yield _line(
            [cell_text(each, column) for each, column in zip(row, table.columns, strict=True)]
        )
    more = len(table.rows) - len(table.rows[: table.most])
    if more:
        yield f"\nand {more:,} more {'row' if more == 1 else 'rows'}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_safe, cells))} |"


def _safe(text: str) -> str:
    """An escaped text for a Markdown cell."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
