"""Options of the commands: from the tables of settings, from a TOML file, and shared ones."""

import json
import re
import tomllib
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import Field, fields
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import whereof
from whereof.cli import load_commands
from whereof.data.options import OTHERS
from whereof.errors import WhereofError
from whereof.registry import unknown
from whereof.settings import Settings, is_whole
from whereof.training.config import TrainConfig
from whereof.training.defaults import CHOSEN

_CONTROL = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters that JSON does not escape; a terminal would obey them."""
_MOST_CONFIG_BYTES = 1_000_000
"""The largest size of a file of options."""
RUN = click.Path(file_okay=False, path_type=Path)
"""The folder of a run."""
FILE = click.Path(path_type=Path)
run_argument = click.argument(
    "run", type=RUN, callback=lambda ctx, param, path: whereof.Run.open(path)
)
file_option = partial(click.option, type=FILE, metavar="FILE")
new_run = click.option(
    "-o", "--out", type=FILE, help="Folder of the run  [default: a new one in runs/]"
)
flag = partial(click.option, is_flag=True)


class SettingOption(click.Option):
    """The option of a setting; None unless given. The help lists it under its group."""

    def __init__(self, table: type[Settings], item: Field[Any]) -> None:
        self.table, self.item, self.kinds = table, item, table.types()[item.name]
        about, name = item.metadata, item.name.replace("_", "-")
        chosen = table is TrainConfig and item.name in CHOSEN
        default = "from the data" if chosen else item.default
        if isinstance(default, bool):
            default = "yes" if default else "no"
        if "[default:" in about["about"]:
            default = None
        word, self.group = about.get("word"), about["group"]
        flag = f"--{name}/--no-{name}" if bool in self.kinds else f"--{name}"
        super().__init__(
            [flag, *about.get("short", "").split()],
            type=self._kind(),
            default=None,
            multiple="several" in about,
            metavar=f"N|{word}" if word else about.get("several", about.get("metavar")),
            help=about["about"] + ("" if default is None else f"  [default: {default}]"),
            shell_complete=complete if item.name == "model" else None,
        )

    def _kind(self) -> Any:
        """The type for click. Some settings are a text in a command, and a list in a file."""
        kinds, choices = self.kinds, self.item.metadata.get("choices")
        if bool in kinds:
            return None
        if Path in kinds:
            return FILE
        if choices:
            return Choice(choices)
        if list in kinds or dict in kinds or tuple in kinds:
            return click.UNPROCESSED
        if {int, float} & {*kinds} and str in kinds:
            return _number_or_word
        return _Number(kinds[0]) if kinds[0] in (int, float) else kinds[0]

    def from_file(self, value: Any) -> Any:
        """A value of a TOML file, checked, and as it would be typed."""
        values = value if isinstance(value, list) else [value]
        if self.item.name in ("columns", *OTHERS) and not isinstance(value, bool | str):
            value = ",".join(map(str, values))
        self.table.check(self.item, value)
        if self.multiple or isinstance(value, list):
            # The names of a fact are separated by TAB: they may contain commas.
            facts = [each if isinstance(each, list) else [each] for each in values]
            return ["\t".join(map(str, fact)) for fact in facts]
        return value


class Choice(click.Choice[str]):
    """One of some names. The error for another name suggests the nearest one, as in the library."""

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        if value not in self.choices:
            raise unknown(param.name, value, self.choices)
        return str(value)


class _Number(click.ParamType):  # type: ignore[type-arg]
    """A number as people write it: Python would read 1_0 as 10."""

    def __init__(self, kind: type) -> None:
        self._plain = click.types.convert_type(kind)
        self.name = self._plain.name

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, str) and "_" in value:
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return self._plain.convert(value, param, ctx)


def _number_or_word(value: Any) -> Any:
    return int(value) if is_whole(str(value)) else value


Result = tuple[Any, Callable[[], None]]
"""What a command returns: the result, which --json prints, and a function that shows it."""


class SettingsCommand(click.Command):
    """A command with an option for every setting of some tables, and with --config and --json.

    If tables have a setting in common, the last one counts. With `progress`, the command gets
    `events`, which are shown in the terminal.
    """

    def __init__(self, *args: Any, tables: Any = (), progress: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        self.progress = progress
        chosen: dict[str, click.Parameter] = {}
        for table in tables:
            items = [item for item in fields(table) if item.metadata.get("group")]
            chosen |= {item.name: SettingOption(table, item) for item in items}
        config = click.Option(
            ["--config"],
            type=FILE,
            callback=_read_config,
            is_eager=True,
            expose_value=False,
            help="Read options from a TOML file; typed options override them.",
        )
        as_json = click.Option(
            ["--json", "as_json"], is_flag=True, help="Print one JSON document and nothing else."
        )
        self.params += [config, as_json, *chosen.values()]

    def invoke(self, ctx: click.Context) -> None:
        as_json = ctx.params.pop("as_json")
        with ExitStack() as stack:
            if self.progress:
                from whereof.cli.progress import TerminalEvents

                ctx.params["events"] = stack.enter_context(TerminalEvents())
            found, show = super().invoke(ctx)
        if not as_json:
            show()
            return
        document = found if isinstance(found, dict) else found.to_dict()
        try:
            text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
        except ValueError:
            raise WhereofError(
                "the result contains NaN or infinity, which JSON cannot express: "
                "the run's parameters are too large; train it again with a smaller --rate"
            ) from None
        click.echo(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None:
                groups.setdefault(getattr(param, "group", "Options"), []).append(record)
        for name, records in groups.items():
            with formatter.section(name):
                formatter.write_dl(records)


command = partial(click.command, cls=SettingsCommand)


def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of models for --model, of datasets for NAME; also files for DATA."""
    from whereof.data.catalogue import CATALOGUE
    from whereof.models import MODELS

    known: Mapping[str, Any] = MODELS if param.name == "model" else CATALOGUE
    found = [CompletionItem(n, help=each.title) for n, each in known.items()]
    files = [CompletionItem(incomplete, type="file")] if param.name == "data" else []
    return [item for item in found if item.value.startswith(incomplete)] + files


