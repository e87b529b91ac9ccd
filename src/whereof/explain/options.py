"""Options of an explanation, in one table for command options, docs and checks."""

from dataclasses import Field, dataclass
from typing import Any

from whereof.errors import WhereofError
from whereof.registry import METHODS, names
from whereof.settings import Settings, choice, number

_METHODS = " ".join(names(METHODS))
ROLES = "subject relation object several"
"""Values of `role`: what a fact shares with the prediction."""


class MethodSettings(Settings):
    """Settings with a `method`, which may also come from a plugin or from `register`."""

    @classmethod
    def check(cls, item: "Field[Any]", value: Any) -> None:
        if item.name != "method" or value not in names(METHODS):
            super().check(item, value)


@dataclass(frozen=True)
class ExplainOptions(MethodSettings):
    """How to explain a prediction and which facts to list. Values are checked on creation."""

    method: str = choice("rollback", "how to estimate influence", "Method", _METHODS)
    of: str | None = choice(
        None,
        "what influence is measured on  [default: probability; score for a rating model]",
        "Method",
        "probability score loss",
    )
    asks: str = choice("object", "the part that the model predicts", "Method", "object subject")
    candidates: str | list | tuple | None = choice(  # type: ignore[type-arg]
        None,
        "answers to rank: objects, subjects, entities, seen (with this relation), names or FILE",
        "Method",
    )
    instead_of: str | None = choice(
        None, "explain why the prediction and not this answer", "Method"
    )
    exhaustive: bool = choice(False, "score every fact against every candidate (slow)", "Method")
    seed: int = number(0, "seed for methods that draw at random", "Method", 0)

    top: int | str | None = number(10, "number of facts, or all", "Facts", 1, "all")
    opposing: bool = choice(False, "list facts that oppose, strongest first", "Facts")
    role: str | None = choice(
        None, "only facts that share this part with the prediction", "Facts", ROLES
    )
    relation: str | list | tuple | None = choice(  # type: ignore[type-arg]
        None, "only facts with this relation; repeatable", "Facts", several="NAME"
    )
    entity: str | list | tuple | None = choice(  # type: ignore[type-arg]
        None, "only facts with this entity; repeatable", "Facts", several="NAME"
    )
    without: int | str | list | tuple | None = choice(  # type: ignore[type-arg]
        None,
        "show the prediction without these facts: ids, or names separated by commas",
        "Facts",
        several="FACT",
    )

    stability: bool = choice(False, "show the prediction without its top 1, 3 and 10 facts", "More")
    graph: bool = choice(
        False, "show facts and paths that connect the prediction's entities", "More"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.instead_of is not None and self.of is not None:
            raise WhereofError("instead_of always measures the log of the ratio; leave out of")
        if self.graph and not self._removes_groups():
            raise WhereofError(f"graph requires method rollback, not {self.method}")
        others = ("role", "relation", "entity", "opposing")
        if self.without is not None and any(getattr(self, name) for name in others):
            raise WhereofError(f"without already names the facts; leave out {', '.join(others)}")

    def _removes_groups(self) -> bool:
        from whereof.explain.method import get_method  # compiled code is loaded when needed

        return "groups" in get_method(self.method).can


def as_list(value: Any) -> list[Any]:
    """A list of the given values: none, one or several."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
