"""Remove training facts from a dataset, with the names that only they have."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import SPLITS, Dataset, Ratings, Sources
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds


@dataclass(frozen=True, eq=False)
class Reduced:
    """A dataset without some facts, and where its parts were before."""

    dataset: Dataset
    facts: FactIds
    """(n,) the former ids of the training facts that are left."""
    entities: NDArray[np.int64]
    """(n,) the former ids of the entities that are left."""
    relations: NDArray[np.int64]


def remove_facts(dataset: Dataset, fact_ids: FactIds) -> Reduced:
    """The dataset without some training facts.

    Entities and relations that have no training fact left are removed too, with their held-out
    facts. The other names get new ids, in the same order.
    """
    kept = np.setdiff1d(np.arange(dataset.n_facts), fact_ids)
    if not len(kept):
        raise WhereofError(
            f"without all {dataset.n_facts} facts nothing is left to train on; name fewer"
        )
    left, gone = dataset.train[kept], dataset.train[fact_ids]
    entities = _left(dataset.n_entities, gone[:, [SUBJECT, OBJECT]], left[:, [SUBJECT, OBJECT]])
    relations = _left(dataset.inverse_offset, gone[:, RELATION], left[:, RELATION])
    splits, ratings = dict[str, Any](), dict[str, Any]()
    for split in SPLITS:
        facts = getattr(dataset, split)
        inside = entities[facts[:, [SUBJECT, OBJECT]]].all(axis=1) & relations[facts[:, RELATION]]
        if split == "train":
            inside &= ~np.isin(np.arange(len(facts)), fact_ids)
        ids = np.cumsum(entities) - 1, np.cumsum(relations) - 1
        columns = (ids[0][facts[:, SUBJECT]], ids[1][facts[:, RELATION]], ids[0][facts[:, OBJECT]])
        splits[split] = np.column_stack(columns)[inside].astype(np.int32)
        if dataset.ratings is not None:
            ratings[split] = getattr(dataset.ratings, split)[inside]
    subjects, objects = (
        range(int(entities[: ids.start].sum()), int(entities[: ids.stop].sum()))
        for ids in (dataset.subjects, dataset.objects)
    )
    weights = dataset.weights
    reduced = replace(
        dataset,
        **splits,
        entities=_vocabulary(dataset.entities, entities),
        relations=_vocabulary(dataset.relations, relations),
        subjects=subjects,
        objects=objects,
        ratings=Ratings(**ratings) if ratings else None,
        sources=dataset.sources and _sources(dataset.sources, kept),
        weights=None if weights is None else weights[kept],
    )
    return Reduced(reduced, kept, np.flatnonzero(entities), np.flatnonzero(relations))


def _left(n_names: int, gone: Any, left: Any) -> NDArray[np.bool_]:
    """(n_names,) whether a name stays: those that lose their last fact go."""
    kept = np.ones(n_names, bool)
    kept[np.setdiff1d(gone, left)] = False
    return kept


def _sources(sources: Sources, kept: FactIds) -> Sources:
    used, codes = np.unique(sources.codes[kept], return_inverse=True)
    return Sources(codes.astype(np.int32), [sources.names[code] for code in used.tolist()])


def _vocabulary(names: Vocabulary, kept: NDArray[np.bool_]) -> Vocabulary:
    listed = tuple(name for name, stays in zip(names.names, kept, strict=False) if stays)
    there, labelled = {*listed}, names.labelled
    labels = {name: label for name, label in names.labels.items() if name in there}
    if labelled is not None:
        labelled = range(int(kept[: labelled.start].sum()), int(kept[: labelled.stop].sum()))
    return replace(names, names=listed, labels=labels, labelled=labelled)
