"""Methods with settings of their own, such as `unrolled:sweep-epochs=1`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from whereof.errors import WhereofError
from whereof.explain.method import Method, get_method
from whereof.explain.options import ExplainOptions, RetrainingBudget
from whereof.registry import METHODS, names
from whereof.settings import is_whole
from whereof.training.config import TrainConfig

_EXPLAINED = {"budget": ("budget",), "sweep": ("sweep_epochs",)}
"""By ability of a method, the options of an explanation that a variant can set."""
_TRAINED = {
    "trace": ("credit", "trace_precision"),
    "checkpoints": ("keep_checkpoints",),
    "recipe": ("precision",),
}
"""By need of a method, the settings that the run of a variant is trained with."""


@dataclass(frozen=True, eq=False)
class MethodVariant:
    """A method, with settings of its own or without."""

    text: str
    """How options and results name it."""
    method: Method
    explained: Mapping[str, Any]
    """Options of its explanations."""
    trained: Mapping[str, Any]
    """Settings of its run. They change the trace or the rounding, and not what is learned."""

    @property
    def exact(self) -> bool:
        """Whether it retrains without every fact that it is asked about."""
        return self.method.retrains and "budget" not in self.method.can

    @property
    def budget(self) -> RetrainingBudget:
        """How much it retrains for one prediction, if it has a budget."""
        return RetrainingBudget.of(self.explained.get("budget", ExplainOptions.budget))


@cache
def find_variant(text: str) -> MethodVariant:
    """The variant with this text: the name of a method, and settings as `:NAME=VALUE`."""
    name, *parts = (part.strip() for part in text.split(":"))
    method, explained, trained = get_method(name), {}, {}
    may_explain = [each for ability in method.can for each in _EXPLAINED.get(ability, ())]
    may_train = [each for need in method.needs for each in _TRAINED.get(need, ())]
    for part in parts:
        key, equals, value = part.partition("=")
        setting = key.strip().replace("-", "_")
        given: Any = int(value) if is_whole(value.strip()) else value.strip()
        if equals and setting in may_explain:
            explained[setting] = given
        elif equals and setting in may_train:
            trained[setting] = given
        else:
            allowed = ", ".join(sorted(each.replace("_", "-") for each in may_explain + may_train))
            remedy = f"choose from {allowed}, as {name}:NAME=VALUE" if allowed else "leave it out"
            raise WhereofError(f"method {name} has no setting {part!r}; {remedy}")
    ExplainOptions(**explained)  # refuses bad values
    TrainConfig(**trained)
    settings = (f"{key.replace('_', '-')}={value}" for key, value in (explained | trained).items())
    return MethodVariant(":".join([name, *settings]), method, explained, trained)


def installed_variant(text: str) -> MethodVariant | None:
    """The variant, or None for a method that is not installed here: a document may name one."""
    return find_variant(text) if text.partition(":")[0] in names(METHODS) else None


def draws_at_random(text: str) -> bool:
    """Whether a method draws facts at random; no for a method that is not installed here."""
    variant = installed_variant(text)
    return variant is not None and variant.method.draws
