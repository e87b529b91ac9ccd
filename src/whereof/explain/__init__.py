"""Which facts made the model predict what it predicts."""

from typing import TYPE_CHECKING

from whereof._lazy import lazily

if TYPE_CHECKING:
    from whereof.explain._bulk import (
        Failed,
        Question,
        as_questions,
        explain_many,
        rank_many,
        top_questions,
        true_questions,
    )
    from whereof.explain._explaining import describe_facts, explain, explain_situation
    from whereof.explain._explanation import (
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
    from whereof.explain._methods import METHODS
    from whereof.explain._naming import Asked, find_facts, find_situation, situate
    from whereof.explain._options import ExplainOptions
    from whereof.explain._retraining import LeaveOut, LeftOut
    from whereof.explain._situation import Situation
    from whereof.explain._trained import Trained

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
        "METHODS": "whereof.explain._methods",
        **dict.fromkeys(
            ("Asked", "find_facts", "find_situation", "situate"), "whereof.explain._naming"
        ),
        "ExplainOptions": "whereof.explain._options",
        "Situation": "whereof.explain._situation",
        "Trained": "whereof.explain._trained",
        **dict.fromkeys(("LeaveOut", "LeftOut"), "whereof.explain._retraining"),
        **dict.fromkeys(
            ("describe_facts", "explain", "explain_situation"), "whereof.explain._explaining"
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
            "whereof.explain._bulk",
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
            "whereof.explain._explanation",
        ),
    },
)
