"""The options of an evaluation, in one table for command options, docs and checks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from whereof import registry
from whereof.data.dataset import Dataset
from whereof.errors import WhereofError
from whereof.settings import Settings, choice, is_whole, number, to_float
from whereof.training.config import TrainConfig

_Words = str | list | tuple  # type: ignore[type-arg]
_Own = TypeVar("_Own", bound=Settings)
_PROTOCOLS = registry.PROTOCOLS
HOW, WHICH = "Evaluation", "Predictions"


@dataclass(frozen=True)
class EvaluateOptions(Settings):
    """What to evaluate, and how. Values are checked on creation. Lists may be text with commas."""

    suite: str | None = choice(
        None,
        "choose methods, protocols and sizes for a study; other options override the choice",
        HOW,
        "faithfulness",
    )
    methods: _Words = choice(
        "rollback,random",
        "methods to compare, separated by commas; settings follow a colon: unrolled:sweep-epochs=1"
        "  [default: the run's default method,rollback,random]",
        HOW,
    )
    k: int | _Words = choice(
        "1,10,all",
        "numbers of facts to remove, separated by commas; all: every supporting fact",
        HOW,
    )
    protocols: _Words = choice(
        "removal,steadiness",
        f"protocols to run, separated by commas, or all: {', '.join(registry.ours(_PROTOCOLS))}",
        HOW,
    )
    baseline: str | None = choice(None, "method to compare the others with  [default: random]", HOW)
    constraints: _Words | None = choice(
        None,
        "for approximation: norm constraints, such as none,unit,max:2  [default: the run's]",
        HOW,
    )
    adjacent_only: bool = choice(
        False, "for leave-one-out: only remove facts adjacent to a prediction", HOW
    )
    facts: int | None = number(
        None, "for leave-one-out: number of random facts to remove  [default: all]", HOW, 1
    )
    top_facts: int = number(
        50, "with --facts: also remove the first N facts of every method, per prediction", HOW, 1
    )
    drop: float | _Words = choice(
        "50%", "for datamodelling: shares of the facts to drop, separated by commas", HOW
    )
    subsets: int = number(
        100, "for datamodelling: number of random sets of facts to drop, for each share", HOW, 2
    )
    removals: int = number(20, "for steadiness: number of random facts to remove, per seed", HOW, 1)
    settings: str | dict | None = choice(  # type: ignore[type-arg]
        None, "options of other packages' protocols: NAME=VALUE, separated by commas", HOW
    )

    predictions: str = choice(
        "top",
        "top (new answers), true (facts of the split) or a FILE",
        WHICH,
        metavar="top|true|FILE",
    )
    split: str | None = choice(
        None,
        "split of top and true predictions  [default: the first of test, valid and train that has "
        "facts]",
        WHICH,
        "test valid train",
    )
    limit: int | None = number(None, "number of predictions, drawn at random", WHICH, 1)
    least_adjacent: int | None = number(
        None, "only predictions with at least this number of adjacent facts", WHICH, 1
    )
    most_adjacent: int | None = number(
        None, "only predictions with at most this number of adjacent facts", WHICH, 1
    )
    seeds: int = number(1, "number of seeds, starting with the run's seed", WHICH, 1)
    seed: int = number(0, "seed for drawing predictions and facts at random", WHICH, 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        lists = ("methods", "k", "protocols", "constraints", "drop")
        found: dict[str, Any] = {name: _listed(name, getattr(self, name)) for name in lists}
        found["k"] = tuple(dict.fromkeys(map(_size, found["k"])))
        found["drop"] = tuple(dict.fromkeys(map(_share, found["drop"])))
        if found["protocols"] == ("all",):
            found["protocols"] = registry.names(_PROTOCOLS)
        if isinstance(self.settings, str):
            found["settings"] = _pairs(self.settings)
        for name, value in found.items():
            object.__setattr__(self, name, value)
        self._check_methods()
        _check_known("protocol", self.protocols, registry.names(_PROTOCOLS))
        for constraint in self.constraints or ():
            TrainConfig(constraint=constraint)  # refuses a bad one
        self._check_protocols()
        least, most = self.least_adjacent, self.most_adjacent
        if least is not None and most is not None and least > most:
            raise WhereofError(
                f"least_adjacent is {least} and most_adjacent {most}; "
                "least_adjacent must not be larger"
            )
        if self.predictions not in ("top", "true") and self.split is not None:
            raise WhereofError("split requires predictions top or true; leave it out")

    def of(self, dataset: Dataset) -> "EvaluateOptions":
        """These options for a dataset: predictions of a split get the first one that has facts."""
        if self.split is not None or self.predictions not in ("top", "true"):
            return self
        splits = ("test", "valid", "train")
        return self.replace(split=next(each for each in splits if len(getattr(dataset, each))))

    @property
    def sizes(self) -> tuple[int | str, ...]:
        """The numbers of facts to remove, `all` among them."""
        assert isinstance(self.k, tuple)
        return self.k

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of facts that datamodelling drops."""
        assert isinstance(self.drop, tuple)
        return self.drop

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        return {name: each for name, each in found.items() if (name, each) != ("settings", None)}

    def own(self, table: type[_Own]) -> _Own:
        """The settings of a protocol's own table; see `Protocol.settings`."""
        import msgspec

        given = self.settings if isinstance(self.settings, dict) else {}
        mine = {name: value for name, value in given.items() if name in table.names()}
        try:
            return msgspec.convert(mine, table, strict=False)
        except msgspec.ValidationError as error:
            raise WhereofError(f"settings: {error}") from None

    def _check_methods(self) -> None:
        from whereof.evaluate.variant import find_variant  # slow to import

        found = tuple(find_variant(text) for text in self.methods)
        object.__setattr__(self, "methods", tuple(dict.fromkeys(each.text for each in found)))
        if self.baseline is None:
            at_random = (each.text for each in found if each.method.draws)
            object.__setattr__(self, "baseline", next(at_random, self.methods[0]))
        if self.baseline not in self.methods:
            names = ", ".join(self.methods)
            raise WhereofError(f"baseline {self.baseline!r} is not among the methods: {names}")

    def _check_protocols(self) -> None:
        """Raise an error for an option or a setting of a protocol that does not run."""
        from whereof.evaluate.protocol import protocols

        for protocol in protocols():
            for name in protocol.options if protocol.name not in self.protocols else ():
                default = getattr(type(self), name)
                if default in (None, False) and getattr(self, name) != default:
                    raise WhereofError(
                        f"{name} requires the protocol {protocol.name}; add it to the protocols"
                    )
        tables = [each.settings for each in protocols(self.protocols) if each.settings]
        allowed = [name for table in tables for name in table.names()]
        _check_known("setting of the protocols", self.settings or (), allowed)
        for table in tables:
            self.own(table)


