"""The meaning of a table's columns: by option, by header, or by position."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from whereof.data.options import ReadOptions
from whereof.data.vocabulary import did_you_mean
from whereof.errors import WhereofError
from whereof.units import count

EXPECTED: Final = "2 (subject, object) or 3 (subject, relation, object)"
PLACES: Final = {2: ("subject", "object"), 3: ("subject", "relation", "object")}
"""The places of a fact, by their number."""
_SHOWN: Final = 60
_WORDS: Final = {
    "subject": "subject head h s user customer",
    "relation": "relation rel r predicate p",
    "object": "object tail t o item movie film book product song track artist",
    "rating": "rating score stars",
    "time": "timestamp time date",
    "source": "source provenance",
}
_ROLES: Final = {word: role for role, words in _WORDS.items() for word in words.split()}
_EDGE: Final = {"source": "subject", "target": "object"}


@dataclass(frozen=True)
class ColumnLayout:
    """The meaning of a table's columns. Positions count from 0."""

    places: Mapping[str, int]
    """The position of each role: subject, relation, object, source, rating, if it is there."""
    read_as: Mapping[str, str] = field(default_factory=dict)
    """The name of each role's column; empty without a header."""
    header: bool = False
    """Whether the first row is a header."""
    note: str = ""
    """A note if the detected header could also be a fact."""

    @property
    def texts(self) -> dict[str, int]:
        """The positions of names: those of a fact, and its source."""
        return {role: at for role, at in self.places.items() if role != "rating"}

    def column(self, role: str) -> str:
        """The column of a role in messages, by name or by number."""
        return f"column {repr(self.read_as[role]) if self.read_as else self.places[role] + 1}"

    def empty(self, where: str, role: str) -> WhereofError:
        """The error for an empty cell."""
        return WhereofError(
            f"{where}: {self.column(role)} is empty; correct it or leave the row out"
        )

    def bad_rating(self, where: str, cell: Any) -> WhereofError:
        """The error for a rating that is not a number."""
        return WhereofError(
            f"{where}: rating {shown(cell)} is not a finite number; correct it or leave the row out"
        )


def shown(cell: Any) -> str:
    """A cell for a message: on one line, shortened if it is long."""
    text = " ".join(repr(cell).split("\n"))
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def choose_layout(
    cells: Sequence[str], where: str, options: ReadOptions, *, named: bool = False
) -> ColumnLayout:
    """The layout of a table with first row `cells`, which is the column names if `named`."""
    asked = [text.strip() for text in options.columns.split(",")] if options.columns else []
    # Asking for a column by name says that there is a header.
    texts = (*asked, options.rating or "1", options.source or "1")
    header = named or options.header
    if header is None and not all(map(str.isdecimal, texts)):
        header = True
    row = _Row(cells, where, header, reads_roles=not asked)
    rating = row.find(options.rating) if options.rating else row.role("rating")
    source = row.find(options.source) if options.source else row.role("source")
    columns = tuple(map(row.find, asked)) or row.fact(rating, source)
    if len(columns) not in PLACES:
        raise WhereofError(f"columns has length {len(columns)}; give {EXPECTED}")
    if len(columns) == 3 and options.rating:
        raise WhereofError(
            f"{where}: ratings require 2 columns, user and item; name them with columns"
        )
    others = {"source": source, "rating": rating if len(columns) == 2 else None}
    places = dict(zip(PLACES[len(columns)], columns, strict=True))
    places |= {role: at for role, at in others.items() if at is not None}
    if len({*places.values()}) < len(places):
        raise WhereofError(f"{where}: one column is used twice; choose different columns")
    return ColumnLayout(
        places,
        read_as={role: row.cells[places[role]] for role in _WORDS if role in places and row.header},
        header=row.header and not named,
        note=row.note(places.values()),
    )


def find_column(text: str, cells: Sequence[str], where: str, *, header: bool) -> int:
    """The position (from 0) of a column given by name or by number (from 1)."""
    if text.isdecimal():
        if not 1 <= int(text) <= len(cells):
            raise WhereofError(f"{where}: no column {text}; there are {len(cells)}, from 1")
        return int(text) - 1
    if not header:
        raise WhereofError(
            f"{where}: {text!r} names a column, and there is no header; give its number, from 1"
        )
    names = [cell.strip() for cell in cells]
    found = [at for at, name in enumerate(names) if name == text]
    found = found or [at for at, name in enumerate(names) if name.casefold() == text.casefold()]
    if len(found) == 1:
        return found[0]
    if found:
        raise WhereofError(f"{where}: {len(found)} columns named {text!r}; give its number, from 1")
    hint = did_you_mean(text, names, 1)
    raise WhereofError(f"{where}: no column {text!r}; {hint}there are {', '.join(names)}")


