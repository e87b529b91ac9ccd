"""Options that commands share, and those that are made from the table of settings."""

import json
import tomllib
from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, TypeVar

import click

from whence.data._options import ReadOptions
from whence.errors import WhenceError
from whence.settings import Settings
from whence.training.config import TrainConfig
from whence.training.defaults import CHOSEN

Command = TypeVar("Command", bound=Callable[..., Any])

_TABLES: tuple[type[Settings], ...] = (ReadOptions, TrainConfig)
_SETTINGS = {item.name: (table, item) for table in _TABLES for item in fields(table)}

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


def _number(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    return int(value) if str(value).isdecimal() else value


def _read_config(ctx: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
    """Take defaults from a TOML file: its top level, or its table named after the command."""
    if path is None:
        return None
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WhenceError(f"cannot read {path}: {error}") from error
    if any(isinstance(value, dict) for value in values.values()):
        values = values.get(str(ctx.info_name), {})
    if not isinstance(values, dict):
        raise WhenceError(f"{path}: {ctx.info_name} is not a table of settings")
    names = {opt.lstrip("-"): str(p.name) for p in ctx.command.params for opt in p.opts}
    defaults = {}
    for key, value in values.items():
        name = names.get(key.replace("_", "-"))
        if name in (None, "config"):
            raise WhenceError(f"{path}: unknown setting {key!r}; see whence {ctx.info_name} --help")
        if name in _SETTINGS:
            table, item = _SETTINGS[name]
            table.check(item, value)
        defaults[name] = value
    ctx.default_map = defaults
    return path


config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    callback=_read_config,
    is_eager=True,
    expose_value=False,
    help="A TOML file of options; those on the command line come first.",
)


def setting_options(command: Command) -> Command:
    """One option for every setting of data and training, unset unless given."""
    for table, item in reversed(_SETTINGS.values()):
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
    return click.option(flag, type=click.Choice(choices) if choices else kinds[0], help=about)


class SettingsCommand(click.Command):
    """A command whose help lists the settings by group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        by_name = {name: item.metadata["group"] for name, (_, item) in _SETTINGS.items()}
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
