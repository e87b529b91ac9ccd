"""Optional packages, imported on first use."""

from importlib import import_module
from typing import Any

from whereof.errors import WhereofError


def need(package: str, extra: str, task: str, install: str | None = None) -> Any:
    """Import an optional package; if it is missing, the error says how to install it.

    install: what to give to pip, where it has another name.
    """
    root = package.partition(".")[0]
    try:
        return import_module(package)
    except ImportError:
        raise WhereofError(
            f"{task} needs {root}; pip install {install or root}, or Whereof with its extra {extra}"
        ) from None
    except Exception as error:  # one that does not go with the others may fail in any way
        raise WhereofError(
            f"{task} needs {root}, which does not import ({error}); install it anew"
        ) from None
