"""The options of engines and verdicts: one table that feeds commands, docs and checks."""

from dataclasses import dataclass

from whereof.errors import WhereofError
from whereof.explain.options import ROLES, RetrainingBudget
from whereof.registry import METHODS
from whereof.settings import Settings, choice, number


@dataclass(frozen=True)
class VerifyOptions(Settings):
    """Which facts to remove, and with how many seeds. Values are checked on creation."""

    method: str = choice(
        "rollback",
        "method that finds facts to remove  [default: that of explain]",
        "Facts",
        registry=METHODS,
    )
    top: int | str = number(
        10, "number of facts, or all: every supporting fact", "Facts", 1, word="all"
    )
    role: str | None = choice(
        None, "only facts that share this part with the prediction", "Facts", ROLES
    )
    facts: int | str | list | tuple | None = choice(  # type: ignore[type-arg]
        None,
        "remove these facts instead: ids, or names separated by commas; repeatable",
        "Facts",
        several="FACT",
        excludes="role",
        reason="facts already names the facts to remove",
    )
    asks: str = choice("object", "the part that the model predicts", "Facts", "object subject")
    seed: int = number(0, "seed for methods that draw at random", "Facts", 0)

    each: bool = choice(False, "also remove each fact alone", "Retraining")
    seeds: int = number(
        1, "number of seeds: also train and verify runs with the next seeds", "Retraining", 1
    )


@dataclass(frozen=True)
class EngineOptions(Settings):
    """Where models are retrained; checked on creation."""

    engine: str = choice("auto", "where to retrain", "Retraining", "auto local ray cuda")
    threads: int | None = number(
        None, "number of retrainings at a time  [default: all cores]", "Retraining", 1
    )
    ray_address: str | None = choice(
        None, "host:port of a running Ray cluster  [default: one on this machine]", "Retraining"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ray_address is not None and self.engine != "ray":
            raise WhereofError(
                f"ray_address requires engine ray, not {self.engine}; leave it out, or choose ray"
            )


@dataclass(frozen=True)
class SmallestOptions(Settings):
    """How to search for the fewest facts that change an answer. Values are checked on creation."""

    method: str | None = choice(
        None,
        "method that ranks the facts to try  [default: the one that fits the first retrainings]",
        "Search",
        registry=METHODS,
    )
    budget: int | str = choice(
        60, "a number of retrainings, or a time such as 60s, 3m", "Search", metavar="N|TIME"
    )
    role: str | None = choice(
        None, "only facts that share this part with the prediction", "Search", ROLES
    )
    asks: str = choice("object", "the part that the model predicts", "Search", "object subject")

    def __post_init__(self) -> None:
        super().__post_init__()
        RetrainingBudget.of(self.budget)  # raises if it is not valid
