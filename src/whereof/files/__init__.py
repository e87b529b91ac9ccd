"""Files of queries and predictions read, and files of answers and explanations written."""

from whereof.files._answers import Written, write_answers
from whereof.files._evaluations import (
    check_retrainings,
    find_evaluations,
    save_evaluation,
    save_influences,
    write_retrainings,
)
from whereof.files._explanations import WrittenExplanations, facts_csv, write_explanations
from whereof.files._journal import Task
from whereof.files._reading import find_predictions, read_queries
from whereof.files._writing import check_free, write_text

__all__ = [
    "Task",
    "Written",
    "WrittenExplanations",
    "check_free",
    "check_retrainings",
    "facts_csv",
    "find_evaluations",
    "find_predictions",
    "read_queries",
    "save_evaluation",
    "save_influences",
    "write_answers",
    "write_explanations",
    "write_retrainings",
    "write_text",
]
