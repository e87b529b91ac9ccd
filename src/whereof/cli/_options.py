"""Options that commands share, and those that are made from the table of settings."""

import json
from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, TypeVar

import click

from whereof.cli._completion import complete_model
from whereof.data import ReadOptions
from whereof.errors import WhereofError
from whereof.evaluate.options import EvaluateOptions
from whereof.explain.options import ExplainOptions
from whereof.retrain import EngineOptions, VerifyOptions
from whereof.settings import Settings
from whereof.training import MachineOptions, TrainConfig
from whereof.training.defaults import CHOSEN

Command = TypeVar("Command", bound=Callable[..., Any])

Setting = tuple[type[Settings], Field[Any]]


def _settings(*tables: type[Settings]) -> dict[str, Setting]:
    return {item.name: (table, item) for table in tables for item in fields(table)}


TRAINING = _settings(ReadOptions, TrainConfig, MachineOptions)
EXPLAINING = _settings(ExplainOptions)
EVALUATING = _settings(EvaluateOptions)
VERIFYING = _settings(VerifyOptions)
ENGINES = _settings(EngineOptions)
"""Every setting with the table that it stands in."""

json_option = click.option(
    "--json", "as_json", is_flag=True, help="One JSON document, nothing else."
)


def _top_or_all(ctx: click.Context, param: click.Parameter, value: Any) -> int | str | None:
    if value is None:
        return None
    if value == "all":
        return "all"
    if not str(value).isdecimal() or int(value) < 1:
        raise WhereofError(f"--top is {value!r}; give a number from 1 on, or all")
    return int(value)


def _top(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    top = _top_or_all(ctx, param, value)
    return top if isinstance(top, int) else None


top_option = click.option(
    "--top", default="10", show_default=True, metavar="N|all", callback=_top, help="How many."
)


def _number(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    return int(value) if str(value).isdecimal() else value


def _text(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    return value


_CALLBACKS = {
    "negatives": ("N|all", _number),
    "predictions": ("top|true|FILE", _text),
    "time_budget": ("TIME", _number),
    "top": ("N|all", _top_or_all),
}
"""Of settings that take a number, a word or a file."""

SEVERAL = {"relation": "NAME", "entity": "NAME", "without": "FACT", "facts": "FACT"}
"""Settings that may be given again, and what each time."""

LISTED = ("candidates", "methods", "k", "protocols", "constraints")
"""Settings that are one text on the command line, and may be a list in a file."""

_COMPLETIONS = {"model": complete_model}


def is_typed(name: str) -> bool:
    """Whether an option stands on the command line: a file may have it for other commands."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


class GroupedOption(click.Option):
    """An option that stands under a heading of its own in the help."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


def setting_options(settings: dict[str, Setting]) -> Callable[[Command], Command]:
    """One option for every setting, unset unless given."""

    def add(command: Command) -> Command:
        for table, item in reversed(settings.values()):
            names, about = _option(item, table.types()[item.name])
            group = item.metadata["group"]
            command = click.option(*names, cls=GroupedOption, group=group, **about)(command)
        return command

    return add


def _option(item: Field[Any], kinds: tuple[type, ...]) -> tuple[list[str], dict[str, Any]]:
    """How an option is spelled, and what click is to know of it."""
    flag = "--" + item.name.replace("_", "-")
    about, default = item.metadata["about"], item.default
    if item.name in CHOSEN:
        about, default = f"{about}  [default: from the data]", None
    if bool in kinds:
        if default is not None:
            about += f"  [default: {'yes' if default else 'no'}]"
        return [f"{flag}/--no-{flag[2:]}"], {"default": None, "help": about}
    if Path in kinds:
        return [flag], {"type": click.Path(path_type=Path), "help": about}
    if item.name in SEVERAL:
        return [flag], {"multiple": True, "metavar": SEVERAL[item.name], "help": about}
    if default is not None:
        about += f"  [default: {default}]"
    if item.name in _CALLBACKS:
        metavar, callback = _CALLBACKS[item.name]
        return [flag], {"metavar": metavar, "callback": callback, "help": about}
    if item.name in LISTED:
        return [flag], {"type": click.UNPROCESSED, "help": about}
    choices = item.metadata.get("choices")
    kind = click.Choice(choices) if choices else kinds[0]
    complete = _COMPLETIONS.get(item.name)
    return [flag], {"type": kind, "help": about, "shell_complete": complete}


class SettingsCommand(click.Command):
    """A command whose help lists options by group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None:
                groups.setdefault(getattr(param, "group", "Options"), []).append(record)
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records)


def print_json(value: Any) -> None:
    """One document on standard output."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    except ValueError:
        raise WhereofError(
            "the result has numbers that are not finite, for which JSON has no word: "
            "the run's parameters are too large; train it with a smaller rate"
        ) from None
    click.echo(text)
