"""Remove facts, retrain, and see."""

from typing import TYPE_CHECKING

from whereof._lazy import lazily

if TYPE_CHECKING:
    from whereof.verify._case import Case
    from whereof.verify._options import VerifyOptions
    from whereof.verify._verdict import Verdict
    from whereof.verify._verifying import verify

__all__ = ["Case", "Verdict", "VerifyOptions", "verify"]

__getattr__ = lazily(
    __name__,
    {
        "Case": "whereof.verify._case",
        "Verdict": "whereof.verify._verdict",
        "VerifyOptions": "whereof.verify._options",
        "verify": "whereof.verify._verifying",
    },
)
