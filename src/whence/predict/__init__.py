"""Ranked answers to a query, and to many queries."""

from whence.predict._answers import Answer, Answers
from whence.predict._bulk import predict_many
from whence.predict._query import OPEN, Query, check_top, find_query
from whence.predict._ranking import predict
from whence.predict._standing import STANDING, Place, Predictions, Standings, stand_alike

__all__ = [
    "OPEN",
    "STANDING",
    "Answer",
    "Answers",
    "Place",
    "Predictions",
    "Query",
    "Standings",
    "check_top",
    "find_query",
    "predict",
    "predict_many",
    "stand_alike",
]