def is_typed(name: str) -> bool:
    """Whether an option was typed, and does not come from a config file."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def given(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that were given."""
    return {name: value for name, value in settings.items() if value not in (None, ())}


def _read_config(ctx: click.Context, param: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_CONFIG_BYTES + 1)
        if len(text) > _MOST_CONFIG_BYTES:  # such as /dev/zero, which has no end
            raise WhereofError("the file is too large; a file of options has at most 1 MB")
        values = tomllib.loads(text.decode())
        ctx.default_map = _defaults(values, str(ctx.info_name))
    except WhereofError as error:
        raise WhereofError(f"{path}: {error}") from error
    except OSError as error:
        raise WhereofError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise WhereofError(f"{path}: not TOML: {error}") from error


def _defaults(values: dict[str, Any], command: str) -> dict[str, Any]:
    """The options of a command in a file: the top level, overridden by the command's table."""
    options = {}
    for name, each in load_commands().items():
        params = [param for param in each.params if param.name != "config"]
        options[name] = {opt[2:]: it for it in params for opt in it.opts if opt[:2] == "--"}
    every, mine = ChainMap(*options.values()), options[command]
    dicts = {name: each for name, each in values.items() if isinstance(each, dict)}
    # audit has an option --verify, which is not the table of the command verify
    tables = {name: each for name, each in dicts.items() if name in options or name not in every}
    for name in tables:
        _find(name, options, "table", f"choose from {', '.join(options)}")
    top = {name: value for name, value in values.items() if name not in tables}
    found = {}
    for known, chosen in ((every, top), (mine, tables.get(command, {}))):
        for key, value in chosen.items():
            param = mine.get(_find(key, known, "option", f"see whereof {command} --help"))
            if isinstance(param, SettingOption):
                value = param.from_file(value)
            if param is not None:
                found[str(param.name)] = value
    return found


def _find(key: str, known: Collection[str], noun: str, remedy: str) -> str:
    name = key.replace("_", "-")
    if name not in known:
        raise unknown(noun, key, known, remedy)
    return name
