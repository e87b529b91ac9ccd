"""Whereof: which training facts a prediction of an embedding model is made of."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whereof._version import __version__
from whereof.errors import WhereofError

if TYPE_CHECKING:
    from whereof.api.run import Run as Run
    from whereof.api.runs import resume as resume
    from whereof.api.runs import train as train
    from whereof.data.dataset import Dataset as Dataset
    from whereof.data.options import ReadOptions as ReadOptions
    from whereof.data.read import read_dataset
    from whereof.evaluate.audit import Audit as Audit
    from whereof.evaluate.evaluation import Evaluation as Evaluation
    from whereof.evaluate.options import AuditOptions as AuditOptions
    from whereof.evaluate.options import EvaluateOptions as EvaluateOptions
    from whereof.events import Events as Events
    from whereof.explain.explanation import Explanation as Explanation
    from whereof.explain.impact import Impact as Impact
    from whereof.explain.options import ExplainOptions as ExplainOptions
    from whereof.explain.options import ImpactOptions as ImpactOptions
    from whereof.predict.answers import Failed as Failed
    from whereof.retrain.options import EngineOptions as EngineOptions
    from whereof.retrain.options import SmallestOptions as SmallestOptions
    from whereof.retrain.options import UnlearnOptions as UnlearnOptions
    from whereof.retrain.options import UpdateOptions as UpdateOptions
    from whereof.retrain.options import VerifyOptions as VerifyOptions
    from whereof.retrain.retrainer import Retrained as Retrained
    from whereof.retrain.smallest import Smallest as Smallest
    from whereof.retrain.sufficient import Sufficient as Sufficient
    from whereof.retrain.unlearn import Unlearned as Unlearned
    from whereof.retrain.update import Updated as Updated
    from whereof.retrain.verify import Verdict as Verdict
    from whereof.training.config import MachineOptions as MachineOptions
    from whereof.training.config import TrainConfig as TrainConfig

    read = read_dataset

# Imported on first use, so that `--help` stays fast.
_MODULES = {
    "api.run": "Run",
    "api.runs": "resume train",
    "data.dataset": "Dataset",
    "data.options": "ReadOptions",
    "data.read": "read",
    "evaluate.audit": "Audit",
    "evaluate.evaluation": "Evaluation",
    "evaluate.options": "AuditOptions EvaluateOptions",
    "events": "Events",
    "explain.explanation": "Explanation",
    "explain.impact": "Impact",
    "explain.options": "ExplainOptions ImpactOptions",
    "predict.answers": "Failed",
    "retrain.options": "EngineOptions SmallestOptions UnlearnOptions UpdateOptions VerifyOptions",
    "retrain.retrainer": "Retrained",
    "retrain.smallest": "Smallest",
    "retrain.sufficient": "Sufficient",
    "retrain.unlearn": "Unlearned",
    "retrain.update": "Updated",
    "retrain.verify": "Verdict",
    "training.config": "MachineOptions TrainConfig",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}
_INTEGRATIONS = ("pykeen", "torch")  # which import the package of the same name
__all__ = [*_HOMES, "WhereofError", "__version__"]

if not TYPE_CHECKING:  # where every name is known

    def __getattr__(name: str) -> Any:
        if name in _INTEGRATIONS:
            return import_module(f"whereof.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = import_module(f"whereof.{_HOMES[name]}")
        return getattr(home, "read_dataset" if name == "read" else name)


def __dir__() -> list[str]:
    return __all__
