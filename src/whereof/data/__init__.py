"""Datasets: names and ids, facts, readers, and the catalogue of named datasets."""

from typing import TYPE_CHECKING

from whereof._lazy import lazily

if TYPE_CHECKING:
    from whereof.data.build import build_dataset
    from whereof.data.catalogue import CATALOGUE
    from whereof.data.dataset import Dataset, Ratings, Sources
    from whereof.data.indexes import Adjacency, KnownAnswers
    from whereof.data.options import ReadOptions
    from whereof.data.read import read_dataset
    from whereof.data.vocabulary import Vocabulary

__all__ = ["CATALOGUE", "Adjacency", "Dataset", "KnownAnswers", "Sources"]
__all__ += ["Ratings", "ReadOptions", "Vocabulary", "build_dataset", "read_dataset"]

_HOMES = {
    "build": ("build_dataset",),
    "catalogue": ("CATALOGUE",),
    "dataset": ("Sources", "Dataset", "Ratings"),
    "indexes": ("Adjacency", "KnownAnswers"),
    "options": ("ReadOptions",),
    "read": ("read_dataset",),
    "vocabulary": ("Vocabulary",),
}
__getattr__ = lazily(
    __name__, {name: f"whereof.data.{home}" for home, names in _HOMES.items() for name in names}
)
