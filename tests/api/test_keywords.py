"""The typed keywords of the api are the settings of the tables, with the same types."""

import types
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import whereof
from whereof.api import keywords
from whereof.data.options import ReadOptions
from whereof.evaluate.options import EvaluateOptions
from whereof.explain.options import ExplainOptions
from whereof.settings import Settings
from whereof.training.config import MachineOptions, TrainConfig

TABLES: list[tuple[type, tuple[type[Settings], ...]]] = [
    (keywords.MachineKeywords, (MachineOptions,)),
    (keywords.TrainKeywords, (ReadOptions, TrainConfig, MachineOptions)),
    (keywords.EngineKeywords, (whereof.EngineOptions,)),
    (keywords.ExplainKeywords, (ExplainOptions,)),
    (keywords.ExplainOneKeywords, (ExplainOptions, whereof.EngineOptions)),
    (keywords.VerifyKeywords, (whereof.VerifyOptions, whereof.EngineOptions)),
    (keywords.SmallestKeywords, (whereof.SmallestOptions, whereof.EngineOptions)),
    (keywords.UnlearnKeywords, (whereof.UnlearnOptions,)),
    (keywords.UpdateKeywords, (whereof.UpdateOptions,)),
    (keywords.ImpactKeywords, (whereof.ImpactOptions, whereof.EngineOptions)),
    (keywords.AuditKeywords, (whereof.AuditOptions, whereof.EngineOptions)),
    (keywords.EvaluateKeywords, (EvaluateOptions, whereof.EngineOptions)),
]


def plain_types(hint: Any) -> set[type]:
    """The types that a hint allows, without what they contain."""
    origin = get_origin(hint)
    if origin is Literal:
        return {type(value) for value in get_args(hint)}
    if origin is None or (not isinstance(hint, types.UnionType) and origin is not types.UnionType):
        if str(origin) == "typing.Union":
            return set().union(*map(plain_types, get_args(hint)))
        return {origin or hint}
    return set().union(*map(plain_types, get_args(hint)))


@pytest.mark.parametrize(("typed", "tables"), TABLES, ids=lambda it: getattr(it, "__name__", ""))
def test_keywords_are_the_settings(typed: type, tables: tuple[type[Settings], ...]) -> None:
    hints = get_type_hints(typed)
    assert sorted(hints) == sorted({name for table in tables for name in table.names()})
    for table in tables:
        for name, kinds in table.types().items():
            allowed = plain_types(hints[name])
            stands_for = {list: "Sequence", tuple: "Sequence", dict: "Mapping"}
            for kind in kinds:
                words = {each.__name__ for each in allowed}
                assert kind.__name__ in words or stands_for.get(kind) in words, (name, kind)
    assert Path in plain_types(get_type_hints(keywords.TrainKeywords)["data_dir"])


def test_choices_are_the_settings_choices() -> None:
    """A literal lists what the table allows."""
    for typed, tables in TABLES:
        hints = get_type_hints(typed)
        for table in tables:
            for name, item in table.__dataclass_fields__.items():
                literals = [
                    each
                    for each in (hints[name], *get_args(hints[name]))
                    if get_origin(each) is Literal
                ]
                choices = item.metadata.get("choices")
                if literals and choices:
                    assert get_args(literals[0]) == tuple(choices), name
