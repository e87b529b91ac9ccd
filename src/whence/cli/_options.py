"""Options that commands share, and those that are made from the table of settings."""

import json
from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, TypeVar

import click

from whence.cli._completion import complete_model
from whence.data import ReadOptions
from whence.errors import WhenceError
from whence.settings import Settings
from whence.training import MachineOptions, TrainConfig
from whence.training.defaults import CHOSEN

Command = TypeVar("Command", bound=Callable[..., Any])

_TABLES: tuple[type[Settings], ...] = (ReadOptions, TrainConfig, MachineOptions)
SETTINGS = {item.name: (table, item) for table in _TABLES for item in fields(table)}
"""Every setting with the table that it stands in."""

json_option = click.option(
    "--json", "as_json", is_flag=True, help="One JSON document, nothing else."
)


def _top(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    if value == "all":
        return None
    if not str(value).isdecimal() or int(value) < 1:
        raise WhenceError(f"--top is {value!r}; give a number from 1 on, or all")
    return int(value)


top_option = click.option(
    "--top", default="10", show_default=True, metavar="N|all", callback=_top, help="How many."
)


_METAVARS = {"negatives": "N|all", "time_budget": "TIME"}
"""Of settings that take a number or a word."""

_COMPLETIONS = {"model": complete_model}


def _number(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    return int(value) if str(value).isdecimal() else value


def setting_options(command: Command) -> Command:
    """One option for every setting of data and training, unset unless given."""
    for table, item in reversed(SETTINGS.values()):
        command = _option(item, table.types()[item.name])(command)
    return command


def _option(item: Field[Any], kinds: tuple[type, ...]) -> Callable[[Command], Command]:
    flag = "--" + item.name.replace("_", "-")
    about, default = item.metadata["about"], item.default
    if item.name in CHOSEN:
        about, default = f"{about}  [default: from the data]", None
    if bool in kinds:
        if default is not None:
            about += f"  [default: {'yes' if default else 'no'}]"
        return click.option(f"{flag}/--no-{flag[2:]}", default=None, help=about)
    if Path in kinds:
        return click.option(flag, type=click.Path(path_type=Path), help=about)
    if default is not None:
        about += f"  [default: {default}]"
    if item.name in _METAVARS:
        return click.option(flag, metavar=_METAVARS[item.name], callback=_number, help=about)
    choices = item.metadata.get("choices")
    kind = click.Choice(choices) if choices else kinds[0]
    return click.option(flag, type=kind, help=about, shell_complete=_COMPLETIONS.get(item.name))


class SettingsCommand(click.Command):
    """A command whose help lists the settings by group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        by_name = {name: item.metadata["group"] for name, (_, item) in SETTINGS.items()}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None:
                groups.setdefault(by_name.get(str(param.name), "Options"), []).append(record)
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records)


def print_json(value: Any) -> None:
    """One document on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))
