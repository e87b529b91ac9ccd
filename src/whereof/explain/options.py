"""Options of an explanation, in one table for command options, docs and checks."""

from dataclasses import dataclass

from whereof.errors import WhereofError
from whereof.registry import METHODS
from whereof.settings import Settings, choice, is_whole, number, seconds_of

ROLES = "subject relation object several"
"""Values of `role`: what a fact shares with the prediction."""


@dataclass(frozen=True)
class RetrainingBudget:
    """How much to retrain: a number of retrainings, or seconds. The control counts too."""

    n_retrainings: int | None = 50
    seconds: float | None = None

    @classmethod
    def of(cls, value: int | str) -> "RetrainingBudget":
        """The budget that an option names, such as 50, 60s or 3m."""
        if isinstance(value, str) and not is_whole(value):
            return cls(None, seconds_of("budget", value, "a number of retrainings from 2 on"))
        if int(value) < 2:
            raise WhereofError(
                f"budget is {value}; give 2 retrainings or more, because one is the control with "
                "all facts, or a time such as 60s"
            )
        return cls(int(value))

    def halved(self) -> "RetrainingBudget":
        """Half of the budget, for each of two searches."""
        n_retrainings, seconds = self.n_retrainings, self.seconds
        return RetrainingBudget(
            None if n_retrainings is None else max(n_retrainings // 2, 2),
            None if seconds is None else seconds / 2,
        )


@dataclass(frozen=True)
class ExplainOptions(Settings):
    """How to explain a prediction and which facts to list. Values are checked on creation.

    If you do not name a `method`, a run takes its `default_method`.
    """

    method: str = choice(
        "rollback",
        "how to estimate influence  [default: unrolled for small, steady runs, else rollback]",
        "Method",
        registry=METHODS,
    )
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
    budget: int | str = choice(
        50,
        "how much method verified may retrain: a number of retrainings, or 60s, 3m",
        "Method",
        metavar="N|TIME",
    )
    sweep_epochs: int | None = number(
        None,
        "unrolled goes back through the last N epochs only: faster, rougher  [default: all]",
        "Method",
        1,
    )
    rivals: int | None = number(
        None,
        "number of other answers that unrolled estimates too, to find a new top answer  "
        "[default: 3; 0 with --predictions]",
        "Method",
        0,
    )
    sweep_memory: float = number(1.0, "gigabytes of main memory for a sweep", "Method", above=0)

    top: int | str | None = number(
        10,
        "number of facts, or all; for users and items, of the user's facts and of other facts",
        "Facts",
        1,
        word="all",
    )
    opposing: bool | str = choice(False, "list facts that oppose, strongest first", "Facts")
    """both lists `top` facts that support, then `top` facts that oppose."""
    role: str | None = choice(
        None, "only facts that share this part with the prediction", "Facts", ROLES
    )
    relation: str | list | tuple | None = choice(  # type: ignore[type-arg]
        None, "only facts with this relation; repeatable", "Facts", several="NAME"
    )
    entity: str | list | tuple | None = choice(  # type: ignore[type-arg]
        None,
        "only facts with this entity; repeatable; subject:NAME or object:NAME if a user and an "
        "item share the name",
        "Facts",
        several="NAME",
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
    seeds: int = number(
        1, "number of seeds: also train runs with the next seeds and compare the facts", "More", 1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.opposing, str) and self.opposing != "both":
            raise WhereofError(f"opposing is {self.opposing!r}; give true, false or both")
        RetrainingBudget.of(self.budget)  # raises if it is not valid


@dataclass(frozen=True)
class ImpactOptions(Settings):
    """Which predictions to look at for the impact of a fact. Values are checked on creation."""

    method: str = choice("rollback", "how to estimate influence", "Method", "rollback unrolled")
    predictions: str = choice(
        "top",
        "top (new answers), true (facts of the split) or a FILE",
        "Predictions",
        metavar="top|true|FILE",
    )
    split: str = choice(
        "test", "split of top and true predictions", "Predictions", "test valid train"
    )
    limit: int | None = number(None, "number of predictions  [default: all]", "Predictions", 1)
    top: int | str = number(10, "number of predictions to list, or all", "List", 1, word="all")
    opposing: bool = choice(False, "list predictions that the fact opposes", "List")
    verify: bool = choice(False, "also retrain without the fact, and compare", "Retraining")
