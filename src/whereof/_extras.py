"""Optional packages, imported on first use."""

from importlib import import_module
from typing import Any

from whereof.errors import WhereofError


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
