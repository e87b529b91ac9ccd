"""Ranked answers to a query, to many queries, and to a file of them."""

from whence.predict._answers import Answer, Answers
from whence.predict._bulk import predict_many
from whence.predict._query import OPEN, Query, check_top, find_query
from whence.predict._ranking import predict
from whence.predict._reading import read_queries
from whence.predict._writing import Advanced, Written, write_answers

__all__ = [
    "OPEN",
    "Advanced",
    "Answer",
    "Answers",
    "Query",
    "Written",
    "check_top",
    "find_query",
    "predict",
    "predict_many",
    "read_queries",
    "write_answers",
]
