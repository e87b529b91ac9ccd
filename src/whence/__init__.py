"""Whence: which training facts made an embedding model predict what it predicts."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whence._version import __version__
from whence.errors import WhenceError

if TYPE_CHECKING:
    from whence.api import Run, resume, train
    from whence.training import TrainConfig

__all__ = ["Run", "TrainConfig", "WhenceError", "__version__", "resume", "train"]

_HOME = {"Run": "whence.api", "TrainConfig": "whence.training"} | dict.fromkeys(
    ("resume", "train"), "whence.api"
)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `whence --help` answers at once."""
    if name not in _HOME:
        raise AttributeError(f"module 'whence' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
