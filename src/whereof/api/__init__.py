"""The public functions: train a model, open a run, ask it."""

from whereof.api.retraining import Retrained
from whereof.api.run import Run
from whereof.api.training import free_path, resume, train

__all__ = ["Retrained", "Run", "free_path", "resume", "train"]
