"""Names, labels and ids of the entities or relations of a dataset."""

import heapq
import operator
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from itertools import chain
from typing import Final, SupportsIndex

from whereof.errors import WhereofError
from whereof.units import count

_SHOWN: Final = 5
_LONGEST: Final = 64
_SHORTLIST: Final = 200
_WHOLE: Final = re.compile(r"(-?\d+)(\.0*)?")


@dataclass(frozen=True, repr=False)
class Vocabulary:
    """The names of all entities (or relations), by id, and the labels of some of them."""

    names: tuple[str, ...]
    """One name per id; a name may occur twice only in two ranges that `among` separates."""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Name -> label for display; names without a label are shown themselves."""
    kind: str = "entity"
    """The noun for messages: entity or relation."""
    labelled: range | None = None
    """The ids that a label belongs to, if two ids have its name."""

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Vocabulary: {count(len(self), self.kind)}, {len(self.labels)} labels>"

    def name(self, index: SupportsIndex) -> str:
        i = operator.index(index)
        if not 0 <= i < len(self.names):
            raise WhereofError(f"no {self.kind} has id {i}; ids go from 0 to {len(self) - 1}")
        return self.names[i]

    def label(self, index: SupportsIndex) -> str:
        """The label of an id, or its name if it has none."""
        name = self.name(index)
        # `in` searches a range for a NumPy integer one element at a time.
        return self.labels.get(name, name) if self._is_labelled(operator.index(index)) else name

    def find(self, text: str, among: range | None = None) -> int:
        """The id of a name, else of a unique label, else of either ignoring case.

        A whole number is found with or without decimals: 5 and 5.0 are the same. `among` are the
        only ids to search, such as `Dataset.subjects`.
        """
        ids = self.matches(text, among)
        if len(ids) == 1:
            return ids[0]
        if not ids:
            raise self._unknown(text, among)
        names = [self.names[i] for i in ids]
        shown = ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
        remedy = "give the name of the one that is meant"
        if len(set(names)) < len(names):
            remedy = f"write subject:{text} or object:{text}"
        raise WhereofError(f"{text!r} matches {count(len(ids), self.kind)}: {shown}; {remedy}")

    def exact(self, name: str, among: range | None = None) -> int | None:
        """The id of exactly this name; None if there is none."""
        return next(iter(_within(self._by_name.get(name), among)), None)

    def matches(self, text: str, among: range | None = None) -> list[int]:
        """The ids with this name or label: one if it is unique, none if it is unknown."""
        return (
            _within(self._by_name.get(text), among)
            or _within(self._by_label.get(text), among)
            or _within(self._by_folded.get(fold(text)), among)
        )

    def _is_labelled(self, i: int) -> bool:
        if self.labelled is None or i in self.labelled:
            return True
        return len(self._by_name[self.names[i]]) == 1

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        return _index(zip(self.names, range(len(self)), strict=True))

    @cached_property
    def _by_label(self) -> dict[str, list[int]]:
        labels = self.labels
        named = ((name, i) for i, name in enumerate(self.names) if name in labels)
        return _index((labels[name], i) for name, i in named if self._is_labelled(i))

    @cached_property
    def _by_folded(self) -> dict[str, list[int]]:
        exact = chain(self._by_name.items(), self._by_label.items())
        return _index((fold(text), i) for text, ids in exact for i in ids)

    def _unknown(self, text: str, among: range | None) -> WhereofError:
        if among and (elsewhere := self.matches(text)):
            kinds = ["an object (such as an item)", "a subject (such as a user)"]
            there, here = kinds if elsewhere[0] >= among.stop else reversed(kinds)
            example = repr(self.label(among[0]))
            return WhereofError(f"{text!r} is {there}; give {here}, for example {example}")
        ids, kind = among if among is not None else range(len(self)), self.kind
        if len(ids) < len(self):  # two-way data: users come first
            kind = "item" if ids.start else "user"
        texts = dict.fromkeys(chain(map(self.label, ids), map(self.name, ids)))
        near = nearest(text, texts)
        part = plain(text)
        found = [each for each in texts if part and part in plain(each) and each not in near]
        found.sort(key=lambda each: not plain(each).startswith(part))
        offered = [*near, *found[:_SHOWN]]
        if offered:
            n_more = len(found[_SHOWN:])
            more = f", or one of {n_more} more that contain it" if n_more else ""
            hint = f"did you mean {', '.join(map(repr, offered))}{more}?"
        else:
            hint = f"none of the {count(len(ids), kind)} has a similar name"
            hint += f"; one of them is {self.label(ids[0])!r}" if ids else ""
        return WhereofError(f"unknown {kind} {text!r}; {hint}")


def did_you_mean(text: str, candidates: Iterable[str], limit: int = 3) -> str:
    """The beginning of a remedy that offers the nearest candidates; empty if none is near."""
    near = nearest(text, candidates, limit)
    return f"did you mean {', '.join(map(repr, near))}? " if near else ""


def nearest(text: str, candidates: Iterable[str], limit: int = 3) -> list[str]:
    """The candidates most similar to the text, best first, ignoring case."""
    wanted = text.casefold()[:_LONGEST]
    grams = {wanted[i : i + 2] for i in range(len(wanted) - 1)} or {wanted}

    def overlap(candidate: str) -> float:
        folded = candidate.casefold()
        return sum(gram in folded for gram in grams) / (len(grams) + len(folded))

    # difflib takes seconds for 100,000 names, so shared letter pairs select a short list first.
    shortlist = heapq.nlargest(_SHORTLIST, dict.fromkeys(candidates), key=overlap)
    parts: dict[str, str] = {}
    for candidate in shortlist:
        # People remember the last part of an IRI.
        for part in (candidate, re.split("[/#]", candidate.rstrip("/#"))[-1]):
            parts.setdefault(part.casefold()[:_LONGEST], candidate)
    close = get_close_matches(wanted, parts, 2 * limit)
    return [*dict.fromkeys(parts[part] for part in close)][:limit]


def fold(text: str) -> str:
    """A text regardless of case and encoding of accents; a whole number without decimals."""
    number = _WHOLE.fullmatch(text)
    return number[1] if number else unicodedata.normalize("NFC", text.casefold())


def plain(text: str) -> str:
    """A text regardless of case, accents and white space."""
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(text.casefold().split())


def _index(pairs: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for text, i in pairs:
        index.setdefault(text, []).append(i)
    return index


def _within(ids: list[int] | None, among: range | None) -> list[int]:
    return [i for i in dict.fromkeys(ids or ()) if among is None or i in among]
