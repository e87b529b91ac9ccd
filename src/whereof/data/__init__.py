"""Datasets: names and ids, facts, readers, and the catalogue of named datasets."""

from typing import TYPE_CHECKING

from whereof._lazy import lazily

if TYPE_CHECKING:
    from whereof.data._adjacency import Adjacency
    from whereof.data._building import build_dataset
    from whereof.data._catalogue import CATALOGUE, Place, fetch_dataset, find_entry, locate
    from whereof.data._columns import Column, FactTable
    from whereof.data._dataset import Dataset, Ratings
    from whereof.data._entry import Entry, File
    from whereof.data._known import KnownAnswers
    from whereof.data._options import ReadOptions
    from whereof.data._ratings import ratings_as_objects
    from whereof.data._reading import read_dataset
    from whereof.data._vocabulary import Vocabulary

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
        "Adjacency": "whereof.data._adjacency",
        "CATALOGUE": "whereof.data._catalogue",
        "Column": "whereof.data._columns",
        "Dataset": "whereof.data._dataset",
        "Entry": "whereof.data._entry",
        "FactTable": "whereof.data._columns",
        "File": "whereof.data._entry",
        "KnownAnswers": "whereof.data._known",
        "Place": "whereof.data._catalogue",
        "Ratings": "whereof.data._dataset",
        "ReadOptions": "whereof.data._options",
        "Vocabulary": "whereof.data._vocabulary",
        "build_dataset": "whereof.data._building",
        "fetch_dataset": "whereof.data._catalogue",
        "find_entry": "whereof.data._catalogue",
        "locate": "whereof.data._catalogue",
        "ratings_as_objects": "whereof.data._ratings",
        "read_dataset": "whereof.data._reading",
    },
)
