"""Tables as text. A pipe gets whole names; a terminal gets lines that fit its width."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any

from rich import get_console
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text

from whereof.table import Cell, Column, Table, cell_text

_GAP = "  "
_USUAL_WIDTH = 80
_BOLD = Style(bold=True)
_TONES = {
    "supports": Style(color="green"),
    "opposes": Style(color="red"),
    "changed": Style(color="yellow", bold=True),
    "faint": Style(dim=True),
}


def console(*, stderr: bool = False) -> Console:
    """Standard output or standard error, without markup; respects NO_COLOR."""
    # Of no columns, rich would print nothing.
    width = _USUAL_WIDTH if {*os.environ.get("COLUMNS", "")} == {"0"} else None
    return _Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


class _Console(Console):
    """Prints texts without the control characters of names, which a terminal would obey."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*map(_printable, objects), **options)

    def on_broken_pipe(self) -> None:
        """Nobody reads standard error any more: say nothing, and let the work go on."""
        if not self.stderr:
            super().on_broken_pipe()
        self.quiet = True


def _printable(part: Any) -> Any:
    if isinstance(part, Text):
        part.plain = _printable(part.plain)
        return part
    return "\n".join(map(on_one_line, part.split("\n"))) if isinstance(part, str) else part


def show(out: Console, *parts: RenderableType | Table) -> None:
    """Print sentences and tables; `bold` texts are headings."""
    for part in parts:
        if isinstance(part, Table):
            out.print(_segments(part, room(out)), end="", soft_wrap=True)
            continue
        words = on_one_line(part) if isinstance(part, str) else part
        out.print(words, soft_wrap=not out.is_terminal)


def heading(text: str) -> Text:
    """A bold line below an empty one."""
    return Text(f"\n{on_one_line(text)}", style="bold")


def room(out: Console) -> int | None:
    """The width that lines must fit; None in a pipe, where there is no limit."""
    return out.width if out.is_terminal else None


def _segments(table: Table, width: int | None) -> Segments:
    """The segments of a table; rich's own tables take seconds for 10,000 rows.

    With a width, text columns are wrapped until the table fits; nothing is cut.
    """
    shown, segments = table.rows[: table.most], []
    texts = [
        [column.title, *_cells([row[place] for row in shown], column)]
        for place, column in enumerate(table.columns)
    ]
    # A column without a title and without text is empty.
    kept = [place for place, column in enumerate(texts) if any(column)]
    are_words = [table.columns[place].unit == "text" for place in kept]
    widths = _widths([texts[place] for place in kept], are_words, width)
    if table.title:
        segments += [Segment(on_one_line(table.title), _BOLD), Segment.line()]
    for number in range(len(shown) + 1):
        cells = [texts[place][number] for place in kept]
        styles: list[Style | None] = [_BOLD] * len(kept)
        if number:
            values = [shown[number - 1][place] for place in kept]
            styles = [_TONES.get(each.tone) if isinstance(each, Cell) else None for each in values]
        if number or any(cells):
            segments += _row(cells, styles, widths, are_words)
    n_more = len(table.rows) - len(shown)
    more = f"and {n_more:,} more {'row' if n_more == 1 else 'rows'}; --json has all of them"
    for sentence in filter(None, [more if n_more else "", on_one_line(table.note)]):
        for text in [sentence] if width is None else wrap(sentence, width):
            segments += [Segment(text), Segment.line()]
    return Segments(segments)


def on_one_line(text: str) -> str:
    """A text without line breaks and control characters."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def _cells(values: Sequence[Any], column: Column) -> list[str]:
    """The texts of a column; marks have their own column, so that numbers align."""
    marks = [value.mark if isinstance(value, Cell) else "" for value in values]
    most = max(map(len, marks), default=0)
    return [
        on_one_line(cell_text(value, column)) + " " * (most - len(mark))
        for value, mark in zip(values, marks, strict=True)
    ]


def _row(
    cells: list[str], styles: list[Style | None], widths: list[int], are_words: list[bool]
) -> Iterator[Segment]:
    """One row, in as many lines as its longest cell needs."""
    for texts in zip_longest(*map(_wrapped, cells, widths), fillvalue=""):
        last = max((place for place, text in enumerate(texts) if text.strip()), default=-1)
        for place, text in enumerate(texts[: last + 1]):
            blanks = " " * (widths[place] - cell_len(text))
            padded = f"{text}{blanks}" if are_words[place] else f"{blanks}{text}"
            padded = padded.rstrip() if place == last else padded
            yield Segment(f"{_GAP if place else ''}{padded}", styles[place])
        yield Segment.line()


def _wrapped(text: str, width: int) -> list[str]:
    """The lines of a cell; a word that is too long goes on in the next line."""
    if cell_len(text) <= width:
        return [text]
    words = Text(" ".join(text.split()))
    return [line.plain for line in words.wrap(get_console(), width)]


def _widths(cells: list[list[str]], are_words: list[bool], width: int | None) -> list[int]:
    """The width of each column: as wide as needed, or equal shares for text columns."""
    wanted = [max(map(cell_len, column)) for column in cells]
    if width is None:
        return wanted
    for place, (title, *values) in enumerate(cells):
        if not are_words[place]:  # the title of numbers may take several lines
            wanted[place] = max(map(cell_len, [*title.split(), *values]), default=0)
    left = width - len(_GAP) * (len(wanted) - 1)
    left -= sum(size for size, words in zip(wanted, are_words, strict=True) if not words)
    words = [place for place, is_words in enumerate(are_words) if is_words]
    order = sorted(words, key=wanted.__getitem__)
    for position, place in enumerate(order):
        part = max(left // (len(order) - position), 5)
        wanted[place] = min(wanted[place], part)
        left -= wanted[place]
    return wanted


def markdown(table: Table, level: int = 2) -> str:
    """A heading of a level, the note and the whole table; no heading without a title."""
    rule = ["---" if column.unit == "text" else "---:" for column in table.columns]
    rows = [map(cell_text, row, table.columns) for row in table.rows]
    lines = map(_markdown_line, [(column.title for column in table.columns), rule, *rows])
    title = f"{'#' * level} {table.title}" if table.title else ""
    return "\n\n".join(filter(None, (title, table.note, "\n".join(lines))))


def _markdown_line(cells: Iterable[str]) -> str:
    safe = (" ".join(cell.split()).replace("|", "\\|").replace("<", "&lt;") for cell in cells)
    return f"| {' | '.join(safe)} |"
