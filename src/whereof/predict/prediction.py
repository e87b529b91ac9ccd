"""A prediction by ids, and how to find predictions: by names, in a file or in a split."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whereof.data.dataset import Dataset
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.registry import unknown
from whereof.settings import shown
from whereof.types import OBJECT, RELATION, SUBJECT

if TYPE_CHECKING:
    from whereof.predict.scored import Trained

OPEN, _ESCAPED = "_", r"\_"
"""Marks the open place; stands for the name _."""
_SPLITS = ("test", "valid", "train")
_MANY = 20
"""The maximum number of bad lines to count: finding similar names is slow."""


def typed(name: str) -> str:
    """A name as it is typed: `_` alone would ask for it."""
    return _ESCAPED if name == OPEN else name


@dataclass(frozen=True, slots=True)
class Prediction:
    """A triple by ids. One place is predicted: its candidates are ranked."""

    subject: int | None
    relation: int
    object: int | None
    asks: str = "object"
    """The predicted place: object or subject. None there leaves the answer open."""

    @property
    def given(self) -> int:
        """The given entity: the one that is not predicted."""
        given = self.object if self.asks == "subject" else self.subject
        assert given is not None
        return given

    @property
    def target(self) -> int | None:
        """The answer; None if it is open."""
        return self.subject if self.asks == "subject" else self.object

    @property
    def triple(self) -> tuple[int, int, int]:
        """Subject, relation and object of a prediction that has an answer."""
        assert self.subject is not None
        assert self.object is not None
        return self.subject, self.relation, self.object

    def answered(self, target: int | None) -> "Prediction":
        """The same question with this answer; with None, the question alone."""
        return replace(self, **{self.asks: target})  # type: ignore[arg-type]

    def relation_row(self, dataset: Dataset) -> int:
        """The relation's row; the inverse relation's row if subjects are predicted."""
        return self.relation + (dataset.inverse_offset if self.asks == "subject" else 0)

    def candidates(self, dataset: Dataset) -> range:
        """Every entity that can be the answer."""
        return dataset.subjects if self.asks == "subject" else dataset.objects

    def names(self, dataset: Dataset) -> tuple[str | None, ...]:
        """Names of subject, relation and object; two-way data has no relation."""
        subject, relation, object_ = self.spell(dataset).values()
        return (subject, object_) if dataset.two_way else (subject, relation, object_)

    def spell(
        self, dataset: Dataset, word: Callable[[Vocabulary, int], str] = Vocabulary.name
    ) -> dict[str, str | None]:
        """The name or label of each place; None for an open place, and without relations."""
        entities = dataset.entities
        return {
            "subject": None if self.subject is None else word(entities, self.subject),
            "relation": None if dataset.two_way else word(dataset.relations, self.relation),
            "object": None if self.object is None else word(entities, self.object),
        }


def find_prediction(
    trained: "Trained", names: Sequence[Any], *, asks: str = "object", query: bool = False
) -> Prediction:
    r"""The prediction with these names. None or `_` marks an open place; `\_` is the name _.

    query: whether the last name may be missing.
    """
    data, spelled = trained.dataset, [OPEN if name is None else name for name in _texts(names)]
    size = 2 if data.two_way else 3
    padded = [*spelled, OPEN] if query and len(spelled) == size - 1 else spelled
    if len(padded) != size or (query and padded[0] == padded[-1] == OPEN):
        got, middle = " ".join(spelled) or "nothing", "" if data.two_way else " RELATION"
        others = f"SUBJECT{middle}, _{middle} OBJECT or " if query else ""
        noun = "query" if query else "prediction"
        raise WhereofError(f"a {noun} is {others}SUBJECT{middle} OBJECT; got {got}")
    subject, object_ = padded[0], padded[-1]
    asks = "subject" if subject == OPEN else asks
    _check_asks(trained, asks)
    if subject == object_ == OPEN or (object_ == OPEN and asks == "subject"):
        raise WhereofError("leave only the predicted place open")
    if not data.two_way and padded[1] == OPEN:
        can = "predicted; name one, and leave S or O open" if query else "left open; name one"
        raise WhereofError(f"relations cannot be {can}")
    names = [OPEN if name == _ESCAPED else name for name in padded]
    return Prediction(
        None if subject == OPEN else data.entities.find(names[0], data.subjects),
        0 if data.two_way else data.relations.find(names[1]),
        None if object_ == OPEN else data.entities.find(names[-1], data.objects),
        asks,
    )


def _texts(names: Sequence[Any]) -> tuple[str | None, ...]:
    given = [names] if isinstance(names, str) else names  # a text is one name, not a list
    if isinstance(given, bytes) or not hasattr(given, "__iter__"):
        raise WhereofError(f"a prediction is {shown(names)}; give a list of names")
    return tuple(None if name is None else str(name) for name in given)


def _check_asks(trained: "Trained", asks: str) -> None:
    if asks == "subject" and not trained.config.inverse:
        remedy = "" if trained.config.rated else "; train one with --inverse"
        raise WhereofError(f"this run cannot predict subjects{remedy}")


@dataclass(frozen=True, slots=True)
class Listed:
    """A prediction of a list, by names as typed or by ids."""

    line: int
    """Its number in the file or list, counted from 1."""
    asked: "tuple[str | None, ...] | Prediction"

    def find(self, trained: "Trained", *, asks: str = "object", query: bool = False) -> Prediction:
        """The prediction by ids."""
        if isinstance(self.asked, Prediction):
            return self.asked
        return find_prediction(trained, self.asked, asks=asks, query=query)

    def names(self, dataset: Dataset) -> tuple[str | None, ...]:
        """Its names as far as given; None is an open place."""
        return self.asked.names(dataset) if isinstance(self.asked, Prediction) else self.asked


def list_predictions(predictions: Iterable[Sequence[Any]]) -> Iterator[Listed]:
    """Predictions by names, numbered from 1."""
    listed = hasattr(predictions, "__iter__") and not isinstance(predictions, str | bytes)
    if not listed or hasattr(predictions, "columns"):
        raise WhereofError("give a list of lists of names; for a frame, frame.values.tolist()")
    return (Listed(line, _texts(names)) for line, names in enumerate(predictions, 1))


def read_predictions(path: Path, noun: str = "prediction") -> list[Listed]:
    """The predictions of a file, one per row, separated by TAB, or by comma in a .csv file.

    An empty cell is an open place.
    """
    from whereof.data.text import read_rows  # loads pyarrow

    rows = [row for row in read_rows(path) if any(row.cells)]
    if not rows:
        raise WhereofError(
            f"{path}: the file contains no {noun}; write one per line, with names separated by TAB"
        )
    return [Listed(row.line, tuple(cell or OPEN for cell in row.cells)) for row in rows]


def read_queries(trained: "Trained", path: Path) -> list[Prediction]:
    """Read queries; all names are looked up before any query is answered."""
    queries, faults = list[Prediction](), list[str]()
    for listed in read_predictions(path, "query"):
        try:
            queries.append(listed.find(trained, query=True))
        except WhereofError as error:
            faults.append(f"{path}:{listed.line}: {error}")
        if len(faults) > _MANY:
            break
    if faults:
        n_others = len(faults) - 1
        count = f"{n_others}{' or more' if n_others == _MANY else ''} other bad"
        others = f" ({count} line{'s' * (n_others > 1)})" if n_others else ""
        raise WhereofError(faults[0] + others)
    return queries


def find_predictions(
    trained: "Trained", predictions: str | Path, split: str, limit: int | None, asks: str
) -> list[Listed]:
    """The first predictions of a split, `top` or `true`, or of a file.

    `true` are the facts of the split, `top` its questions with open answers; each comes once, in
    order of first appearance. What is wrong with a line of a file is reported when its prediction
    is explained.
    """
    if limit is not None and (isinstance(limit, bool) or limit < 1):
        raise WhereofError(f"limit is {limit!r}; give a number from 1 on")
    if predictions not in ("top", "true"):
        return read_predictions(Path(predictions))[:limit]
    _check_asks(trained, asks)
    if split not in _SPLITS:
        raise unknown("split", split, _SPLITS)
    facts = getattr(trained.dataset, split)
    if not len(facts):
        raise WhereofError(
            f"split {split} of this run has no facts; choose another, or hold some out in training "
            "with test_fraction"
        )
    given = OBJECT if asks == "subject" else SUBJECT
    columns = slice(None) if predictions == "true" else [given, RELATION]
    first = np.sort(np.unique(facts[:, columns], axis=0, return_index=True)[1])[:limit]
    found = (Prediction(s, r, o, asks) for s, r, o in facts[first].tolist())
    if predictions == "top":
        found = (prediction.answered(None) for prediction in found)
    return [Listed(line, prediction) for line, prediction in enumerate(found, 1)]
