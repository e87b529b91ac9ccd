"""Which facts made the model predict what it predicts."""

from typing import TYPE_CHECKING

from whence._lazy import lazily

if TYPE_CHECKING:
    from whence.explain._bulk import (
        Failed,
        Question,
        as_questions,
        explain_many,
        top_questions,
        true_questions,
    )
    from whence.explain._explaining import explain
    from whence.explain._explanation import (
        FACT_COLUMNS,
        Contrast,
        ExplainedFact,
        Explanation,
        Graph,
        Joint,
        Path,
        Prediction,
        fact_row,
    )
    from whence.explain._methods import METHODS
    from whence.explain._naming import Asked, situate
    from whence.explain._options import ExplainOptions
    from whence.explain._situation import Situation
    from whence.explain._trained import Trained

__all__ = [
    "FACT_COLUMNS",
    "METHODS",
    "Asked",
    "Contrast",
    "ExplainOptions",
    "ExplainedFact",
    "Explanation",
    "Failed",
    "Graph",
    "Joint",
    "Path",
    "Prediction",
    "Question",
    "Situation",
    "Trained",
    "as_questions",
    "explain",
    "explain_many",
    "fact_row",
    "situate",
    "top_questions",
    "true_questions",
]

__getattr__ = lazily(
    __name__,
    {
        "METHODS": "whence.explain._methods",
        "Asked": "whence.explain._naming",
        "situate": "whence.explain._naming",
        "ExplainOptions": "whence.explain._options",
        "Situation": "whence.explain._situation",
        "Trained": "whence.explain._trained",
        "explain": "whence.explain._explaining",
        **dict.fromkeys(
            (
                "Failed",
                "Question",
                "as_questions",
                "explain_many",
                "top_questions",
                "true_questions",
            ),
            "whence.explain._bulk",
        ),
        **dict.fromkeys(
            (
                "FACT_COLUMNS",
                "fact_row",
                "Contrast",
                "ExplainedFact",
                "Explanation",
                "Graph",
                "Joint",
                "Path",
                "Prediction",
            ),
            "whence.explain._explanation",
        ),
    },
)
