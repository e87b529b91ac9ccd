"""Find training facts by id or names."""

import csv
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.predict.scored import Trained
from whereof.settings import is_whole
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds

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
        texts += parts if parts and all(map(is_whole, parts)) else [item]
    return texts


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _find_fact(trained: Trained, text: Any) -> int:
    data = trained.dataset
    if is_whole(str(text)):
        if int(text) >= data.n_facts:
            raise WhereofError(f"no fact has id {text}; ids go from 0 to {data.n_facts - 1}")
        return int(text)
    columns = [SUBJECT, OBJECT] if data.two_way else [SUBJECT, RELATION, OBJECT]
    ways = _split_names(text, len(columns))
    if not ways:
        shape = "SUBJECT,OBJECT" if data.two_way else "SUBJECT,RELATION,OBJECT"
        raise WhereofError(f"{text!r} is not a fact; give its id, or {shape}")
    places = {SUBJECT: data.subjects, RELATION: None, OBJECT: data.objects}
    words = {SUBJECT: data.entities, RELATION: data.relations, OBJECT: data.entities}
    found, best = set[int](), (-1, ways[0])
    for names in ways:
        pairs = zip(columns, names, strict=True)
        matches = [words[column].matches(name, places[column]) for column, name in pairs]
        best = max(best, (sum(map(bool, matches)), names), key=lambda way: way[0])
        if all(len(ids) == 1 for ids in matches):
            near = trained.adjacency.facts_of_entity(matches[0][0])
            same = (data.train[near][:, columns] == np.array(matches).T).all(axis=1)
            found.update(near[same].tolist()[:1])
    if len(found) > 1:
        ids = ", ".join(map(str, sorted(found)))
        raise WhereofError(f"{text!r} matches several facts: {ids}; give the id of one")
    if found:
        return found.pop()
    for column, name in zip(columns, best[1], strict=True):
        words[column].find(name, places[column])  # raises the error of an unknown name
    raise WhereofError(f"{' '.join(best[1])} is not a training fact")


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
