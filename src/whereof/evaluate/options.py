"""The options of an evaluation, in one table for command options, docs and checks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from whereof import registry
from whereof.errors import WhereofError
from whereof.registry import METHODS, names
from whereof.settings import Settings, choice, number
from whereof.training import TrainConfig

_Words = str | list | tuple  # type: ignore[type-arg]
_Own = TypeVar("_Own", bound=Settings)


@dataclass(frozen=True)
class EvaluateOptions(Settings):
    """What to evaluate, and how. Values are checked on creation. Lists may be text with commas."""

    methods: _Words = choice("rollback,random", "methods, separated by commas", "Evaluation")
    k: int | _Words = choice(
        "1,10,all",
        "numbers of facts to remove, separated by commas; all: every supporting fact",
        "Evaluation",
    )
    protocols: _Words = choice(
        "removal,steadiness",
        f"separated by commas: {', '.join(registry.ours(registry.PROTOCOLS))}, or all",
        "Evaluation",
    )
    baseline: str | None = choice(
        None, "method to compare the others with  [default: random]", "Evaluation"
    )
    constraints: _Words | None = choice(
        None,
        "for approximation: norm constraints, such as none,unit,max:2  [default: the run's]",
        "Evaluation",
    )
    adjacent_only: bool = choice(
        False, "for leave-one-out: only remove facts adjacent to a prediction", "Evaluation"
    )
    subsets: int = number(100, "for datamodelling: number of random halves", "Evaluation", 2)
    removals: int = number(
        20, "for steadiness: number of random facts to remove, per seed", "Evaluation", 1
    )

    settings: str | dict | None = choice(  # type: ignore[type-arg]
        None, "options of other packages' protocols: NAME=VALUE, separated by commas", "Evaluation"
    )

    predictions: str = choice("top", "top new answers, true facts, or a file", "Predictions")
    split: str = choice(
        "test",
        "split of the predictions, for top and true",
        "Predictions",
        "test",
        "valid",
        "train",
    )
    limit: int | None = number(None, "number of predictions, drawn at random", "Predictions", 1)
    least_adjacent: int | None = number(
        None, "only predictions with at least this number of adjacent facts", "Predictions", 1
    )
    most_adjacent: int | None = number(
        None, "only predictions with at most this number of adjacent facts", "Predictions", 1
    )
    seeds: int = number(1, "number of seeds: the run's seed, seed + 1, ...", "Predictions", 1)
    seed: int = number(0, "seed of the random draws", "Predictions", 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._settle("methods", _methods(_listed("methods", self.methods)))
        self._settle("k", tuple(dict.fromkeys(map(_size, _listed("k", self.k)))))
        names, asked = registry.names(registry.PROTOCOLS), _listed("protocols", self.protocols)
        asked = names if asked == ("all",) else asked
        self._settle("protocols", _known("protocol", asked, names))
        self._check_baseline()
        if self.constraints is not None:
            self._settle("constraints", _listed("constraints", self.constraints))
            for constraint in self.constraints:
                TrainConfig(constraint=constraint)  # refuses a bad one
        self._check_owners()
        if self.settings is not None:
            self._settle("settings", _pairs(self.settings))
            self._check_settings()
        self._check_predictions()

    @property
    def sizes(self) -> tuple[int | str, ...]:
        """The numbers of facts to remove, `all` among them."""
        assert isinstance(self.k, tuple)
        return self.k

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        return {name: each for name, each in found.items() if (name, each) != ("settings", None)}

    def own(self, table: type[_Own]) -> _Own:
        """The settings of a protocol's own table; see `Protocol.settings`."""
        given = self.settings if isinstance(self.settings, dict) else {}
        import msgspec

        mine = {name: value for name, value in given.items() if name in table.names()}
        try:
            return msgspec.convert(mine, table, strict=False)
        except msgspec.ValidationError as error:
            raise WhereofError(f"settings: {error}") from None

    def _settle(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_baseline(self) -> None:
        from whereof.evaluate.sample import draws_at_random

        if self.baseline is None:
            at_random = (name for name in self.methods if draws_at_random(name))
            self._settle("baseline", next(at_random, self.methods[0]))
        if self.baseline not in self.methods:
            names = ", ".join(self.methods)
            raise WhereofError(f"baseline {self.baseline!r} is not among the methods: {names}")

    def _check_owners(self) -> None:
        """Raise an error for an option that belongs to a protocol that does not run."""
        from whereof.evaluate.protocol import protocols

        for protocol in protocols():
            for name in protocol.options:
                if getattr(self, name) in (None, False) or protocol.name in self.protocols:
                    continue
                if getattr(type(self), name) in (None, False):
                    raise WhereofError(
                        f"{name} requires the protocol {protocol.name}; add it to the protocols"
                    )

    def _check_settings(self) -> None:
        from whereof.evaluate.protocol import protocols

        tables = [each.settings for each in protocols(self.protocols) if each.settings]
        allowed = [name for table in tables for name in table.names()]
        for name in self.settings or ():
            if name not in allowed:
                raise registry.unknown("setting of the protocols", name, allowed)
        for table in tables:
            self.own(table)

    def _check_predictions(self) -> None:
        least, most = self.least_adjacent, self.most_adjacent
        if least is not None and most is not None and least > most:
            raise WhereofError(
                f"least_adjacent is {least} and most_adjacent {most}; "
                "least_adjacent must not be larger"
            )
        if self.predictions not in ("top", "true") and self.split != "test":
            raise WhereofError("split requires predictions top or true; leave it out")


def _methods(words: Sequence[str]) -> tuple[str, ...]:
    for method in words:
        if method in names(METHODS) and method not in evaluated():
            raise WhereofError(
                f"method {method!r} retrains, so there is nothing to compare it with; "
                f"choose from {', '.join(evaluated())}"
            )
    return _known("method", words, evaluated())


def _listed(name: str, value: _Words | int) -> tuple[str, ...]:
    """A list of distinct words, given as a list or separated by commas."""
    several = value if isinstance(value, list | tuple) else [value]
    words: Iterable[Any] = value.split(",") if isinstance(value, str) else several
    found = tuple(dict.fromkeys(word for each in words if (word := str(each).strip())))
    if not found:
        raise WhereofError(f"{name} is empty; name one or more, separated by commas")
    return found


def _known(noun: str, words: Sequence[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """Check that all words are allowed."""
    for word in words:
        if word not in allowed:
            raise registry.unknown(noun, word, allowed)
    return tuple(words)


def _pairs(value: str | dict[str, Any]) -> dict[str, Any]:
    """A dict from NAME=VALUE pairs separated by commas."""
    if isinstance(value, dict):
        return value
    parts = [part.partition("=") for part in _listed("settings", value)]
    for name, equals, _ in parts:
        if not equals:
            raise WhereofError(f"settings has {name!r}; give NAME=VALUE, separated by commas")
    return {name.strip().replace("-", "_"): given.strip() for name, _, given in parts}


def _size(word: str) -> int | str:
    if word == "all":
        return "all"
    if not word.isdecimal() or int(word) < 1:
        raise WhereofError(f"k is {word!r}; give numbers from 1 on, or all, separated by commas")
    return int(word)


def evaluated() -> tuple[str, ...]:
    """Methods that estimate. Methods that retrain are not evaluated: they give the truth."""
    from whereof.explain.method import get_method  # compiled code is loaded when needed

    return tuple(name for name in names(METHODS) if "retraining" not in get_method(name).needs)
