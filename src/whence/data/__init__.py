"""Datasets: names and ids, facts, readers, and the catalogue of named datasets."""

from typing import TYPE_CHECKING

from whence._lazy import lazily

if TYPE_CHECKING:
    from whence.data._building import build_dataset
    from whence.data._catalogue import CATALOGUE
    from whence.data._columns import Column, FactTable
    from whence.data._dataset import Dataset, Ratings
    from whence.data._known import KnownAnswers
    from whence.data._options import ReadOptions
    from whence.data._reading import read_dataset
    from whence.data._vocabulary import Vocabulary

__all__ = [
    "CATALOGUE",
    "Column",
    "Dataset",
    "FactTable",
    "KnownAnswers",
    "Ratings",
    "ReadOptions",
    "Vocabulary",
    "build_dataset",
    "read_dataset",
]

__getattr__ = lazily(
    __name__,
    {
        "CATALOGUE": "whence.data._catalogue",
        "Column": "whence.data._columns",
        "Dataset": "whence.data._dataset",
        "FactTable": "whence.data._columns",
        "KnownAnswers": "whence.data._known",
        "Ratings": "whence.data._dataset",
        "ReadOptions": "whence.data._options",
        "Vocabulary": "whence.data._vocabulary",
        "build_dataset": "whence.data._building",
        "read_dataset": "whence.data._reading",
    },
)
