"""Which columns of a table hold what: as asked for, as the header says, or by their number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from whence.data._nearest import nearest
from whence.data._options import ReadOptions
from whence.errors import WhenceError

_WORDS: Final = {
    "subject": ("subject", "head", "h", "s", "user"),
    "relation": ("relation", "rel", "r", "predicate", "p"),
    "object": ("object", "tail", "t", "o", "item", "movie", "book", "product"),
    "rating": ("rating", "score", "stars"),
    "time": ("timestamp", "time", "date"),
    "source": ("source", "provenance"),
}
_ROLES: Final = {word: role for role, words in _WORDS.items() for word in words}
_EDGE: Final = {"source": "subject", "target": "object"}
EXPECTED: Final = "2 (subject, object) or 3 (subject, relation, object)"


@dataclass(frozen=True)
class Layout:
    """Positions of columns, from 0."""

    columns: tuple[int, ...]
    """Of subject, relation and object, or subject and object."""
    rating: int | None
    source: int | None
    header: bool
    """Whether the first row only names the columns."""
    names: tuple[str, ...]
    """What each column is called in messages."""

    @property
    def texts(self) -> tuple[int, ...]:
        """The columns of names: those of a fact, and its source."""
        return self.columns if self.source is None else (*self.columns, self.source)

    @property
    def used(self) -> tuple[int, ...]:
        return self.texts if self.rating is None else (*self.texts, self.rating)


def choose_layout(
    cells: Sequence[str], where: str, options: ReadOptions, *, named: bool = False
) -> Layout:
    """The layout of a table whose first row is `cells`; the names of its columns, if `named`."""
    header = True if named else options.header
    roles = {} if header is False else _roles(cells, whole=header is None)
    asked = [text.strip() for text in options.columns.split(",")] if options.columns else []
    if header is None:
        texts = (*asked, options.rating or "1", options.source or "1")
        header = bool(roles) or not all(map(str.isdecimal, texts))
    if asked:
        roles = {}

    def find(text: str) -> int:
        return _position(text, cells, where, header=header)

    rating = find(options.rating) if options.rating else roles.get("rating")
    source = find(options.source) if options.source else roles.get("source")
    columns = tuple(map(find, asked)) or _fact_roles(roles)
    columns = columns or _remaining(len(cells), rating, source, where)
    if len(columns) == 3 and not options.rating:
        rating = None
    _check(columns, rating, source, where)
    names = tuple(repr(cell) if header else str(at) for at, cell in enumerate(cells, 1))
    return Layout(columns, rating, source, header and not named, names)


def _roles(cells: Sequence[str], *, whole: bool) -> dict[str, int]:
    """Role -> position, where subject and object are named and, for a `whole` header, all are."""
    words = [cell.strip().casefold().replace("_", "").removesuffix("id") for cell in cells]
    known = _ROLES | _EDGE if _EDGE.keys() <= set(words) else _ROLES
    found = [(known[word], at) for at, word in enumerate(words) if word in known]
    roles = dict(found)
    if len(roles) < len(found) or not {"subject", "object"} <= roles.keys():
        return {}
    return {} if whole and len(found) < len(cells) else roles


def _fact_roles(roles: dict[str, int]) -> tuple[int, ...]:
    return tuple(roles[role] for role in ("subject", "relation", "object") if role in roles)


def _position(text: str, cells: Sequence[str], where: str, *, header: bool) -> int:
    """The position of a column given by its name, or by its number from 1."""
    if text.isdecimal():
        if not 1 <= int(text) <= len(cells):
            raise WhenceError(f"{where}: no column {text}; there are {len(cells)}, from 1")
        return int(text) - 1
    if not header:
        raise WhenceError(
            f"{where}: {text!r} names a column, and there is no header; give its number, from 1"
        )
    names = [cell.strip() for cell in cells]
    found = [at for at, name in enumerate(names) if name == text]
    found = found or [at for at, name in enumerate(names) if name.casefold() == text.casefold()]
    if len(found) == 1:
        return found[0]
    if found:
        raise WhenceError(f"{where}: {len(found)} columns named {text!r}; give its number, from 1")
    near = nearest(text, names, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise WhenceError(f"{where}: no column {text!r}; {hint}there are {', '.join(names)}")


def _remaining(
    n_columns: int, rating: int | None, source: int | None, where: str
) -> tuple[int, ...]:
    """The columns that are left when nothing says which ones hold the fact."""
    columns = tuple(at for at in range(n_columns) if at not in (rating, source))
    if rating is not None:
        columns = columns[:2]
    if len(columns) not in (2, 3):
        count = "1 column" if n_columns == 1 else f"{n_columns} columns"
        remedy = "separate them by TAB, or by comma in .csv files"
        if n_columns > 1:
            remedy = "say which with columns, such as 1,2,3 or head,relation,tail"
        raise WhenceError(f"{where}: {count}, expected {EXPECTED}; {remedy}")
    return columns


def _check(columns: tuple[int, ...], rating: int | None, source: int | None, where: str) -> None:
    if len(columns) not in (2, 3):
        raise WhenceError(f"columns names {len(columns)}; give {EXPECTED}")
    if rating is not None and len(columns) == 3:
        raise WhenceError(
            f"{where}: ratings go with 2 columns, user and item; name those in columns"
        )
    used = [at for at in (*columns, rating, source) if at is not None]
    if len(set(used)) < len(used):
        raise WhenceError(f"{where}: one column is asked for twice; choose another for each")
