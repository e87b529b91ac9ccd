"""The public functions: train a model, open a run, ask it."""

from whereof.api.cases import Retrained
from whereof.api.run import Run
from whereof.api.runs import free_path, resume, train, train_once

__all__ = ["Retrained", "Run", "free_path", "resume", "train", "train_once"]
