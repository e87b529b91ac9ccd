"""Remove facts, retrain, and see."""

from whence.verify._case import Case

__all__ = ["Case"]
