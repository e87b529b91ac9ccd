"""Find training facts by id or names."""

import csv
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from numbers import Integral
from typing import Any

import numpy as np

from whereof.data.dataset import Dataset
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.predict.scored import Trained
from whereof.settings import is_whole, shown
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds

_MOST_PARTS = 12
"""A text with more commas is not split at every choice of them."""


def find_entities(dataset: Dataset, wanted: Any) -> list[int]:
    """The ids of the given entities: none, one or several names."""
    return [dataset.find_entity(str(name)) for name in _as_list(wanted)]


def find_relations(dataset: Dataset, wanted: Any) -> list[int]:
    """The ids of the given relations: none, one or several names."""
    return [dataset.relations.find(str(name)) for name in _as_list(wanted)]


def find_facts(trained: Trained, wanted: Any, *, names_win: bool = False) -> FactIds:
    """Training facts given by id or names, each once, in the given order.

    wanted: an id, a text of ids or of the names of a fact, a record with a `fact_id`, a table with
    a column `fact_id`, or a list of these. A list in a list may also be the names of one fact.
    names_win: read the text 3,8 as the fact with these names, if there is one, and not as two ids.
    """
    items = _as_list(wanted)
    if not names_win:
        items = [_ids_of(item) or item if isinstance(item, str) else item for item in items]
    found = [fact for item in items for fact in _find_item(trained, item)]
    return np.array(list(dict.fromkeys(found)), np.int64)


def name_notes(trained: Trained, given: Sequence[Any], fact_ids: FactIds) -> tuple[str, ...]:
    """A note if words could be names or ids. fact_ids: what was found."""
    words = [word for item in given for word in _as_list(item)]
    ids = _ids_of(" ".join(words)) if all(isinstance(word, str) for word in words) else []
    if not ids or "id:" in " ".join(words) or max(ids) >= trained.dataset.n_facts:
        return ()
    if {*ids} == {*fact_ids.tolist()}:
        are_names = all(map(trained.dataset.has_entity, (str(ids[0]), str(ids[-1]))))
        if not are_names or len(ids) != len(_columns(trained)):
            return ()
        return (f"{' '.join(words)!r} was read as ids: no training fact has these names",)
    typed = " ".join(f"id:{fact}" for fact in ids)
    return (f"{' '.join(words)!r} was read as the names of a fact; to give ids, write {typed!r}",)


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


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _find_item(trained: Trained, item: Any) -> list[int]:
    if hasattr(item, "columns"):
        item = _ids_in_table(item)
    item = getattr(item, "fact_id", item)
    if isinstance(item, str):
        return _find_text(trained, item)
    if isinstance(item, Integral):
        return [_checked(trained, int(item))]
    if not isinstance(item, Iterable):
        raise _not_a_fact(trained, item)
    items = [*item]
    if any(isinstance(each, str) for each in items):
        return _find_words(trained, items)
    return [fact for each in items for fact in _find_item(trained, each)]


def _ids_in_table(table: Any) -> list[int]:
    """The cells of the column `fact_id` of a pandas, polars or Arrow table."""
    from whereof.data.frames import cells_of, column_names

    names = column_names(table)
    if "fact_id" not in names:
        raise WhereofError(
            f"the table has no column fact_id, only {shown(names)}; rename the column of fact ids"
        )
    return cells_of(table["fact_id"])


def _find_text(trained: Trained, text: str) -> list[int]:
    """The fact whose names are in a text, or the facts whose ids are."""
    columns, ids = _columns(trained), _ids_of(text)
    ways = _split_names(text, len(columns))
    if ids and not (ways and _look_up(trained, columns, ways)[0]):
        return [_checked(trained, fact) for fact in ids]
    return [_find_names(trained, text)]


def _find_words(trained: Trained, words: Sequence[Any]) -> list[int]:
    """The fact whose names are these words, or the facts that each of them names."""
    columns = _columns(trained)
    names, is_whole_fact = [*map(str, words)], len(words) == len(columns)
    if is_whole_fact and _look_up(trained, columns, [names])[0]:
        return [_find_names(trained, names)]
    if is_whole_fact:
        is_listed = all(_ids_of(name) or "," in name or "\t" in name for name in names)
    else:
        is_listed = any(_ids_of(name) or _split_names(name, len(columns)) for name in names)
    if not is_listed:
        return [_find_names(trained, names)]  # raises the error of the word that is wrong
    return [fact for word in words for fact in _find_item(trained, word)]


def _ids_of(text: str) -> list[int]:
    """The ids in a text, separated by commas or spaces, such as 5 or id:5; none if it has words."""
    parts = [part.removeprefix("id:") for part in text.replace(",", " ").split()]
    return [*map(int, parts)] if all(map(is_whole, parts)) else []


def _checked(trained: Trained, fact: int) -> int:
    n_facts = trained.dataset.n_facts
    if not 0 <= fact < n_facts:
        raise WhereofError(f"no fact has id {fact}; ids go from 0 to {n_facts - 1}")
    return fact


def _not_a_fact(trained: Trained, given: Any) -> WhereofError:
    shape = "SUBJECT,OBJECT" if trained.dataset.two_way else "SUBJECT,RELATION,OBJECT"
    typed = " ".join(map(str, given)) if isinstance(given, list | tuple) else given
    return WhereofError(f"{shown(typed)} is not a fact; give its id, or {shape}")


def _find_names(trained: Trained, text: Any) -> int:
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
    raise _not_a_fact(trained, text)


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
