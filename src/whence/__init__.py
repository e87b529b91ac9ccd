"""Whence: which training facts made an embedding model predict what it predicts."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whence._version import __version__
from whence.errors import WhenceError

if TYPE_CHECKING:
    from whence.api import Run, resume, train
    from whence.data import Dataset, ReadOptions
    from whence.data import read_dataset as read
    from whence.training import TrainConfig

__all__ = [
    "Dataset",
    "ReadOptions",
    "Run",
    "TrainConfig",
    "WhenceError",
    "__version__",
    "read",
    "resume",
    "train",
]

_HOME = {
    "Dataset": "whence.data:Dataset",
    "ReadOptions": "whence.data:ReadOptions",
    "Run": "whence.api:Run",
    "TrainConfig": "whence.training:TrainConfig",
    "read": "whence.data:read_dataset",
    "resume": "whence.api:resume",
    "train": "whence.api:train",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `whence --help` answers at once."""
    if name not in _HOME:
        raise AttributeError(f"module 'whence' has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
