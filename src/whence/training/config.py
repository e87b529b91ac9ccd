"""Every choice of a training run in one table that feeds commands, docs and checks."""

import math
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from typing import Any, get_args, get_type_hints

from whence.errors import WhenceError
from whence.models import MODELS

NEGATIVES_UNSET = 500
"""Negatives a step when none are asked for; all of them where there are fewer."""


def _choice(default: Any, about: str, group: str, *choices: str) -> Any:
    return field(default=default, metadata={"about": about, "group": group, "choices": choices})


def _number(default: Any, about: str, group: str, least: float | None = None) -> Any:
    return field(default=default, metadata={"about": about, "group": group, "least": least})


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained; checked on making."""

    model: str = _choice("distmult", f"one of {', '.join(MODELS)}", "Model")
    dim: int = _number(100, "dimension; complex models take it for each part", "Model", 1)
    inverse: bool = _choice(
        False, "learn inverse relations too, so that subjects can be asked for", "Model"
    )
    precision: str = _choice("float32", "of parameters and steps", "Model", "float32", "float64")
    init: float = _number(0.05, "rows start uniform in +-INIT", "Model", 0)
    seed: int = _number(0, "of every random draw", "Model", 0)

    loss: str = _choice(
        "softmax", "over the true object and the negatives", "Loss", "softmax", "sigmoid"
    )
    negatives: int | str | None = _choice(
        None,
        f"a number, or all  [default: {NEGATIVES_UNSET}, or all where there are fewer]",
        "Loss",
    )
    sampling: str = _choice(
        "distinct",
        "negatives of one step: all different, or repeats as they fall",
        "Loss",
        "distinct",
        "independent",
    )
    redraw: bool = _choice(True, "draw new negatives in every epoch", "Loss")
    l2: float = _number(0.0, "weight of l2/2 |x|^2 on the fact's own rows", "Loss", 0)
    n3: float = _number(0.0, "weight of n3/3 |x|^3 on the fact's own rows", "Loss", 0)

    optimizer: str = _choice(
        "adam-lazy",
        "adam moves every row at every step, adam-lazy touched rows only",
        "Steps",
        "sgd",
        "adagrad",
        "adam",
        "adam-lazy",
    )
    rate: float = _number(0.003, "learning rate", "Steps")
    schedule: str = _choice(
        "constant", "of the rate: inverse is RATE/t", "Steps", "constant", "exponential", "inverse"
    )
    decay: float = _number(0.96, "factor of the exponential schedule", "Steps")
    decay_steps: int = _number(1000, "updates over which it falls by that factor", "Steps", 1)
    beta1: float = _number(0.9, "decay of Adam's mean", "Steps", 0)
    beta2: float = _number(0.999, "decay of Adam's square", "Steps", 0)
    epsilon: float = _number(1e-7, "added to the roots of Adam and Adagrad", "Steps", 0)
    constraint: str = _choice("none", "on row norms: none, unit or max:C", "Steps")
    batch_size: int = _number(1, "facts an update", "Steps", 1)
    order: str = _choice("shuffle", "of the facts in an epoch", "Steps", "file", "shuffle")

    epochs: int = _number(10, "passes over the facts", "Stopping", 1)
    validate_every: int = _number(1, "epochs between validations; 0 for none", "Stopping", 0)
    patience: int = _number(
        0, "validations without a better MRR before stopping; 0 for never", "Stopping", 0
    )

    keep_checkpoints: int = _number(
        0, "parameters kept at that many points, spread evenly over training", "Trace", 0
    )
    trace: bool = _choice(True, "record every fact's changes", "Trace")
    credit: str = _choice(
        "source", "a step's change, or what its gradient moves over time", "Trace", "step", "source"
    )
    trace_precision: str | None = _choice(
        None, "[default: that of the parameters]", "Trace", "float16", "float32", "float64"
    )

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            check_setting(item, value)
            if float in TYPES[item.name]:
                object.__setattr__(self, item.name, _float(item.name, value))
        self.max_norm  # noqa: B018 - raises on a constraint that cannot be read
        for name in ("beta1", "beta2"):
            if not getattr(self, name) < 1:
                raise WhenceError(f"{name} is {getattr(self, name):g}; it must be below 1")
        if self.negatives not in (None, "all") and not _is_count(self.negatives):
            raise WhenceError(f"negatives is {self.negatives!r}; give a number from 1 on, or all")
        if self.optimizer != "sgd" and self.epsilon <= 0:
            raise WhenceError(f"epsilon is {self.epsilon:g}; {self.optimizer} needs it above 0")
        if self.optimizer == "adam" and 1 - self.beta2 > 0.0201 * (1 - self.beta1):
            raise WhenceError(
                f"beta1 is {self.beta1:g}, beta2 {self.beta2:g}; adam works its drift out where "
                "1 - beta2 is at most a fiftieth of 1 - beta1: choose such ones, or adam-lazy"
            )
        if self.seed >= 2**63:
            raise WhenceError(f"seed is {self.seed}; it must be below 2^63")
        if self.trace_precision and not self.trace:
            raise WhenceError("trace_precision needs a trace: leave it out, or keep the trace")
        for name, most in (("rate", math.inf), ("decay", 1.0)):
            if not (0 < getattr(self, name) <= most and math.isfinite(getattr(self, name))):
                limit = "above 0" if most == math.inf else f"above 0, and at most {most:g}"
                raise WhenceError(f"{name} is {getattr(self, name):g}; it must be {limit}")
        if self.patience and not self.validate_every:
            raise WhenceError("patience needs validation: set validate_every to 1 or more")

    @property
    def max_norm(self) -> float | None:
        """The norm a constraint holds rows to or under; None without constraint."""
        kind, _, bound = self.constraint.partition(":")
        try:
            if (kind, bound) == ("none", ""):
                return None
            if (kind, bound) == ("unit", ""):
                return 1.0
            if kind == "max" and 0 < float(bound) < float("inf"):
                return float(bound)
        except ValueError:
            pass
        raise WhenceError(
            f"constraint is {self.constraint!r}; choose from none, unit, max:C with C above 0"
        )

    @property
    def trace_dtype(self) -> str:
        """The precision of the trace: that of the parameters unless asked otherwise."""
        return self.trace_precision or self.precision

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TrainConfig":
        """A config from names and values, as in a run's manifest or a TOML file."""
        known = {item.name for item in fields(cls)}
        for name in values:
            if name not in known:
                raise WhenceError(
                    f"unknown setting {name!r}; choose from {', '.join(sorted(known))}"
                )
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def replace(self, **changes: Any) -> "TrainConfig":
        return replace(self, **changes)


TYPES: dict[str, tuple[type, ...]] = {
    name: get_args(hint) or (hint,) for name, hint in get_type_hints(TrainConfig).items()
}


def check_setting(item: Field[Any], value: Any) -> None:
    """One setting against its type, its choices and its least value."""
    name, about = item.name, item.metadata
    types = TYPES[name]
    fits = isinstance(value, (*types, int) if float in types else types)
    if not fits or (isinstance(value, bool) and bool not in types):
        raise WhenceError(f"{name} is {value!r}; give {_words(types)}")
    choices = about.get("choices")
    if choices and value is not None and value not in choices:
        raise WhenceError(f"unknown {name} {value!r}; choose from {', '.join(choices)}")
    least = about.get("least")
    if least is not None:
        finite = not isinstance(value, float) or math.isfinite(value)
        if not finite or value < least:
            also = "" if finite else "finite, and "
            raise WhenceError(f"{name} is {value}; it must be {also}{least} or more")


def _float(name: str, value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise WhenceError(f"{name} is too large; choose a smaller number") from None


def _words(types: tuple[type, ...]) -> str:
    names = {int: "a whole number", float: "a number", str: "a word", bool: "true or false"}
    return " or ".join(names[kind] for kind in types if kind in names)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 1
