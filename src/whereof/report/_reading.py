"""Documents of evaluations read from files, and checked before a page is made of them."""

import json
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from whereof.errors import WhereofError
from whereof.evaluate.results import Evaluation

_REMEDY = "give what `whereof evaluate --json` gives"


def read_evaluation(path: Path) -> dict[str, Any]:
    """One document; what is wrong with it is said in one line."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WhereofError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise WhereofError(f"{path} is no JSON: {error}; {_REMEDY}") from None
    return check_evaluation(document, str(path))


def check_evaluation(document: Any, name: str = "the evaluation") -> dict[str, Any]:
    """The document, if every record in it has its fields and they are of their kinds."""
    _check_record(document, Evaluation, name)
    checked: dict[str, Any] = document
    return checked


def _check_record(value: Any, kind: type, where: str) -> None:
    if not isinstance(value, dict):
        raise WhereofError(f"{where} is no evaluation, but {_short(value)}; {_REMEDY}")
    hints = get_type_hints(kind)
    for item in fields(kind):
        if item.name in value:
            _check(value[item.name], hints[item.name], f"{where}: {item.name}")
        elif item.default is MISSING and item.default_factory is MISSING:
            raise WhereofError(f"{where}: {item.name} is missing; {_REMEDY}")


def _check(value: Any, kind: Any, where: str) -> None:
    """Refuse a value that is not of its kind; any number may be None, which JSON has for NaN."""
    if isinstance(kind, UnionType):
        _check_union(value, kind, where)
    elif is_dataclass(kind) and isinstance(kind, type):
        _check_record(value, kind, where)
    elif get_origin(kind) is tuple:
        _check_list(value, get_args(kind), where)
    elif not _is_plain(value, get_origin(kind) or kind):
        raise WhereofError(f"{where} is {_short(value)}; {_REMEDY}")


def _check_union(value: Any, kind: UnionType, where: str) -> None:
    kinds = [each for each in get_args(kind) if each is not NoneType]
    if value is None:
        return
    if len(kinds) == 1:
        _check(value, kinds[0], where)
    elif not any(_is_plain(value, each) for each in kinds):
        raise WhereofError(f"{where} is {_short(value)}; {_REMEDY}")


def _check_list(value: Any, kinds: tuple[Any, ...], where: str) -> None:
    if not isinstance(value, list | tuple):
        raise WhereofError(f"{where} is {_short(value)}, not a list; {_REMEDY}")
    if kinds[-1] is ...:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise WhereofError(f"{where} has {len(value)} values, not {len(kinds)}; {_REMEDY}")
    for index, (each, kind) in enumerate(zip(value, kinds, strict=True)):
        _check(each, kind, f"{where}[{index}]")


def _is_plain(value: Any, kind: Any) -> bool:
    if kind is Any:
        return True
    if kind is float:
        return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
