"""Remove facts, retrain, and see."""

from typing import TYPE_CHECKING

from whence._lazy import lazily

if TYPE_CHECKING:
    from whence.verify._case import Case
    from whence.verify._options import VerifyOptions
    from whence.verify._verdict import Verdict
    from whence.verify._verifying import verify

__all__ = ["Case", "Verdict", "VerifyOptions", "verify"]

__getattr__ = lazily(
    __name__,
    {
        "Case": "whence.verify._case",
        "Verdict": "whence.verify._verdict",
        "VerifyOptions": "whence.verify._options",
        "verify": "whence.verify._verifying",
    },
)
