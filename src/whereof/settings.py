"""Tables of settings: each is a dataclass that feeds the command line, the docs and the checks."""

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, asdict, dataclass, field, fields, replace
from functools import cache, wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType
from typing import Any, Self, TypeVar, cast, get_args, get_origin, get_type_hints

from whereof.errors import WhereofError
from whereof.registry import names, unknown

_LIMITS = {
    "least": (operator.ge, "{} or more"),
    "above": (operator.gt, "above {}"),
    "below": (operator.lt, "below {}"),
    "most": (operator.le, "at most {}"),
}
_SHOWN = 60
_TOO_LARGE = 1 << 64
_MOST_DIGITS = 1000
_LONGEST = 1e9
"""Seconds, about 30 years."""
_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a word",
    bool: "true or false",
    Path: "a path",
    dict: "a dict",
}


def choice(default: Any, about: str, group: str, choices: str = "", **more: str) -> Any:
    """A field for a word, a path or yes and no. If there are choices, the value is one of them.

    more: how it is typed in a command: `metavar`; `several`, the metavar of an option that may be
    repeated; `short`, such as -o. `registry`: the group of names to choose from. `excludes`: names
    of settings that cannot be combined with it, for a `reason`.
    """
    words = names(more["registry"]) if "registry" in more else tuple(choices.split())
    named = {"about": about, "group": group, "choices": words}
    return field(default=default, metadata=named | more)


def number(default: Any, about: str, group: str, least: float | None = None, **more: Any) -> Any:
    """A field for a finite number, or for the `word` that stands for one.

    Limits: at least `least`, and `above`, `below` or `most`.
    """
    named = {"about": about, "group": group, "word": more.pop("word", None)}
    limits = more if least is None else {"least": least, **more}
    return field(default=default, metadata=named | {"limits": limits})


