"""Datasets: names and ids, facts, readers, and the catalogue of named datasets."""

from typing import TYPE_CHECKING

from whence._lazy import lazily

if TYPE_CHECKING:
    from whence.data._adjacency import Adjacency
    from whence.data._building import build_dataset
    from whence.data._catalogue import CATALOGUE, Place, fetch_dataset, find_entry, locate
    from whence.data._columns import Column, FactTable
    from whence.data._dataset import Dataset, Ratings
    from whence.data._entry import Entry, File
    from whence.data._known import KnownAnswers
    from whence.data._options import ReadOptions
    from whence.data._ratings import ratings_as_objects
    from whence.data._reading import read_dataset
    from whence.data._vocabulary import Vocabulary

__all__ = [
    "CATALOGUE",
    "Adjacency",
    "Column",
    "Dataset",
    "Entry",
    "FactTable",
    "File",
    "KnownAnswers",
    "Place",
    "Ratings",
    "ReadOptions",
    "Vocabulary",
    "build_dataset",
    "fetch_dataset",
    "find_entry",
    "locate",
    "ratings_as_objects",
    "read_dataset",
]

__getattr__ = lazily(
    __name__,
    {
        "Adjacency": "whence.data._adjacency",
        "CATALOGUE": "whence.data._catalogue",
        "Column": "whence.data._columns",
        "Dataset": "whence.data._dataset",
        "Entry": "whence.data._entry",
        "FactTable": "whence.data._columns",
        "File": "whence.data._entry",
        "KnownAnswers": "whence.data._known",
        "Place": "whence.data._catalogue",
        "Ratings": "whence.data._dataset",
        "ReadOptions": "whence.data._options",
        "Vocabulary": "whence.data._vocabulary",
        "build_dataset": "whence.data._building",
        "fetch_dataset": "whence.data._catalogue",
        "find_entry": "whence.data._catalogue",
        "locate": "whence.data._catalogue",
        "ratings_as_objects": "whence.data._ratings",
        "read_dataset": "whence.data._reading",
    },
)
