"""Ranked answers to a query, and to many queries."""

from whence.predict._answers import Answer, Answers
from whence.predict._bulk import predict_many
from whence.predict._query import OPEN, Query, check_top, find_query
from whence.predict._ranking import predict

__all__ = [
    "OPEN",
    "Answer",
    "Answers",
    "Query",
    "check_top",
    "find_query",
    "predict",
    "predict_many",
]
