"""Options of the commands: from the tables of settings, from a TOML file, and shared ones."""

import json
import tomllib
from collections import ChainMap
from collections.abc import Callable, Collection
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from whereof.data.options import ReadOptions
from whereof.data.vocabulary import nearest
from whereof.errors import WhereofError
from whereof.evaluate.options import EvaluateOptions
from whereof.explain.options import ExplainOptions
from whereof.retrain.options import EngineOptions, VerifyOptions
from whereof.settings import Settings
from whereof.training import MachineOptions, TrainConfig
from whereof.training.defaults import CHOSEN

RUN = click.Path(file_okay=False, path_type=Path)
"""The folder of a run."""
FILE = click.Path(path_type=Path)

Command = TypeVar("Command", bound=Callable[..., Any])

Setting = tuple[type[Settings], Field[Any]]


def _settings(*tables: type[Settings]) -> dict[str, Setting]:
    return {item.name: (table, item) for table in tables for item in fields(table)}


TRAINING = _settings(ReadOptions, TrainConfig, MachineOptions)
EXPLAINING = _settings(ExplainOptions)
EVALUATING = _settings(EvaluateOptions)
VERIFYING = _settings(VerifyOptions)
ENGINES = _settings(EngineOptions)
"""The settings of each command, with their tables."""

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."
)


def _top_or_all(ctx: click.Context, param: click.Parameter, value: Any) -> int | str | None:
    if value is None:
        return None
    if value == "all":
        return "all"
    if not str(value).isdecimal() or int(value) < 1:
        raise WhereofError(f"--top is {value!r}; give a number from 1 on, or all")
    return int(value)


top_option = click.option(
    "--top",
    default="10",
    show_default=True,
    metavar="N|all",
    callback=_top_or_all,
    help="Number of answers.",
)


