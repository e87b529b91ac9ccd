"""Datasets: names and ids, facts, readers, and the catalogue of named datasets."""

from whence.data._building import build_dataset
from whence.data._catalogue import CATALOGUE
from whence.data._dataset import Dataset
from whence.data._known import KnownAnswers
from whence.data._reading import read_dataset
from whence.data._vocabulary import Vocabulary

__all__ = [
    "CATALOGUE",
    "Dataset",
    "KnownAnswers",
    "Vocabulary",
    "build_dataset",
    "read_dataset",
]
