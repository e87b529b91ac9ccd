"""The paper's experiments done again, ours beside its figures."""

from typing import TYPE_CHECKING

from whereof._lazy import lazily

if TYPE_CHECKING:
    from whereof.paper._options import PaperOptions
    from whereof.paper._paper import Paper, reproduce
    from whereof.paper._watch import Budget, Cost, PaperWatch

__all__ = ["Budget", "Cost", "Paper", "PaperOptions", "PaperWatch", "reproduce"]

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("Paper", "reproduce"), "whereof.paper._paper"),
        "PaperOptions": "whereof.paper._options",
        **dict.fromkeys(("Budget", "Cost", "PaperWatch"), "whereof.paper._watch"),
    },
)
