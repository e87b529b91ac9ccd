"""Options from a TOML file."""

import tomllib
from collections import ChainMap
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from whereof.cli._options import (
    ENGINES,
    EVALUATING,
    EXPLAINING,
    LISTED,
    SEVERAL,
    TRAINING,
    VERIFYING,
    Setting,
)
from whereof.data.vocabulary import nearest
from whereof.errors import WhereofError

_COLUMNS = ("columns", "rating", "source")
"""Texts that may stand as numbers or lists of them."""
_SETTINGS = {
    "explain": EXPLAINING | ENGINES,
    "verify": VERIFYING | ENGINES,
    "evaluate": EVALUATING | ENGINES,
    "paper": ENGINES,
}
"""Of commands that have other settings than training."""


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
    type=click.Path(path_type=Path),
    callback=_read_config,
    is_eager=True,
    expose_value=False,
    help="A TOML file of options; those on the command line come first.",
)


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WhereofError(f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise WhereofError(f"not TOML: {error}") from error


def _options_by_command(root: click.Context) -> dict[str, dict[str, str]]:
    """For every command, the parameters behind its options."""
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
    """What a file says to a command: its top level, overridden by the command's own table."""
    tables = {name: value for name, value in values.items() if isinstance(value, dict)}
    for name in tables:
        _find(name, options, "table", f"choose from {', '.join(options)}")
    every, mine = ChainMap(*options.values()), options[command]
    remedy = f"see whereof {command} --help"
    own, top = tables.get(command, {}), [key for key in values if key not in tables]
    found = [(_find(key, every, "option", remedy), values[key]) for key in top]
    found += [(_find(key, mine, "option", remedy), own[key]) for key in own]
    settings = _SETTINGS.get(command, TRAINING)
    return {
        mine[name]: _checked(settings, mine[name], value) for name, value in found if name in mine
    }


def _find(key: str, known: Collection[str], noun: str, remedy: str) -> str:
    """The name as options spell it."""
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
            return [_text(item) for item in (value if isinstance(value, list) else [value])]
    return value


def _text(item: Any) -> str:
    """A name, or those of a fact, which may have commas in them, by TAB."""
    return "\t".join(map(str, item)) if isinstance(item, list) else str(item)
