"""The words of a page: subjects and objects, or users, items and ratings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from whereof.present import names

SPLITS = {"train": "training", "valid": "validation", "test": "test"}
"""Where an answer is known from, in words."""
_LONG = 30
"""Letters of a relation above which tables and lists shorten it."""
_SHORT = 10
"""Letters of the last step of a relation below which the step before it is shown too."""


@dataclass(frozen=True)
class Words:
    """What the places of a fact, and a fact, are called."""

    subject: str = "subject"
    object: str = "object"
    fact: str = "fact"
    two_way: bool = False

    @classmethod
    def of(cls, *, two_way: bool, rated: bool = False) -> "Words":
        """The words for two-way data, with or without ratings, or for other data."""
        return cls("user", "item", "rating" if rated else "fact", True) if two_way else cls()

    def place(self, place: str) -> str:
        """The name of a place: subject or object."""
        return str(getattr(self, place, place))

    def parts(self, item: names.Named) -> list[tuple[str, str, str]]:
        """Place, label and name of each part of a fact or prediction."""
        parts = []
        for place in names.places_of(item):
            name, label = names.name_of(item, place), names.label_of(item, place)
            shown = label if place == "relation" else self.label(name, label, place)
            parts.append((place, shown, name))
        return parts

    def label(self, name: str | None, label: str | None, place: str) -> str:
        """The label of an entity; without one, `user` or `item` stands before the name."""
        if self.two_way and label in (None, "", name):
            return f"{self.place(place)} {name}"
        return label or name or ""


def query_text(names: Mapping[str, Any], labels: Mapping[str, str | None]) -> str:
    """The names of a question by their labels: `user 405, Heat`, or subject, relation, object."""
    words, parts = Words.of(two_way=not names.get("relation")), list[str]()
    for place in ("subject", "relation", "object"):
        name, label = names.get(place), labels.get(place)
        if name in (None, "", "_"):
            continue
        is_relation = place == "relation"
        parts.append(
            short_relation(label or name) if is_relation else words.label(name, label, place)
        )
    return (", " if words.two_way else " ").join(parts)


def short_relation(label: str) -> str:
    """A relation that is a long path, by its last step, or two if that is one short word."""
    steps = label.rstrip("/").split("/")
    if len(label) <= _LONG or len(steps) <= 3:
        return label
    return f"…/{'/'.join(steps[-2:] if len(steps[-1]) < _SHORT else steps[-1:])}"


def address(run: str, page: str, **query: Any) -> str:
    """The address of a page of a run; empty values are left out."""
    return f"/runs/{quote(run, safe='')}/{page}{_query(query)}"


def api_address(run: str, page: str, **query: Any) -> str:
    """The address of a document of a run."""
    return f"/api{address(run, page, **query)}"


def _query(query: Mapping[str, Any]) -> str:
    given = {name: value for name, value in query.items() if value not in (None, "", False)}
    return f"?{urlencode(given)}" if given else ""