def _listed(name: str, value: Any) -> tuple[str, ...] | None:
    """A list of distinct words, given as a list or separated by commas."""
    if value is None:
        return None
    words = value if isinstance(value, list | tuple) else str(value).split(",")
    found = tuple(dict.fromkeys(word for each in words if (word := str(each).strip())))
    if not found:
        raise WhereofError(f"{name} is empty; name one or more, separated by commas")
    return found


def _check_known(noun: str, words: Iterable[str], allowed: Sequence[str]) -> None:
    remedy = "" if allowed else "these protocols have no settings; leave settings out"
    if unknown := [word for word in words if word not in allowed]:
        raise registry.unknown(noun, unknown[0], sorted(allowed), remedy)


def _pairs(value: str) -> dict[str, str]:
    parts = [part.partition("=") for part in _listed("settings", value) or ()]
    for name, equals, _ in parts:
        if not equals:
            raise WhereofError(f"settings has {name!r}; give NAME=VALUE, separated by commas")
    return {name.strip().replace("-", "_"): given.strip() for name, _, given in parts}


def _share(word: str) -> float:
    """A share of facts: 0.01 or 1%."""
    try:
        share = to_float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise WhereofError(
            f"drop is {word!r}; give shares between 0 and 1, separated by commas, such as 1%,50%"
        )
    return share


def _size(word: str) -> int | str:
    if word != "all" and (not is_whole(word) or int(word) < 1):
        raise WhereofError(f"k is {word!r}; give numbers from 1 on, or all, separated by commas")
    return word if word == "all" else int(word)


@dataclass(frozen=True)
class AuditOptions(Settings):
    """What an audit looks at. Values are checked on creation."""

    ranking: str | None = choice(
        None,
        "how to rank suspicious facts  [default: loss-without; loss, if other software trained "
        "the run without a trace]",
        "Audit",
        "loss-without self-influence loss score degree",
    )
    ranking_method: str | None = choice(
        None,
        "how to estimate the loss that a fact would have without training on it  [default: "
        "rollback, if the run has a trace]",
        "Audit",
        "rollback unrolled",
    )
    method: str | None = choice(
        None,
        "how to estimate influence on held-out facts  [default: as in explain]",
        "Audit",
        "rollback unrolled",
    )
    split: str | None = choice(
        None,
        "split of the held-out facts  [default: test, or valid if test has no facts]",
        "Audit",
        "test valid",
    )
    limit: int | str | None = number(
        None,
        "number of held-out facts, evenly spaced, or all  [default: all if the data is small, "
        "otherwise 500]",
        "Audit",
        1,
        word="all",
    )
    by: _Words | None = choice(
        None,
        "add up influences by relation, entity, source or group, separated by commas  "
        "[default: all that the data has]",
        "Audit",
    )
    groups: str | Path | dict | None = choice(  # type: ignore[type-arg]
        None, "groups of entities: a file with two columns, entity and group", "Audit"
    )
    top: int | str = number(
        10,
        "number of facts to list, of groups that help, and of groups that harm; or all",
        "Audit",
        1,
        word="all",
    )
    verify: bool = choice(
        False, "retrain without the listed facts and without each listed group", "Audit"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        words = _listed("by", self.by) or ()
        _check_known("grouping", words, ("relation", "entity", "source", "group"))
        if self.by is not None:
            object.__setattr__(self, "by", words)

    @property
    def kinds(self) -> tuple[str, ...] | None:
        """The ways to group facts, with given groups among them; None for all that fit the data."""
        if self.by is None:
            return None
        return tuple(dict.fromkeys((*self.by, *(("group",) if self.groups else ()))))
