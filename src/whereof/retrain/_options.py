"""What is asked of a verdict: one table that feeds commands, docs and checks."""

from dataclasses import dataclass

from whereof.errors import WhereofError
from whereof.explain import METHODS
from whereof.settings import Settings, choice, number


@dataclass(frozen=True)
class VerifyOptions(Settings):
    """Which facts are removed, and how often that is tried; checked on making."""

    method: str = choice("rollback", "how the facts to remove are found", "Facts", *METHODS)
    top: int | str = choice(10, "so many facts, or all that support", "Facts")
    facts: int | str | list | tuple | None = choice(  # type: ignore[type-arg]
        None, "these facts instead: ids, or names by commas; may be given again", "Facts"
    )
    asks: str = choice("object", "the place whose candidates compete", "Facts", "object", "subject")
    seed: int = number(0, "of what a method draws at random", "Facts", 0)

    each: bool = choice(False, "also every fact removed alone", "Retraining")
    seeds: int = number(
        1, "also in runs of the next seeds, so many in all, trained once", "Retraining", 1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top != "all" and (isinstance(self.top, str) or self.top < 1):
            raise WhereofError(f"top is {self.top!r}; give a number from 1 on, or all")
