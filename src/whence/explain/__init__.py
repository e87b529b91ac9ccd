"""Which facts made the model predict what it predicts."""

from typing import TYPE_CHECKING

from whence._lazy import lazily

if TYPE_CHECKING:
    from whence.explain._bulk import (
        Failed,
        Question,
        as_questions,
        explain_many,
        rank_many,
        top_questions,
        true_questions,
    )
    from whence.explain._explaining import describe_facts, explain, explain_situation
    from whence.explain._explanation import (
        FACT_COLUMNS,
        Contrast,
        ExplainedFact,
        Explanation,
        Graph,
        Joint,
        Path,
        Prediction,
        Standing,
        fact_row,
    )
    from whence.explain._methods import METHODS
    from whence.explain._naming import Asked, find_facts, find_situation, situate
    from whence.explain._options import ExplainOptions
    from whence.explain._retraining import LeaveOut, LeftOut
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
    "LeaveOut",
    "LeftOut",
    "Path",
    "Prediction",
    "Question",
    "Situation",
    "Standing",
    "Trained",
    "as_questions",
    "describe_facts",
    "explain",
    "explain_many",
    "explain_situation",
    "fact_row",
    "find_facts",
    "find_situation",
    "rank_many",
    "situate",
    "top_questions",
    "true_questions",
]

__getattr__ = lazily(
    __name__,
    {
        "METHODS": "whence.explain._methods",
        **dict.fromkeys(
            ("Asked", "find_facts", "find_situation", "situate"), "whence.explain._naming"
        ),
        "ExplainOptions": "whence.explain._options",
        "Situation": "whence.explain._situation",
        "Trained": "whence.explain._trained",
        **dict.fromkeys(("LeaveOut", "LeftOut"), "whence.explain._retraining"),
        **dict.fromkeys(
            ("describe_facts", "explain", "explain_situation"), "whence.explain._explaining"
        ),
        **dict.fromkeys(
            (
                "Failed",
                "Question",
                "as_questions",
                "explain_many",
                "rank_many",
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
                "Standing",
            ),
            "whence.explain._explanation",
        ),
    },
)
