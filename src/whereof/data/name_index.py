"""Find names and labels by a part of them, fast enough to answer while someone types."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import Dataset
from whereof.data.indexes import Adjacency
from whereof.data.vocabulary import Vocabulary, plain
from whereof.errors import WhereofError

_WORD_START: Final = re.compile(r"(?<=[\W_])(?=[^\W_])")
_MARK: Final = "\x01"


@dataclass(frozen=True)
class FoundName:
    """An entity or a relation that was found by a part of its name or label."""

    name: str
    label: str
    """The name if there is no label."""
    n_facts: int
    """Number of training facts with it."""

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class NameIndex:
    """Labels and names in one text, by weight, largest first: the first matches are the best."""

    ids: Sequence[int]
    """The ids in the order of the text."""
    text: bytes
    """Plain labels and names, each after a line feed."""
    starts: Sequence[int]
    """Where each id starts in the text, and the length of the text."""
    words: bytes
    """The same text with a mark at the start of every word."""
    word_starts: Sequence[int]

    @classmethod
    def of(cls, vocabulary: Vocabulary, ids: range, weights: NDArray[np.integer]) -> "NameIndex":
        """The index of some ids; weights: of every id of the vocabulary."""
        order = ids.start + np.argsort(-weights[ids.start : ids.stop], kind="stable")
        blocks, marked = list[bytes](), list[bytes]()
        for i in order.tolist():
            texts = dict.fromkeys((plain(vocabulary.label(i)), plain(vocabulary.name(i))))
            block = "".join(f"\n{text}" for text in texts)
            blocks.append(block.encode())
            marked.append(_mark(block))
        return cls(
            order.tolist(),
            b"".join([*blocks, b"\n"]),
            [*accumulate(map(len, blocks), initial=0)],
            b"".join(marked),
            [*accumulate(map(len, marked), initial=0)],
        )

    def find(self, text: str, limit: int | None) -> list[int]:
        """The first ids whose label or name contains a text; every id contains an empty text.

        Exact matches come first, then texts that start with it, texts with a word that starts with
        it, and all others. Each group is sorted by weight, largest first.
        """
        wanted = plain(text)
        places = self._find(wanted) if wanted else range(len(self.ids))
        return [self.ids[at] for at in islice(places, limit)]

    def _find(self, wanted: str) -> Iterator[int]:
        """Positions of the ids that contain the text, each once."""
        part, word, seen = wanted.encode(), _mark(f"\n{wanted}")[1:], set[int]()
        for pattern, content, starts in (
            (b"\n" + part + b"\n", self.text, self.starts),
            (b"\n" + part, self.text, self.starts),
            (word, self.words, self.word_starts),
            (part, self.text, self.starts),
        ):
            place = content.find(pattern)
            while 0 <= place < starts[-1]:
                at = bisect_right(starts, place) - 1
                if at not in seen:
                    seen.add(at)
                    yield at
                place = content.find(pattern, starts[at + 1])


def _mark(text: str) -> bytes:
    return _WORD_START.sub(_MARK, text).encode()


class NameFinder:
    """Finds the entities and relations of a dataset; builds an index when it first needs it."""

    def __init__(self, dataset: Dataset, adjacency: Adjacency) -> None:
        self._ranges: dict[tuple[str, str | None], range] = {
            ("entity", None): range(dataset.n_entities),
            ("entity", "subject"): dataset.subjects,
            ("entity", "object"): dataset.objects,
            ("relation", None): range(dataset.n_relations),
        }
        self._kinds = {
            "entity": (dataset.entities, np.diff(adjacency.entity_bounds)),
            "relation": (dataset.relations, np.diff(adjacency.relation_bounds)),
        }
        self._indexes = dict[tuple[str, range], NameIndex]()

    def find(self, text: str, kind: str, place: str | None, limit: int) -> list[FoundName]:
        """The best matches of a text, at most `limit`."""
        if (kind, place) not in self._ranges:
            raise WhereofError(
                f"kind {kind!r} with place {place!r} is unknown; choose kind entity or relation, "
                "and place subject or object for an entity, or none"
            )
        if limit < 1:
            raise WhereofError(f"limit is {limit}; give a number from 1 on")
        (words, n_facts), ids = self._kinds[kind], self._ranges[kind, place]
        if (kind, ids) not in self._indexes:
            self._indexes[kind, ids] = NameIndex.of(words, ids, n_facts)
        found = self._indexes[kind, ids].find(text, limit)
        return [FoundName(words.name(i), words.label(i), int(n_facts[i])) for i in found]
