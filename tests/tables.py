"""Datasets from columns of names, for tests."""

from collections.abc import Sequence
from typing import Any

from whereof.data.build import build_dataset
from whereof.data.columns import FactTable, as_array
from whereof.data.dataset import Dataset
from whereof.types import PLACES

Columns = FactTable | Sequence[Sequence[str]]


def fact_table(*columns: Sequence[str], **others: Any) -> FactTable:
    """A table of two or three columns of names, and others by role."""
    names = zip(PLACES[len(columns)], columns, strict=True)
    return FactTable(
        {place: as_array(place, cells).dictionary_encode() for place, cells in names} | others
    )


def build(
    name: str, train: Columns, valid: Columns = (), test: Columns = (), **labels: Any
) -> Dataset:
    """The dataset of these splits, each a table or its columns."""
    splits = {"train": train, "valid": valid, "test": test}
    tables = {
        split: given if isinstance(given, FactTable) else fact_table(*given)
        for split, given in splits.items()
        if len(given)
    }
    return build_dataset(name, tables, **labels)