def _roles_of(cells: Sequence[str]) -> list[str]:
    """The role of each cell's word; "" for an unknown word."""
    words = [*map(_word, cells)]
    known = _ROLES | _EDGE if _EDGE.keys() <= set(words) else _ROLES
    return [known.get(word, "") for word in words]


def _is_clear(cells: Sequence[str]) -> bool:
    """Whether at least two roles are given by whole words, not letters."""
    pairs = zip(cells, _roles_of(cells), strict=True)
    return len({role for cell, role in pairs if role and len(_word(cell)) > 1}) > 1


def _is_header(cells: Sequence[str]) -> bool:
    """Whether a first row is a header: two roles or more; if single letters, only roles."""
    roles = _roles_of(cells)
    ends = {"subject", "object"} <= set(roles)
    return _is_clear(cells) or (ends and all(roles) and len(set(roles)) == len(roles))


def _word(cell: str) -> str:
    return cell.strip().casefold().replace("_", "").removesuffix("id")


class _Row:
    """The first row of a table and what follows from it."""

    def __init__(
        self, cells: Sequence[str], where: str, header: bool | None, *, reads_roles: bool
    ) -> None:
        self.cells = [cell.strip() for cell in cells]
        self.where = where
        self.guessed = header is None and _is_header(cells)
        self.header = header or self.guessed
        self.roles = _roles_of(cells) if self.header and reads_roles else [""] * len(cells)

    def role(self, role: str) -> int | None:
        """The position of the column with this role in the header."""
        found = [at for at, word in enumerate(self.roles) if word == role]
        if len(found) > 1:
            names = " and ".join(repr(self.cells[at]) for at in found)
            option = role if role in ("rating", "source") else "columns"
            raise WhereofError(
                f"{self.where}: {names} are both {role} columns; say which with {option}"
            )
        return found[0] if found else None

    def find(self, text: str) -> int:
        return find_column(text, self.cells, self.where, header=self.header)

    def fact(self, rating: int | None, source: int | None) -> tuple[int, ...]:
        """The columns of a fact: by their roles, else the remaining columns in order."""
        taken = (rating, source)
        free = [at for at, word in enumerate(self.roles) if not word and at not in taken]
        ends = {end: self.role(end) for end in PLACES[2]}
        missing = [end for end, at in ends.items() if at is None]
        if len(missing) == 1 and len(free) == 1:
            ends[missing[0]] = free.pop()
        subject, target, relation = ends["subject"], ends["object"], self.role("relation")
        if subject is None or target is None:
            return self._remaining(rating, source)
        if relation is None and rating is None and len(free) == 1 and subject < free[0] < target:
            relation = free[0]
        return (subject, target) if relation is None else (subject, relation, target)

    def _remaining(self, rating: int | None, source: int | None) -> tuple[int, ...]:
        columns = tuple(
            at
            for at, word in enumerate(self.roles)
            if word != "time" and at not in (rating, source)
        )
        # Ratings follow user and item; a column after them is probably a time.
        if rating is not None and not any(self.roles) and columns[1:2] < (rating,) < columns[2:3]:
            columns = columns[:2]
        rated = rating is not None and any(self.roles)
        order = PLACES[2 if rated or len(columns) == 2 else 3]
        roles = [self.roles[at] or role for at, role in zip(columns, order, strict=False)]
        if len(columns) == len(order) and roles == [*order]:
            return columns
        if any(self.roles):
            raise WhereofError(
                f"{self.where}: cannot tell subject and object among {', '.join(self.cells)}; "
                "name them with columns" + (", or say --no-header" if self.guessed else "")
            )
        remedy = "separate them by TAB, or by comma in .csv files"
        if len(self.cells) > 1:
            remedy = "say which with columns, such as 1,2,3 or head,relation,tail"
        n_columns = count(len(self.cells), "column")
        raise WhereofError(f"{self.where}: {n_columns}, expected {EXPECTED}; {remedy}")

    def note(self, used: Collection[int]) -> str:
        """A note for a header of single letters or with unknown words."""
        known = all(self.roles) or not any(self.roles)
        if not self.guessed or (known and _is_clear(self.cells)):
            return ""
        unread = [
            cell for at, cell in enumerate(self.cells) if not self.roles[at] and at not in used
        ]
        lost = f"; not read: {', '.join(unread)}" if unread and any(self.roles) else ""
        return f"taken as the header: {', '.join(self.cells)}{lost}"
