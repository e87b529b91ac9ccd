"""Addresses of pages: what a reader chose there, so that a link leads to the same view."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode


@dataclass(frozen=True)
class PredictionAddress:
    """The prediction that a page is about, by names; an empty name is open."""

    subject: str = ""
    relation: str = ""
    object: str = ""
    asks: str = "object"

    def query(self, **changed: Any) -> dict[str, Any]:
        """The values of the address, without those that are the default."""
        plain = type(self)
        given = {name: value for name, value in vars(self).items() if value != getattr(plain, name)}
        return given | changed


@dataclass(frozen=True)
class AskAddress(PredictionAddress):
    """The address of an Ask page."""

    top: int = 10
    known: bool = False
    """Whether recommendations include items that the user already has."""

    def query(self, **changed: Any) -> dict[str, Any]:
        found = super().query(**changed)
        return found | ({"known": "true"} if found.get("known") else {})


@dataclass(frozen=True)
class WhyAddress(PredictionAddress):
    """The address of a Why page."""

    method: str = ""
    top: int = 10
    opposing: str = "both"
    """true, false or both: which facts are listed."""
    of: str = ""
    without: tuple[int, ...] = ()
    """Ids of the facts that are left out."""

    def query(self, **changed: Any) -> dict[str, Any]:
        found = super().query(**changed)
        if not isinstance(found.get("without", ""), str):
            found["without"] = ",".join(map(str, found["without"]))
        return found


def answer_query(query: Mapping[str, Any], asks: str, answer: str) -> dict[str, Any]:
    """The query of the Why page of an answer; query: the names that were given."""
    return {**query, asks: answer, "asks": "" if asks == PredictionAddress.asks else asks}


def address(run: str, page: str, **query: Any) -> str:
    """The address of a page of a run; empty values are left out."""
    return f"/runs/{quote(run, safe='')}/{page}{_query(query)}"


def api_address(run: str, page: str, **query: Any) -> str:
    """The address of a document of a run."""
    return f"/api{address(run, page, **query)}"


def _query(query: Mapping[str, Any]) -> str:
    given = {name: value for name, value in query.items() if value not in (None, "", False)}
    return f"?{urlencode(given)}" if given else ""
