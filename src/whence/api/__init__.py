"""The public face: train a model, open a run, ask it."""

from whence.api._retraining import Retrained
from whence.api._run import Run
from whence.api._training import free_path, resume, train

__all__ = ["Retrained", "Run", "free_path", "resume", "train"]
