"""Find training facts by id or names."""

import csv
from collections.abc import Iterable, Sequence
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


def find_listed(trained: Trained, rows: Iterable[Sequence[str]]) -> list[int]:
    """The training facts among rows of names; other rows are left out."""
    found, columns = list[int](), _columns(trained)
    for names in rows:
        ids, best = _look_up(trained, columns, _ways(trained, names))
        found += ids
        if not ids:
            for (words, among), name in zip(_places(trained, columns), best, strict=True):
                if words.matches(name, among):
                    words.find(name, among)  # raises an error if the name is ambiguous
    return found


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
    columns, ways = _columns(trained), _ways(trained, text)
    found, best = _look_up(trained, columns, ways)
    if len(found) > 1:
        ids = ", ".join(map(str, sorted(found)))
        raise WhereofError(f"{text!r} matches several facts: {ids}; give the id of one")
    if found:
        return found.pop()
    for (words, among), name in zip(_places(trained, columns), best, strict=True):
        words.find(name, among)  # raises the error of an unknown name
    raise WhereofError(f"{' '.join(best)} is not a training fact")


def _columns(trained: Trained) -> list[int]:
    """The columns of a fact that a user names."""
    return [SUBJECT, OBJECT] if trained.dataset.two_way else [SUBJECT, RELATION, OBJECT]


def _ways(trained: Trained, text: Any) -> list[list[str]]:
    """All ways to read a text as the names of a fact; an error if there is none."""
    if ways := _split_names(text, len(_columns(trained))):
        return ways
    shape = "SUBJECT,OBJECT" if trained.dataset.two_way else "SUBJECT,RELATION,OBJECT"
    typed = " ".join(map(str, text)) if isinstance(text, list | tuple) else text
    raise WhereofError(f"{typed!r} is not a fact; give its id, or {shape}")


def _places(trained: Trained, columns: Sequence[int]) -> list[tuple[Vocabulary, range | None]]:
    """The vocabulary of each column, and which of its names may stand there."""
    data = trained.dataset
    places: dict[int, tuple[Vocabulary, range | None]] = {
        SUBJECT: (data.entities, data.subjects),
        RELATION: (data.relations, None),
        OBJECT: (data.entities, data.objects),
    }
    return [places[column] for column in columns]


def _look_up(
    trained: Trained, columns: Sequence[int], ways: Sequence[Sequence[str]]
) -> tuple[set[int], Sequence[str]]:
    """The facts with the names of any way to read them, and the way with most known names."""
    data, found, best = trained.dataset, set[int](), (-1, ways[0])
    places = _places(trained, columns)
    for names in ways:
        pairs = zip(places, names, strict=True)
        matches = [words.matches(name, among) for (words, among), name in pairs]
        best = max(best, (sum(map(bool, matches)), names), key=lambda way: way[0])
        if all(len(ids) == 1 for ids in matches):
            near = trained.adjacency.facts_of_entity(matches[0][0])
            same = (data.train[near][:, columns] == np.array(matches).T).all(axis=1)
            found.update(near[same].tolist()[:1])
    return found, best[1]


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
