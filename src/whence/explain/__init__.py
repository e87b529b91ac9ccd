"""Which facts made the model predict what it predicts."""

from typing import TYPE_CHECKING

from whence._lazy import lazily

if TYPE_CHECKING:
    from whence.explain._explaining import explain, explain_situation
    from whence.explain._explanation import (
        Contrast,
        ExplainedFact,
        Explanation,
        Graph,
        Joint,
        Path,
        Prediction,
    )
    from whence.explain._methods import METHODS
    from whence.explain._options import ExplainOptions
    from whence.explain._trained import Trained

__all__ = [
    "METHODS",
    "Contrast",
    "ExplainOptions",
    "ExplainedFact",
    "Explanation",
    "Graph",
    "Joint",
    "Path",
    "Prediction",
    "Trained",
    "explain",
    "explain_situation",
]

__getattr__ = lazily(
    __name__,
    {
        "METHODS": "whence.explain._methods",
        "ExplainOptions": "whence.explain._options",
        "Trained": "whence.explain._trained",
        "explain": "whence.explain._explaining",
        "explain_situation": "whence.explain._explaining",
        **dict.fromkeys(
            ("Contrast", "ExplainedFact", "Explanation", "Graph", "Joint", "Path", "Prediction"),
            "whence.explain._explanation",
        ),
    },
)
