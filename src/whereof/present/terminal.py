"""Tables in the terminal. A pipe gets whole names; a terminal gets lines that fit its width."""

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any

from rich.cells import cell_len, chop_cells
from rich.console import Console, RenderableType
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text

from whereof.table import WORDS, Cell, Column, Table, cell_text

_GAP = "  "
_NARROWEST = 5
"""The minimum width of a text column."""
_TONES = {"supports": "green", "opposes": "red", "changed": "bold yellow", "faint": "dim"}


def console(*, stderr: bool = False) -> Console:
    """Standard output or standard error, without markup; respects NO_COLOR."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def show(out: Console, *parts: RenderableType | Table) -> None:
    """Print sentences and tables; `bold` texts are headings."""
    for part in parts:
        if isinstance(part, Table):
            out.print(table_segments(part, room(out)), end="", soft_wrap=True)
            continue
        words = on_one_line(part) if isinstance(part, str) else part
        out.print(words, soft_wrap=not out.is_terminal)


def heading(text: str) -> Text:
    """A bold line below an empty one."""
    return Text(f"\n{on_one_line(text)}", style="bold")


def room(out: Console) -> int | None:
    """The width that lines must fit; None in a pipe, where there is no limit."""
    return out.width if out.is_terminal else None


def table_segments(table: Table, width: int | None = None, *, rest: str = "--json") -> Segments:
    """The segments of a table; rich's own tables take seconds for 10,000 rows.

    With a width, text columns are wrapped until the table fits; nothing is cut. `rest` names where
    to find rows that are not shown.
    """
    shown = table.rows[: table.most]
    columns = [
        _cells([row[place] for row in shown], column) for place, column in enumerate(table.columns)
    ]
    # A column without a title and without text is empty.
    places = [
        place for place, cells in enumerate(columns) if table.columns[place].title or any(cells)
    ]
    titles = [table.columns[place].title for place in places]
    are_words = [table.columns[place].unit in WORDS for place in places]
    cells = [columns[place] for place in places]
    widths = _widths(titles, cells, are_words, width)
    segments = []
    if table.title:
        segments += [Segment(table.title, Style(bold=True)), Segment.line()]
    if any(titles):
        segments += _row(titles, [None] * len(places), widths, are_words, Style(bold=True))
    styles = {tone: Style.parse(style) for tone, style in _TONES.items()}
    for index, row in enumerate(shown):
        tones = [
            styles.get(row[place].tone) if isinstance(row[place], Cell) else None
            for place in places
        ]
        segments += _row([each[index] for each in cells], tones, widths, are_words)
    for sentence in _below(table, len(shown), rest):
        for text in [sentence] if width is None else wrap(sentence, width):
            segments += [Segment(text), Segment.line()]
    return Segments(segments)


def plain(table: Table) -> str:
    """A table as plain text of any width."""
    return "".join(segment.text for segment in table_segments(table).segments)


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


def _below(table: Table, n_shown: int, rest: str) -> Iterable[str]:
    if len(table.rows) > n_shown:
        more = len(table.rows) - n_shown
        yield f"and {more:,} more {'row' if more == 1 else 'rows'}; {rest} has all of them"
    if table.note:
        yield table.note


def _row(
    cells: Sequence[str],
    tones: Sequence[Style | None],
    widths: Sequence[int],
    are_words: Sequence[bool],
    style: Style | None = None,
) -> list[Segment]:
    """One row, in as many lines as its longest cell needs."""
    parts = [_wrapped(text, width) for text, width in zip(cells, widths, strict=True)]
    segments = []
    for number in range(max(map(len, parts), default=0)):
        filled = (
            place
            for place, lines in enumerate(parts)
            if "".join(lines[number : number + 1]).strip()
        )
        last = max(filled, default=-1)
        for place in range(last + 1):
            lines = parts[place]
            text = lines[number] if number < len(lines) else ""
            blanks = " " * (widths[place] - cell_len(text))
            gap = _GAP if place else ""
            padded = f"{text}{blanks}" if are_words[place] else f"{blanks}{text}"
            padded = padded.rstrip() if place == last else padded
            segments.append(Segment(f"{gap}{padded}", tones[place] or style))
        segments.append(Segment.line())
    return segments


def _wrapped(text: str, width: int) -> list[str]:
    """The lines of a cell; a word that is too long goes on in the next line."""
    if cell_len(text) <= width:
        return [text]
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(joined) <= width:
            lines[-1] = joined
            continue
        first, *others = chop_cells(word, width)
        lines = [*lines, first, *others] if lines[-1] else [first, *others]
    return lines


def _widths(
    titles: Sequence[str],
    cells: Sequence[Sequence[str]],
    are_words: Sequence[bool],
    width: int | None,
) -> list[int]:
    """The width of each column: as wide as needed, or equal shares for text columns."""
    wanted = [
        max(map(cell_len, (title, *column)), default=0)
        for title, column in zip(titles, cells, strict=True)
    ]
    if width is None:
        return wanted
    left = width - len(_GAP) * (len(wanted) - 1)
    left -= sum(size for size, words in zip(wanted, are_words, strict=True) if not words)
    order = sorted(
        (place for place, words in enumerate(are_words) if words), key=wanted.__getitem__
    )
    for position, place in enumerate(order):
        part = max(left // (len(order) - position), _NARROWEST)
        wanted[place] = min(wanted[place], part)
        left -= wanted[place]
    return wanted
