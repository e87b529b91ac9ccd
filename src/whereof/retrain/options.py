"""The options of a verdict: one table that feeds commands, docs and checks."""

from dataclasses import dataclass

from whereof.errors import WhereofError
from whereof.explain.options import ROLES, MethodSettings
from whereof.registry import METHODS, names
from whereof.settings import choice, number


@dataclass(frozen=True)
class VerifyOptions(MethodSettings):
    """Which facts are removed, and how often; checked on making."""

    method: str = choice("rollback", "how the facts to remove are found", "Facts", *names(METHODS))
    top: int | str = choice(10, "number of facts, or `all` that support", "Facts")
    role: str | None = choice(None, "only facts that share this", "Facts", *ROLES)
    facts: int | str | list | tuple | None = choice(  # type: ignore[type-arg]
        None, "remove these facts instead: ids, or names by commas; repeatable", "Facts"
    )
    asks: str = choice("object", "the place whose candidates compete", "Facts", "object", "subject")
    seed: int = number(0, "seed for what a method draws at random", "Facts", 0)

    each: bool = choice(False, "also remove every fact alone", "Retraining")
    seeds: int = number(
        1, "number of seeds: also verify in runs of the next seeds, trained once", "Retraining", 1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top != "all" and (isinstance(self.top, str) or self.top < 1):
            raise WhereofError(f"top is {self.top!r}; give a number from 1 on, or all")
        if self.facts is not None and self.role is not None:
            raise WhereofError("facts names what is removed; leave out role")
