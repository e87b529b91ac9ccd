"""Datasets: names and ids, facts, readers, and the catalogue of named datasets."""

from whence.data._building import build_dataset
from whence.data._catalogue import CATALOGUE, Place, fetch_dataset, find_entry, locate
from whence.data._columns import Column, FactTable
from whence.data._dataset import Dataset, Ratings
from whence.data._entry import Entry, File
from whence.data._known import KnownAnswers
from whence.data._options import ReadOptions
from whence.data._reading import read_dataset
from whence.data._vocabulary import Vocabulary

__all__ = [
    "CATALOGUE",
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
    "read_dataset",
]
