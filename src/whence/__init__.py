"""Whence: which training facts made an embedding model predict what it predicts."""

from typing import TYPE_CHECKING

from whence._lazy import lazily
from whence._version import __version__
from whence.errors import WhenceError

if TYPE_CHECKING:
    from whence.api import Retrained, Run, resume, train
    from whence.data import Dataset, ReadOptions
    from whence.data import read_dataset as read
    from whence.engines import EngineOptions, RetrainWatch
    from whence.evaluate.options import EvaluateOptions
    from whence.evaluate.results import Evaluation
    from whence.explain import ExplainOptions, Explanation, Failed
    from whence.training import MachineOptions, TrainConfig
    from whence.verify import Verdict, VerifyOptions

__all__ = [
    "Dataset",
    "EngineOptions",
    "EvaluateOptions",
    "Evaluation",
    "ExplainOptions",
    "Explanation",
    "Failed",
    "MachineOptions",
    "ReadOptions",
    "RetrainWatch",
    "Retrained",
    "Run",
    "TrainConfig",
    "Verdict",
    "VerifyOptions",
    "WhenceError",
    "__version__",
    "read",
    "resume",
    "train",
]

__getattr__ = lazily(
    __name__,
    {
        "Dataset": "whence.data",
        "EngineOptions": "whence.engines",
        "EvaluateOptions": "whence.evaluate.options",
        "Evaluation": "whence.evaluate.results",
        "ExplainOptions": "whence.explain",
        "Explanation": "whence.explain",
        "Failed": "whence.explain",
        "MachineOptions": "whence.training",
        "ReadOptions": "whence.data",
        "RetrainWatch": "whence.engines",
        "Retrained": "whence.api",
        "Run": "whence.api",
        "TrainConfig": "whence.training",
        "Verdict": "whence.verify",
        "VerifyOptions": "whence.verify",
        "read": "whence.data:read_dataset",
        "resume": "whence.api",
        "train": "whence.api",
    },
)


def __dir__() -> list[str]:
    return __all__
