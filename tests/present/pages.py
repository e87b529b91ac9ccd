"""Parse pages: check that tags are closed, and collect their text. And tables as plain text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

from rich.console import Console

from whereof.present.terminal import show
from whereof.table import Table

_HEADINGS = frozenset({"h1", "h2", "h3"})
_VOID = frozenset({"meta", "br", "hr", "img", "input", "link", "wbr"})


@dataclass
class Page:
    """What a browser would find."""

    headings: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    """All text except styles and scripts."""

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).replace("\N{NO-BREAK SPACE}", " ").split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page, self.open = Page(), list[str]()
        self._broken = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        self.page.tags.append(tag)
        self._broken = tag == "wbr"
        if tag not in _VOID:
            self.open.append(tag)
        if names.get("id"):
            self.page.ids.append(str(names["id"]))
        if tag in _HEADINGS:
            self.page.headings.append("")
        if tag == "a":
            self.page.links.append(str(names["href"]))
        self.page.sources += [str(names[key]) for key in ("src", "xlink:href") if key in names]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in _HEADINGS:
            self.page.headings[-1] = " ".join(self.page.headings[-1].split())

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            return
        if self._broken:
            self.page.words[-1] += data  # a word goes on after a place where it may be broken
        else:
            self.page.words.append(data)
        self._broken = False
        if _HEADINGS & {*self.open}:
            self.page.headings[-1] += data


def read_page(html: str) -> Page:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader.page


def plain(table: Table) -> str:
    """A table as a pipe gets it."""
    out = Console(force_terminal=False, highlight=False, markup=False, emoji=False)
    with out.capture() as capture:
        show(out, table)
    return capture.get()
