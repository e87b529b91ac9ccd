"""What is asked of an evaluation: one table that feeds commands, docs and checks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from whereof.errors import WhereofError
from whereof.explain import METHODS
from whereof.settings import Settings, choice, number
from whereof.training import TrainConfig

PROTOCOLS = (
    "leave-one-out",
    "steadiness",
    "datamodelling",
    "kelpie",
    "removal",
    "approximation",
    "theory",
)
"""In the order in which they run: first those that look at all predictions after every retraining,
so that what others ask of the same ones is known."""

EVALUATED = tuple(name for name, method in METHODS.items() if not method.retrains)
"""Methods that estimate; those that retrain are themselves what estimates are checked by."""

_Words = str | list | tuple  # type: ignore[type-arg]


@dataclass(frozen=True)
class EvaluateOptions(Settings):
    """What is evaluated, and how; checked on making. Lists may be texts with commas."""

    methods: str | list | tuple = choice(  # type: ignore[type-arg]
        "rollback,random", "methods by commas", "Evaluation"
    )
    k: int | str | list | tuple = choice(  # type: ignore[type-arg]
        "1,10,all", "how many facts are removed, by commas; all that support", "Evaluation"
    )
    protocols: str | list | tuple = choice(  # type: ignore[type-arg]
        "removal,steadiness", f"by commas: {', '.join(PROTOCOLS)}, or all", "Evaluation"
    )
    baseline: str | None = choice(
        None, "the method that others are compared with  [default: random]", "Evaluation"
    )
    constraints: str | list | tuple | None = choice(  # type: ignore[type-arg]
        None,
        "of approximation: such as none,unit,max:2  [default: that of the run]",
        "Evaluation",
    )
    adjacent_only: bool = choice(
        False, "of leave-one-out: remove facts adjacent to a prediction, no others", "Evaluation"
    )
    subsets: int = number(100, "of datamodelling: random halves of the facts", "Evaluation", 2)
    removals: int = number(20, "of steadiness: random facts removed, a seed", "Evaluation", 1)

    predictions: str = choice("top", "top new answers, true facts, or a file", "Predictions")
    split: str = choice(
        "test", "whose queries or facts, for top and true", "Predictions", "test", "valid", "train"
    )
    limit: int | None = number(None, "only so many, drawn at random", "Predictions", 1)
    least_adjacent: int | None = number(
        None, "only predictions with so many adjacent facts or more", "Predictions", 1
    )
    most_adjacent: int | None = number(
        None, "only predictions with so many adjacent facts or fewer", "Predictions", 1
    )
    seeds: int = number(1, "models: seed, seed + 1 and so on of the run", "Predictions", 1)
    seed: int = number(0, "of what is drawn at random", "Predictions", 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_methods()
        self._settle("methods", _known("method", _listed("methods", self.methods), EVALUATED))
        self._settle("k", tuple(dict.fromkeys(map(_size, _listed("k", self.k)))))
        protocols = _listed("protocols", self.protocols)
        protocols = PROTOCOLS if protocols == ("all",) else protocols
        self._settle("protocols", _known("protocol", protocols, PROTOCOLS))
        self._check_baseline()
        self._check_constraints()
        self._check_adjacent()
        if self.predictions not in ("top", "true") and self.split != "test":
            raise WhereofError("split goes with predictions top and true; leave it out")

    def _settle(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_methods(self) -> None:
        for method in _listed("methods", self.methods):
            if method in METHODS and METHODS[method].retrains:
                raise WhereofError(
                    f"method {method!r} retrains, so there is nothing to check it by; "
                    f"choose from {', '.join(EVALUATED)}"
                )

    def _check_baseline(self) -> None:
        if self.baseline is None:
            self._settle("baseline", "random" if "random" in self.methods else self.methods[0])
        if self.baseline not in self.methods:
            names = ", ".join(self.methods)
            raise WhereofError(f"baseline {self.baseline!r} is not among the methods: {names}")

    def _check_constraints(self) -> None:
        if self.constraints is None:
            return
        self._settle("constraints", _listed("constraints", self.constraints))
        for constraint in self.constraints:
            TrainConfig(constraint=constraint)  # says what is wrong with it
        if "approximation" not in self.protocols:
            raise WhereofError("constraints are of approximation; name it among the protocols")

    def _check_adjacent(self) -> None:
        if self.adjacent_only and "leave-one-out" not in self.protocols:
            raise WhereofError("adjacent_only is of leave-one-out; name it among the protocols")
        least, most = self.least_adjacent, self.most_adjacent
        if least is not None and most is not None and least > most:
            raise WhereofError(
                f"least_adjacent is {least} and most_adjacent {most}; the least must not be more"
            )


def _listed(name: str, value: _Words | int) -> tuple[str, ...]:
    """Words by commas, or a list of them, each once."""
    words: Iterable[Any] = value.split(",") if isinstance(value, str) else _several(value)
    found = tuple(dict.fromkeys(word for each in words if (word := str(each).strip())))
    if not found:
        raise WhereofError(f"{name} is empty; name one or more, with commas between them")
    return found


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _known(noun: str, words: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """Words that are all allowed; for another, the nearest."""
    for word in words:
        if word not in allowed:
            near = get_close_matches(word, allowed, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise WhereofError(f"unknown {noun} {word!r}; {hint}choose from {', '.join(allowed)}")
    return tuple(words)


def _size(word: str) -> int | str:
    if word == "all":
        return "all"
    if not word.isdecimal() or int(word) < 1:
        raise WhereofError(f"k is {word!r}; give numbers from 1 on, or all, with commas between")
    return int(word)
