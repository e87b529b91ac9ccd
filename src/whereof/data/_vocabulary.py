"""Names, labels and ids of the entities or relations of a dataset."""

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import SupportsIndex

from whereof.data._nearest import nearest
from whereof.errors import WhereofError

_SHOWN = 5


@dataclass(frozen=True)
class Vocabulary:
    """The names of all entities (or relations), by id, and the labels that some of them have."""

    names: tuple[str, ...]
    """One name per id; a name may stand twice only in two ranges told apart by `among`."""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Name -> label, for reading; names without one are shown as they are."""
    kind: str = "entity"
    """What one of them is called in messages."""
    labelled: range | None = None
    """The ids that a label is for, where two have its name."""

    def __len__(self) -> int:
        return len(self.names)

    def name(self, index: SupportsIndex) -> str:
        """The name of an id."""
        i = operator.index(index)
        if not 0 <= i < len(self.names):
            raise WhereofError(f"no {self.kind} has id {i}; ids go from 0 to {len(self) - 1}")
        return self.names[i]

    def label(self, index: SupportsIndex) -> str:
        """The label of an id, or its name where it has none."""
        name = self.name(index)
        # A NumPy integer as it is would be looked for in the range one element at a time.
        return self.labels.get(name, name) if self._is_labelled(operator.index(index)) else name

    def find(self, text: str, among: range | None = None) -> int:
        """The id of a name, else of an unambiguous label, else of either regardless of case.

        Parameters
        ----------
        text
            A name or a label.
        among
            The only ids to look at, such as `Dataset.subjects`.
        """
        ids = (
            _within(self._by_name.get(text), among)
            or _within(self._by_label.get(text), among)
            or _within(self._by_folded.get(text.casefold()), among)
        )
        if len(ids) == 1:
            return ids[0]
        raise self._ambiguous(text, ids) if ids else self._unknown(text, among)

    def _is_labelled(self, i: int) -> bool:
        if self.labelled is None or i in self.labelled:
            return True
        return len(self._by_name[self.names[i]]) == 1

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        return _index(zip(self.names, range(len(self)), strict=True))

    @cached_property
    def _by_label(self) -> dict[str, list[int]]:
        if not self.labels:
            return {}
        return _index(
            (self.labels[name], i)
            for i, name in enumerate(self.names)
            if name in self.labels and self._is_labelled(i)
        )

    @cached_property
    def _by_folded(self) -> dict[str, list[int]]:
        exact = chain(self._by_name.items(), self._by_label.items())
        return _index((text.casefold(), i) for text, ids in exact for i in ids)

    @cached_property
    def _plural(self) -> str:
        return self.kind[:-1] + "ies" if self.kind.endswith("y") else self.kind + "s"

    def _ambiguous(self, text: str, ids: list[int]) -> WhereofError:
        names = [self.names[i] for i in ids]
        shown = ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
        remedy = (
            "give the name of the one that is meant"
            if len(set(names)) == len(names)
            else "say whether the subject or the object is meant"
        )
        return WhereofError(f"{text!r} stands for {len(ids)} {self._plural}: {shown}; {remedy}")

    def _unknown(self, text: str, among: range | None) -> WhereofError:
        ids = among if among is not None else range(len(self))
        near = nearest(text, chain(map(self.name, ids), map(self.label, ids)))
        if near:
            hint = f"did you mean {', '.join(map(repr, near))}?"
        else:
            hint = f"nothing like it among the {len(ids)} {self._plural}"
            hint += f", such as {self.label(ids[0])!r}" if ids else ""
        return WhereofError(f"unknown {self.kind} {text!r}; {hint}")


def _index(pairs: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Every text with the ids that stand beside it."""
    index: dict[str, list[int]] = {}
    for text, i in pairs:
        index.setdefault(text, []).append(i)
    return index


def _within(ids: list[int] | None, among: range | None) -> list[int]:
    """The distinct ids that lie in the range."""
    return [i for i in dict.fromkeys(ids or ()) if among is None or i in among]
