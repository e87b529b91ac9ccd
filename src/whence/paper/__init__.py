"""The paper's experiments done again, ours beside its figures."""

from typing import TYPE_CHECKING

from whence._lazy import lazily

if TYPE_CHECKING:
    from whence.paper._options import PaperOptions
    from whence.paper._paper import Paper, reproduce
    from whence.paper._watch import Budget, Cost, PaperWatch

__all__ = ["Budget", "Cost", "Paper", "PaperOptions", "PaperWatch", "reproduce"]

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("Paper", "reproduce"), "whence.paper._paper"),
        "PaperOptions": "whence.paper._options",
        **dict.fromkeys(("Budget", "Cost", "PaperWatch"), "whence.paper._watch"),
    },
)