@dataclass(frozen=True)
class Settings:
    """A table of settings. Every value is checked when the table is made."""

    def __post_init__(self) -> None:
        for item in fields(self):
            if getattr(self, item.name) is item.default:
                continue
            value = plain(getattr(self, item.name))
            self.check(item, value)
            if isinstance(value, int | float) and float in self.types()[item.name]:
                try:
                    value = float(value)
                except OverflowError:
                    message = f"{item.name} is too large; choose a smaller number"
                    raise WhereofError(message) from None
            object.__setattr__(self, item.name, value)
            others = item.metadata.get("excludes", "").split() if value is not None else ()
            if clash := ", ".join(name for name in others if getattr(self, name)):
                raise WhereofError(f"{item.metadata['reason']}; leave out {clash}")

    @classmethod
    @cache
    def types(cls) -> dict[str, tuple[type, ...]]:
        """The types that each setting allows."""
        return {name: get_args(hint) or (hint,) for name, hint in get_type_hints(cls).items()}

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(item.name for item in fields(cls))

    @classmethod
    def check(cls, item: "Field[Any]", value: Any) -> None:
        """Check one setting: its type, its choices and its limits."""
        name, about, types = item.name, item.metadata, cls.types()[item.name]
        fits = isinstance(value, (*types, int) if float in types else types)
        if not fits or (isinstance(value, bool) and bool not in types):
            words = " or ".join(_WORDS[kind] for kind in types if kind in _WORDS)
            raise WhereofError(f"{name} is {shown(value)}; give {words}")
        choices = names(about["registry"]) if "registry" in about else about.get("choices")
        if choices and value is not None and value not in choices:
            raise unknown(name, value, choices)
        limits, word = about.get("limits", {}), about.get("word")
        if value is None or value == word:
            return
        _check_size(name, value)
        if word and (isinstance(value, str) or value < limits["least"]):
            least = limits["least"]
            raise WhereofError(f"{name} is {value!r}; give a number from {least} on, or {word}")
        finite = not isinstance(value, float) or math.isfinite(value)
        if limits and not (finite and all(_LIMITS[it][0](value, limits[it]) for it in limits)):
            wanted = [] if finite else ["finite"]
            wanted += [_LIMITS[limit][1].format(bound) for limit, bound in limits.items()]
            raise WhereofError(f"{name} is {value}; it must be {', and '.join(wanted)}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Settings from a dict of names and values, for example of a manifest or a TOML file."""
        for name in values:
            if name not in cls.names():
                raise unknown("setting", name, sorted(cls.names()))
        return cls(**values)

    @classmethod
    def take(cls, values: dict[str, Any]) -> Self:
        """The settings of this table, taken out of a dict of names and values."""
        return cls(**{name: values.pop(name) for name in cls.names() if name in values})

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def replace(self, **changes: Any) -> Self:
        return replace(self, **changes)


_F = TypeVar("_F", bound=Callable[..., Any])
_FITS: Mapping[Any, Callable[[Any], bool]] = {
    NoneType: lambda value: value is None,
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    float: lambda value: isinstance(value, Real) and not isinstance(value, bool),
    str: lambda value: isinstance(value, str),
    Path: lambda value: isinstance(value, os.PathLike),
    # Arrays and columns of frames are neither sequences nor mappings.
    Sequence: lambda value: hasattr(value, "__len__") and hasattr(value, "__iter__"),
    Iterable: lambda value: hasattr(value, "__iter__"),
    Mapping: lambda value: hasattr(value, "items"),
}
_ALLOWED = _WORDS | {Sequence: "a list", Iterable: "a list", Mapping: "a dict"}


def checked(function: _F) -> _F:
    """Check the arguments of a function by their annotations: a wrong one is one clear line.

    Arguments with other annotations than those in `_FITS` are left to the function.
    """
    parameters = signature(function)
    kinds = {name: _kinds(each) for name, each in parameters.parameters.items()}

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name, value in parameters.bind(*args, **kwargs).arguments.items():
            if kinds[name]:
                _check_argument(name, value, kinds[name])
        return function(*args, **kwargs)

    return cast(_F, call)


def _kinds(parameter: Parameter) -> tuple[Any, ...]:
    """The keys of `_FITS` that a parameter allows; empty if it allows anything else."""
    hint = parameter.annotation
    kinds = [get_origin(it) or it for it in get_args(hint) or [hint] if it is not Ellipsis]
    if get_origin(hint) in _FITS:  # such as Sequence[str]
        kinds = [get_origin(hint)]
    plain_ones = parameter.kind is not Parameter.VAR_POSITIONAL and all(it in _FITS for it in kinds)
    return tuple(kinds) if plain_ones else ()


def _check_argument(name: str, value: Any, kinds: tuple[Any, ...]) -> None:
    if not any(_FITS[kind](value) for kind in kinds):
        words = " or ".join(dict.fromkeys(_ALLOWED[kind] for kind in kinds if kind in _ALLOWED))
        raise WhereofError(f"{name} is {shown(value)}; give {words}")
    _check_size(name, value)
    if Path in kinds and isinstance(value, str | os.PathLike):
        check_path(value)
    elif isinstance(value, str):
        check_text(name, value)


def _check_size(name: str, value: Any) -> None:
    if isinstance(value, Integral) and abs(int(value)) >= _TOO_LARGE:
        raise WhereofError(f"{name} is too large; choose a smaller number")


def check_text(name: str, text: str) -> None:
    """Refuse a text that no file can have: half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise WhereofError(f"{name} is {text!r}, which is not text; correct it") from None


def check_path(path: Any) -> None:
    """Raise an error if something cannot be the path of a file."""
    try:
        fits = b"\0" not in os.fsencode(path)
    except (UnicodeEncodeError, TypeError):
        fits = False
    if not fits:
        raise WhereofError(f"{shown(path)} is not a path; correct it")


def shown(value: Any) -> str:
    """A value for a message: on one line, shortened if it is long."""
    text = " ".join(repr(value).split("\n"))
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def is_whole(text: str) -> bool:
    """Whether a text is a whole number from 0 on; Python reads no more than 4,300 digits."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def to_float(text: str) -> float:
    """The number in a text; ValueError for 1_0, which Python would read as 10."""
    if "_" in text:
        raise ValueError(f"{text} is not a number")
    return float(text)


def seconds_of(name: str, duration: float | str, other: str = "seconds above 0") -> float:
    """The duration that a setting names, in seconds; text may end in s, m or h.

    other: what the error offers besides such a text.
    """
    text = str(duration).strip().lower()
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:], 0)
    try:
        seconds = to_float(text[:-1] if unit else text) * (unit or 1)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < _LONGEST:
        raise WhereofError(
            f"{name} is {duration!r}; give {other}, or a text such as 90s, 10m or 2h"
        )
    return seconds


def plain(value: Any) -> Any:
    """Convert a NumPy number to a Python number; other values stay as they are."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)
