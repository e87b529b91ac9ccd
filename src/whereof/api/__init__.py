"""The public functions: train a model, open a run, ask it."""

from whereof.api.run import Run
from whereof.api.runs import free_path, resume, train, train_once

__all__ = ["Run", "free_path", "resume", "train", "train_once"]
