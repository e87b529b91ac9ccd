"""Whereof: which training facts a prediction of an embedding model is made of."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whereof._version import __version__
from whereof.errors import WhereofError

if TYPE_CHECKING:
    from whereof.api import Retrained, Run, resume, train
    from whereof.data.dataset import Dataset
    from whereof.data.options import ReadOptions
    from whereof.data.read import read_dataset as read
    from whereof.evaluate.evaluation import Evaluation
    from whereof.evaluate.options import EvaluateOptions
    from whereof.events import Events
    from whereof.explain.explanation import Explanation
    from whereof.explain.options import ExplainOptions
    from whereof.predict.answers import Failed
    from whereof.retrain.options import EngineOptions, VerifyOptions
    from whereof.retrain.verify import Verdict
    from whereof.training import MachineOptions, TrainConfig

__all__ = [
    "Dataset",
    "EngineOptions",
    "EvaluateOptions",
    "Evaluation",
    "Events",
    "ExplainOptions",
    "Explanation",
    "Failed",
    "MachineOptions",
    "ReadOptions",
    "Retrained",
    "Run",
    "TrainConfig",
    "Verdict",
    "VerifyOptions",
    "WhereofError",
    "__version__",
    "read",
    "resume",
    "train",
]

_HOMES = {
    "Dataset": "whereof.data.dataset",
    "EngineOptions": "whereof.retrain.options",
    "EvaluateOptions": "whereof.evaluate.options",
    "Evaluation": "whereof.evaluate.evaluation",
    "Events": "whereof.events",
    "ExplainOptions": "whereof.explain.options",
    "Explanation": "whereof.explain.explanation",
    "Failed": "whereof.predict.answers",
    "MachineOptions": "whereof.training",
    "ReadOptions": "whereof.data.options",
    "Retrained": "whereof.api",
    "Run": "whereof.api",
    "TrainConfig": "whereof.training",
    "Verdict": "whereof.retrain.verify",
    "VerifyOptions": "whereof.retrain.options",
    "read": "whereof.data.read:read_dataset",
    "resume": "whereof.api",
    "train": "whereof.api",
}
"""The module of each public name that is imported on first use, so that `--help` stays fast."""

if not TYPE_CHECKING:  # where every name is known

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = _HOMES[name].partition(":")
        return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return __all__
