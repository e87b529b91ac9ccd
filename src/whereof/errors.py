"""Errors that users see, and optional packages that may be missing."""

from importlib import import_module
from typing import Any


class WhereofError(Exception):
    """Bad input: what is wrong, what is allowed, and what to do.

    The message is one line without control characters, even if it quotes a file.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(each if each.isprintable() else " " for each in message))


class Interrupted(WhereofError):
    """The work was stopped on request and can be continued."""


class Diverged(WhereofError):
    """The loss or the parameters are no longer finite. Resuming would diverge again."""


def need(package: str, extra: str, task: str) -> Any:
    """Import an optional package; if it is missing, the error says how to install it."""
    root = package.partition(".")[0]
    try:
        return import_module(package)
    except Exception as error:  # an incompatible package may fail in any way
        remedy = f", which cannot be imported ({error}); install it again"
        if isinstance(error, ImportError):
            remedy = f'; install it with: pip install "whereof[{extra}]"'
        raise WhereofError(f"{task} requires {root}{remedy}") from None
