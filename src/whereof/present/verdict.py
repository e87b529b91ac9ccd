"""A verdict in words."""

from whereof.retrain import Verdict
from whereof.retrain._words import in_words


def verdict_words(verdict: Verdict) -> str:
    """What really happened, what was predicted, and what happened under other seeds."""
    return in_words(verdict)
