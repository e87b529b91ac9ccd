"""Ranked answers to a query, and to many queries."""

from whereof.predict._answers import Answer, Answers
from whereof.predict._bulk import predict_many
from whereof.predict._query import OPEN, Query, check_top, find_query
from whereof.predict._ranking import predict
from whereof.predict._standing import STANDING, Place, Predictions, Standings, stand_alike

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
