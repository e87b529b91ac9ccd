"""The paper's experiments done again, ours beside its figures."""

from typing import TYPE_CHECKING

from whereof._lazy import lazily

if TYPE_CHECKING:
    from whereof.paper._options import PaperOptions
    from whereof.paper._paper import Paper, reproduce
    from whereof.paper._time import Budget, Cost

__all__ = ["Budget", "Cost", "Paper", "PaperOptions", "reproduce"]

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(("Paper", "reproduce"), "whereof.paper._paper"),
        "PaperOptions": "whereof.paper._options",
        **dict.fromkeys(("Budget", "Cost"), "whereof.paper._time"),
    },
)
