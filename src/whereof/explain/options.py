"""Options of an explanation, in one table for command options, docs and checks."""

from dataclasses import dataclass

from whereof.registry import METHODS
from whereof.settings import Settings, choice, number

ROLES = "subject relation object several"
"""Values of `role`: what a fact shares with the prediction."""


@dataclass(frozen=True)
class ExplainOptions(Settings):
    """How to explain a prediction and which facts to list. Values are checked on creation."""

    method: str = choice("rollback", "how to estimate influence", "Method", registry=METHODS)
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
        None,
        "explain why the prediction and not this answer",
        "Method",
        excludes="of",
        reason="instead_of always measures the log of the ratio",
    )
    exhaustive: bool = choice(False, "score every fact against every candidate (slow)", "Method")
    seed: int = number(0, "seed for methods that draw at random", "Method", 0)

    top: int | str | None = number(10, "number of facts, or all", "Facts", 1, word="all")
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
        excludes="role relation entity opposing",
        reason="without already names the facts",
    )

    stability: bool = choice(False, "show the prediction without its top 1, 3 and 10 facts", "More")
    graph: bool = choice(False, "show facts and paths between the prediction's entities", "More")
