"""Optional packages, imported where they are needed."""

from importlib import import_module
from typing import Any

from whence.errors import WhenceError


def need(package: str, extra: str, task: str) -> Any:
    """An optional package; one that is missing is said in one line, with how to get it."""
    try:
        return import_module(package)
    except ImportError:
        root = package.partition(".")[0]
        raise WhenceError(f"{task} needs {root}; pip install {root} (or whence[{extra}])") from None