def _number(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    return int(value) if str(value).isdecimal() else value


def complete_model(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of models."""
    from whereof.models import MODELS

    titles = {name: model.title for name, model in MODELS.items() if name.startswith(incomplete)}
    return [CompletionItem(name, help=title) for name, title in titles.items()]


def complete_dataset(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of datasets."""
    from whereof.data.catalogue import CATALOGUE

    return [CompletionItem(name) for name in CATALOGUE if name.startswith(incomplete)]


def complete_data(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of datasets, and files."""
    names = complete_dataset(ctx, param, incomplete)
    return [*names, CompletionItem(incomplete, type="file")]


_CALLBACKS = {
    "negatives": ("N|all", _number),
    "predictions": ("top|true|FILE", None),
    "time_budget": ("TIME", _number),
    "top": ("N|all", _top_or_all),
}
"""For settings that may be a number, a word or a file."""

SEVERAL = {"relation": "NAME", "entity": "NAME", "without": "FACT", "facts": "FACT"}
"""Settings that may be repeated, and what each time."""

LISTED = ("candidates", "methods", "k", "protocols", "constraints", "settings")
"""Settings that are one text on the command line; in a file they may be a list or a table."""

_COMPLETIONS = {"model": complete_model}


def is_typed(name: str) -> bool:
    """Whether an option was typed, and does not come from a config file."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


class GroupedOption(click.Option):
    """An option that the help lists under a heading."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


def setting_options(settings: dict[str, Setting]) -> Callable[[Command], Command]:
    """One option for every setting; None unless given."""

    def add(command: Command) -> Command:
        for table, item in reversed(settings.values()):
            names, about = _option(item, table.types()[item.name])
            group = item.metadata["group"]
            command = click.option(*names, cls=GroupedOption, group=group, **about)(command)
        return command

    return add


def _option(item: Field[Any], kinds: tuple[type, ...]) -> tuple[list[str], dict[str, Any]]:
    """The names and the attributes of an option."""
    flag = "--" + item.name.replace("_", "-")
    about, default = item.metadata["about"], item.default
    if item.name in CHOSEN:
        about, default = f"{about}  [default: from the data]", None
    if bool in kinds:
        if default is not None:
            about += f"  [default: {'yes' if default else 'no'}]"
        return [f"{flag}/--no-{flag[2:]}"], {"default": None, "help": about}
    if Path in kinds:
        return [flag], {"type": FILE, "help": about}
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
    """A command whose help lists the options by group."""

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
            "the result contains NaN or infinity, which JSON cannot express: "
            "the run's parameters are too large; train it again with a smaller --rate"
        ) from None
    click.echo(text)


_COLUMNS = ("columns", "rating", "source")
"""Texts that may also be numbers, or lists of numbers."""
_SETTINGS = {
    "explain": EXPLAINING | ENGINES,
    "verify": VERIFYING | ENGINES,
    "evaluate": EVALUATING | ENGINES,
    "paper": ENGINES,
}
"""Commands with other settings than those of training."""


def _read_config(ctx: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        options = _options_by_command(ctx.find_root())
        try:
            ctx.default_map = _defaults(_load(path), str(ctx.info_name), options)
        except WhereofError as error:
            raise WhereofError(f"{path}: {error}") from error
    return path


config_option = click.option(
    "--config",
    type=FILE,
    callback=_read_config,
    is_eager=True,
    expose_value=False,
    help="Read options from a TOML file; typed options override them.",
)


def common_options(command: Command) -> Command:
    """Add --config and --json."""
    return config_option(json_option(command))


def given(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that were given."""
    return {name: value for name, value in settings.items() if value not in (None, ())}


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WhereofError(f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise WhereofError(f"not TOML: {error}") from error


def _options_by_command(root: click.Context) -> dict[str, dict[str, str]]:
    """For every command, the parameter of each option."""
    assert isinstance(root.command, click.Group)
    found = {}
    for name in root.command.list_commands(root):
        command = root.command.get_command(root, name)
        assert command is not None
        params = [param for param in command.params if param.name != "config"]
        found[name] = {opt[2:]: str(p.name) for p in params for opt in p.opts if opt[:2] == "--"}
    return found


def _defaults(
    values: dict[str, Any], command: str, options: dict[str, dict[str, str]]
) -> dict[str, Any]:
    """The options of a command in a file: the top level, overridden by the command's table."""
    every, mine = ChainMap(*options.values()), options[command]
    tables = {
        name: value
        for name, value in values.items()
        if isinstance(value, dict) and name not in every
    }
    for name in tables:
        _find(name, options, "table", f"choose from {', '.join(options)}")
    remedy = f"see whereof {command} --help"
    own, top = tables.get(command, {}), [key for key in values if key not in tables]
    found = [(_find(key, every, "option", remedy), values[key]) for key in top]
    found += [(_find(key, mine, "option", remedy), own[key]) for key in own]
    settings = _SETTINGS.get(command, TRAINING)
    return {
        mine[name]: _checked(settings, mine[name], value) for name, value in found if name in mine
    }


def _find(key: str, known: Collection[str], noun: str, remedy: str) -> str:
    """The name as it is spelled on the command line."""
    name = key.replace("_", "-")
    if name in known:
        return name
    near = nearest(name, known, 1)
    raise WhereofError(
        f"unknown {noun} {key!r}; {f'did you mean {near[0]!r}?' if near else remedy}"
    )


def _checked(settings: dict[str, Setting], name: str, value: Any) -> Any:
    if name in _COLUMNS and not isinstance(value, bool | str):
        value = ",".join(map(str, value if isinstance(value, list) else [value]))
    if name in settings:
        table, item = settings[name]
        table.check(item, value)
        if name in SEVERAL or (name in LISTED and isinstance(value, list)):
            return [_fact_text(item) for item in (value if isinstance(value, list) else [value])]
    return value


def _fact_text(item: Any) -> str:
    """A name, or the names of a fact separated by TAB: they may contain commas."""
    return "\t".join(map(str, item)) if isinstance(item, list) else str(item)
