"""Headers: the words that name columns, and whether a first row is made of them."""

from collections.abc import Sequence
from typing import Final

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


def roles_of(cells: Sequence[str]) -> list[str]:
    """The role that each cell names; "" where it names none."""
    words = [*map(_word, cells)]
    known = _ROLES | _EDGE if _EDGE.keys() <= set(words) else _ROLES
    return [known.get(word, "") for word in words]


def is_header(cells: Sequence[str]) -> bool:
    """Whether a first row names columns: two roles at least, or all of them where by letters."""
    roles = roles_of(cells)
    ends = {"subject", "object"} <= set(roles)
    return is_clear(cells) or (ends and all(roles) and len(set(roles)) == len(roles))


def is_clear(cells: Sequence[str]) -> bool:
    """Whether two roles are named by more than a letter."""
    pairs = zip(cells, roles_of(cells), strict=True)
    return len({role for cell, role in pairs if role and len(_word(cell)) > 1}) > 1


def _word(cell: str) -> str:
    return cell.strip().casefold().replace("_", "").removesuffix("id")
