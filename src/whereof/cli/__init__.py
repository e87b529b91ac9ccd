"""The command line. Each command is a file: it parses, calls the api and presents."""

import io
import os
import re
import sys
from difflib import get_close_matches
from importlib import import_module
from itertools import chain

import click

from whereof._version import __version__
from whereof.errors import Interrupted, WhereofError

_COMMANDS = (
    *("demo", "train", "predict", "explain", "verify", "smallest", "evaluate"),
    *("audit", "impact", "unlearn", "update"),
    *("serve", "report", "paper", "label", "info", "datasets"),
)
_UNREAD, _BAD_INPUT, _INTERRUPTED = 1, 2, 130


class _Commands(click.Group):
    """Imports the file of a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS:
            return load_commands(cmd_name)[cmd_name]
        for near in get_close_matches(cmd_name, _COMMANDS, 1):
            if not ctx.resilient_parsing:
                raise click.UsageError(f"No such command {cmd_name!r}. Did you mean {near!r}?")
        return None


def load_commands(*names: str) -> dict[str, click.Command]:
    """The commands with these names, or all of them."""
    return {name: import_module(f"whereof.cli.{name}").command for name in names or _COMMANDS}


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="whereof")
def cli() -> None:
    """Find the training facts that a prediction is made of, and check them by retraining.

    Shell completion: eval "$(_WHEREOF_COMPLETE=bash_source whereof)", or zsh_source, fish_source.
    """


def main() -> None:
    """Run a command. Bad input is one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # names that the terminal cannot show
    try:
        code = cli.main(prog_name="whereof", standalone_mode=False) or 0
        sys.stdout.flush()
        sys.exit(code)
    except BrokenPipeError:  # a reader such as head closes the pipe early; this needs no message
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_UNREAD)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(_BAD_INPUT)
    except click.ClickException as error:
        _fail(f"{error.format_message()}{_hint(error)}")
    except WhereofError as error:
        code = _INTERRUPTED if isinstance(error, Interrupted) else _BAD_INPUT
        _fail(_with_flags(str(error)), code)
    except OSError as error:
        _fail(f"{error.filename or 'standard output'}: {error.strerror or error}")
    except MemoryError:
        _fail("out of memory: choose a smaller --dim or --batch-size, or use more memory")
    except (KeyboardInterrupt, click.Abort):
        _fail("interrupted", _INTERRUPTED)


def _hint(error: click.ClickException) -> str:
    """What an unknown option may mean: a file to write, or a name."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return ""
    options = [name for param in error.ctx.command.params for name in param.opts]
    word = error.option_name.lstrip("-")
    if word in ("csv", "tsv", "jsonl", "parquet") and "--out" in options:
        return f" To write a file, use --out FILE.{word}."
    if {"prediction", "query"} & {*options} and not error.possibilities:
        every = (param.opts for command in load_commands().values() for param in command.params)
        is_option = error.option_name.startswith("--") or error.option_name in chain(*every)
        return "" if is_option else " Names that start with - go after --, at the end."
    return ""


def _with_flags(message: str) -> str:
    """A message of the library, with settings spelled as options."""
    from whereof.cli._options import SettingOption

    params = [param for command in load_commands().values() for param in command.params]
    every = {param.item.name for param in params if isinstance(param, SettingOption)}
    names = "|".join(name for name in every if "_" in name)
    first = rf"^({'|'.join(every)})(?= is | requires | already )"
    remedy = rf"(?:(?<= which with )|(?<= them with ))({'|'.join(every)})\b"
    # Not in quotes or paths: those are words of the user.
    whole = rf"{first}|{remedy}|(?<![\w'\"/.-])({names})(?![\w'\"/-]|\.\w)"
    message = re.sub(whole, lambda found: "--" + found[0].replace("_", "-"), message)
    return re.sub(r"(?<![\w'\"/.-])(force|resume)=True\b", r"--\1", message)


def _fail(message: str, code: int = _BAD_INPUT) -> None:
    from whereof.present.terminal import on_one_line

    click.echo(f"whereof: {on_one_line(' '.join(message.splitlines()))}", err=True)
    sys.exit(code)
