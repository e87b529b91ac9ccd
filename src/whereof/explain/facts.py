"""Find training facts by id or names."""

import csv
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from whereof.data.dataset import Dataset
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.predict.scored import Trained
from whereof.types import FactIds

_MOST_PARTS = 12
"""A text with more commas is not split at every choice of them."""


def find_all(vocabulary: Vocabulary, wanted: Any) -> list[int]:
    """The ids of the given names: none, one or several."""
    return [vocabulary.find(str(name)) for name in _as_list(wanted)]


def find_facts(trained: Trained, wanted: Any) -> FactIds:
    """Training facts given by id or names, each once, in the given order."""
    found = [_find_fact(trained, text) for text in _split_ids(wanted)]
    return np.array(list(dict.fromkeys(found)), np.int64)


def _split_ids(wanted: Any) -> list[Any]:
    """Split a text of several ids, separated by commas or spaces."""
    texts: list[Any] = []
    for item in _as_list(wanted):
        parts = str(item).replace(",", " ").split()
        texts += parts if parts and all(part.isdecimal() for part in parts) else [item]
    return texts


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _find_fact(trained: Trained, text: Any) -> int:
    data = trained.dataset
    if str(text).isdecimal():
        if int(text) >= data.n_facts:
            raise WhereofError(f"no fact has id {text}; ids go from 0 to {data.n_facts - 1}")
        return int(text)
    ways = _split_names(text, 2 if data.two_way else 3)
    if not ways:
        shape = "SUBJECT,OBJECT" if data.two_way else "SUBJECT,RELATION,OBJECT"
        raise WhereofError(f"{text!r} is not a fact; give its id, or {shape}")
    matches = [_match(data, names) for names in ways]
    found = {i for places in matches for i in _facts_at(trained, places)}
    if len(found) > 1:
        ids = ", ".join(map(str, sorted(found)))
        raise WhereofError(f"{text!r} matches several facts: {ids}; give the id of one")
    if found:
        return found.pop()
    names, places = max(zip(ways, matches, strict=True), key=lambda way: sum(map(bool, way[1])))
    if all(len(ids) == 1 for ids in places):
        raise WhereofError(f"{' '.join(names)} is not a training fact")
    data.entities.find(names[0], data.subjects)  # raises the error of an unknown name
    data.entities.find(names[-1], data.objects)
    return data.relations.find(names[1])


def _match(data: Dataset, names: Sequence[str]) -> tuple[list[int], list[int], list[int]]:
    """The ids that the names of a fact stand for."""
    return (
        data.entities.matches(names[0], data.subjects),
        [0] if data.two_way else data.relations.matches(names[1]),
        data.entities.matches(names[-1], data.objects),
    )


def _facts_at(trained: Trained, places: Sequence[list[int]]) -> list[int]:
    """The training fact with these names, if each name is unique."""
    if any(len(ids) != 1 for ids in places):
        return []
    fact_ids = trained.adjacency.facts_of_entity(places[0][0])
    same = (trained.dataset.train[fact_ids] == [ids[0] for ids in places]).all(axis=1)
    return [int(i) for i in fact_ids[same][:1]]


def _split_names(text: Any, size: int) -> list[list[str]]:
    """All ways to read a text as the names of a fact: by TAB, in quotes, by commas or blanks.

    A name may contain commas: every choice of commas that gives `size` names is a way.
    """
    if not isinstance(text, str):
        names = [str(name) for name in text] if isinstance(text, list | tuple) else [str(text)]
        return [names] if len(names) == size else []
    if "\t" in text:
        ways = [text.split("\t")]
    else:
        parts = text.split(",")
        cuts = combinations(range(1, len(parts)), size - 1) if len(parts) <= _MOST_PARTS else ()
        ways = [[",".join(parts[a:b]) for a, b in pairwise((0, *cut, len(parts)))] for cut in cuts]
        quoted = next(csv.reader([text], skipinitialspace=True), []) if '"' in text else []
        ways = [quoted, *ways, text.split()]
    stripped = ([name.strip() for name in names] for names in ways)
    return [names for names in stripped if len(names) == size and all(names)]
