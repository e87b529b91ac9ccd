"""The options of engines and verdicts: one table that feeds commands, docs and checks."""

from dataclasses import dataclass
from typing import Any

from whereof.data.options import FORMATS
from whereof.errors import WhereofError
from whereof.explain.options import ROLES, RetrainingBudget
from whereof.registry import METHODS
from whereof.settings import Settings, choice, number


@dataclass(frozen=True)
class VerifyOptions(Settings):
    """Which facts to remove, and with how many seeds. Values are checked on creation."""

    method: str = choice(
        "rollback",
        "method that finds facts to remove  [default: as in explain]",
        "Facts",
        registry=METHODS,
    )
    top: int | str = number(
        10,
        "number of facts, of this user and others together; or all supporting facts",
        "Facts",
        1,
        word="all",
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
class UpdateOptions(Settings):
    """How training continues with new facts. Values are checked on creation."""

    epochs: int = number(5, "number of passes over the new facts", "Update", 1)
    replay: float | None = number(
        None,
        "number of earlier facts per new fact in each epoch, drawn at random  [default: 3; with "
        "new entities, at least 5,000 facts in total]",
        "Update",
        0,
    )
    compare: bool = choice(
        False, "also train from scratch on all facts, and compare quality and time", "Update"
    )
    format: str | None = choice(
        None, "format of the file  [default: from the name]", "Data", FORMATS
    )
    columns: str | None = choice(
        None, "columns of a fact, by name or number: head,relation,tail or 1,2,3", "Data"
    )
    header: bool | None = choice(None, "line 1 names the columns  [default: detected]", "Data")
    rating: str | None = choice(None, "column with ratings, by name or number", "Data")
    source: str | None = choice(None, "column with the source of a fact, by name or number", "Data")
    weight: str | None = choice(None, "column with the weight of a fact, by name or number", "Data")

    @property
    def reading(self) -> dict[str, Any]:
        """The options that say how to read the new facts."""
        names = ("format", "columns", "header", "rating", "source", "weight")
        given = {name: getattr(self, name) for name in names}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class UnlearnOptions(Settings):
    """Which facts to unlearn, and how. Values are checked on creation."""

    entity: str | list | tuple | None = choice(  # type: ignore[type-arg]
        None,
        "unlearn all facts of this entity; repeatable; subject:NAME or object:NAME if both have "
        "the name",
        "Facts",
        several="NAME",
    )
    source: str | list | tuple | None = choice(  # type: ignore[type-arg]
        None, "unlearn all facts of this source; repeatable", "Facts", several="NAME"
    )
    method: str = choice(
        "rollback",
        "rollback: subtract what the facts changed; warm: then also train on the remaining facts",
        "Unlearning",
        "rollback warm",
    )
    epochs: int | None = number(
        None,
        "for method warm: number of passes over the remaining facts  [default: 1]",
        "Unlearning",
        1,
    )
    measure: bool = choice(
        True, "also retrain from scratch without the facts, and compare", "Unlearning"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epochs is not None and self.method != "warm":
            raise WhereofError(
                f"epochs requires method warm, not {self.method}; leave it out, or choose warm"
            )

    @property
    def entities(self) -> list[str]:
        return _several(self.entity)

    @property
    def named_sources(self) -> list[str]:
        return _several(self.source)


def _several(value: Any) -> list[str]:
    if value is None:
        return []
    return [*map(str, value)] if isinstance(value, list | tuple) else [str(value)]


@dataclass(frozen=True)
class SmallestOptions(Settings):
    """How to search for the fewest facts that change an answer. Values are checked on creation."""

    method: str | None = choice(
        None,
        "method that ranks the facts to try  [default: the one whose estimates "
        "fit the first retrainings]",
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
