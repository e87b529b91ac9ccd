"""What sections are made of: headings, tables, figures, and numbers as people read them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whereof.drawing._axes import is_number as known
from whereof.drawing._text import percent, plain, safe

Document = Mapping[str, Any]

_UNKNOWN = "\N{EM DASH}"
_MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it; one with no parts is left out."""

    title: str
    parts: tuple[str, ...]
    key: str
    """Where links lead."""

    def html(self, level: int) -> str:
        heading = f'<h{level} id="{safe(self.key)}">{safe(self.title)}</h{level}>'
        return "\n".join(("<section>", heading, *self.parts, "</section>"))


def paragraph(*sentences: str, kind: str = "") -> str:
    """Sentences, escaped, one after another; nothing where there are none."""
    said = " ".join(sentence for sentence in sentences if sentence)
    look = f' class="{kind}"' if kind else ""
    return f"<p{look}>{safe(said)}</p>" if said else ""


def items(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and what they stand for."""
    rows = "".join(f"<dt>{safe(name)}</dt><dd>{safe(value)}</dd>" for name, value in pairs)
    return f"<dl>{rows}</dl>"


def table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], about: str = "", *, n_words: int = 1
) -> str:
    """A table whose first columns are words and the others numbers."""
    heads = "".join(
        f'<th scope="col"{_look(column, n_words)}>{safe(title)}</th>'
        for column, title in enumerate(titles)
    )
    body = "\n".join(f"<tr>{''.join(_cells(row, n_words))}</tr>" for row in rows)
    caption = f"<caption>{safe(about)}</caption>" if about else ""
    return (
        f'<div class="wide"><table>{caption}<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cells(row: Sequence[str], n_words: int) -> Iterator[str]:
    for column, cell in enumerate(row):
        if column == 0:
            yield f'<th scope="row">{safe(cell)}</th>'
        else:
            yield f"<td{_look(column, n_words)}>{safe(cell)}</td>"


def _look(column: int, n_words: int) -> str:
    return "" if column < n_words else ' class="number"'


def figures(*charts: str) -> str:
    """Charts side by side where there is room."""
    return f'<div class="figures">{"".join(f"<figure>{svg}</figure>" for svg in charts)}</div>'


def commands(lines: Iterable[str]) -> str:
    """Lines to type into a terminal."""
    return f"<pre><code>{safe(chr(10).join(lines))}</code></pre>"


def rate(value: float | None) -> str:
    """A share in percent."""
    return percent(value) if known(value) else _UNKNOWN


def number(value: float | None) -> str:
    """Three digits of a measure, with its sign."""
    if not known(value):
        return _UNKNOWN
    return f"{_MINUS if value < 0 else ''}{plain(abs(value))}" if value else "0"


def correlation(value: float | None) -> str:
    """Three digits after the point."""
    return f"{value:.3f}".replace("-", _MINUS) if known(value) else _UNKNOWN


def amount(value: float | None) -> str:
    """How many, on average."""
    if not known(value):
        return _UNKNOWN
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,.1f}"


def span(interval: Sequence[float | None] | None, say: Any = rate) -> str:
    """An interval in words."""
    if interval is None or not all(map(known, interval)):
        return _UNKNOWN
    return f"{say(interval[0])} to {say(interval[1])}"


def points(value: float) -> str:
    """A difference of shares in percentage points."""
    return f"{abs(100 * value):.1f} points"


def p_text(value: float | None) -> str:
    """A p-value; small ones as below a thousandth."""
    if not known(value):
        return _UNKNOWN
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def count(n: float, noun: str) -> str:
    """`1 fact`, `143 predictions`, `261.4 facts`."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{amount(n)} {noun if n == 1 else several}"
