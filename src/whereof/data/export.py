"""Facts as a table of Arrow and as a graph of NetworkX."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from whereof.data.dataset import SPLITS, Dataset
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.graph import graph_of
from whereof.types import PLACES

if TYPE_CHECKING:
    from whereof.types import Facts


def facts_table(dataset: Dataset) -> Any:
    """The facts of all splits with names, labels, ratings, sources and weights."""
    sizes = [len(getattr(dataset, split)) for split in SPLITS]
    columns = {"split": pa.array(np.repeat(SPLITS, sizes).tolist())}
    facts = np.concatenate([getattr(dataset, split) for split in SPLITS])
    columns |= _names(dataset, facts)
    if dataset.ratings is not None:
        ratings = [getattr(dataset.ratings, split) for split in SPLITS]
        columns["rating"] = pa.array(np.concatenate(ratings))
    n_others = len(facts) - dataset.n_facts
    if dataset.sources is not None:
        columns["source"] = pa.array([*dataset.sources, *[None] * n_others])
    if dataset.weights is not None:
        columns["weight"] = pa.array([*dataset.weights.tolist(), *[None] * n_others])
    return pa.table(columns)


def _names(dataset: Dataset, facts: "Facts") -> dict[str, Any]:
    """Columns of names, then of labels if there are any."""
    columns: dict[str, Any] = {}
    for end, text in {"": Vocabulary.name, "_label": Vocabulary.label}.items():
        for place in PLACES[2 if dataset.two_way else 3]:
            known = dataset.relations if place == "relation" else dataset.entities
            if end and not known.labels:
                continue
            texts = pa.array([text(known, i) for i in range(len(known))], pa.string())
            columns[place + end] = texts.take(pa.array(facts[:, PLACES[3].index(place)]))
    return columns


def facts_graph(dataset: Dataset, split: str) -> Any:
    """The facts of a split as edges from subject to object."""
    if split not in SPLITS:
        raise WhereofError(f"split is {split!r}; choose from {', '.join(SPLITS)}")
    chosen = dataset.to_arrow()
    chosen = chosen.filter(pa.array(np.array(chosen["split"]) == split)).drop_columns("split")

    def edges() -> Any:
        for key, row in enumerate(chosen.to_pylist()):
            labels = {
                place: row.pop(f"{place}_label", None) or row.get(place) for place in PLACES[3]
            }
            yield {"relation": None, **row, "labels": labels, "key": key}

    return graph_of(edges())
