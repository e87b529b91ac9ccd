"""The public face: train a model, open a run, ask it."""

from whereof.api._retraining import Retrained
from whereof.api._run import Run
from whereof.api._training import free_path, resume, train

__all__ = ["Retrained", "Run", "free_path", "resume", "train"]
