"""A prediction by ids, and how to find predictions: by names, in a file or in a split."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whereof.data.dataset import Dataset
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.types import OBJECT, RELATION, SUBJECT

if TYPE_CHECKING:
    from whereof.predict.scored import Trained

OPEN, _ESCAPED = "_", r"\_"
"""Marks the open place; stands for the name _."""
_SPLITS = ("test", "valid", "train")
_MANY = 20
"""The maximum number of bad lines to count: finding similar names is slow."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A triple by ids. One place is predicted: its candidates are ranked."""

    subject: int | None
    relation: int
    object: int | None
    asks: str = "object"
    """The predicted place: object or subject. None there leaves the answer open."""

    @classmethod
    def of(
        cls, given: int, relation: int, target: int | None, asks: str = "object"
    ) -> "Prediction":
        """The prediction with this given entity, relation and answer (target)."""
        if asks == "subject":
            return cls(target, relation, given, asks)
        return cls(given, relation, target, asks)

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

    def answered(self, target: int | None) -> "Prediction":
        """The same question with this answer; with None, the question alone."""
        return Prediction.of(self.given, self.relation, target, self.asks)

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
    dataset: Dataset,
    names: Sequence[Any],
    *,
    inverse: bool,
    asks: str = "object",
    query: bool = False,
) -> Prediction:
    r"""The prediction with these names. None or `_` marks an open place; `\_` is the name _.

    inverse: whether the model learned inverse relations, so that it can predict subjects.
    query: whether the last name may be missing.
    """
    given = [names] if isinstance(names, str) else names  # a text is one name, not a list
    spelled = [OPEN if name is None else str(name) for name in given]
    size = 2 if dataset.two_way else 3
    padded = [*spelled, OPEN] if query and len(spelled) == size - 1 else spelled
    if len(padded) != size or (query and padded[0] == padded[-1] == OPEN):
        raise _shape_error(dataset, spelled, query=query)
    subject, object_ = padded[0], padded[-1]
    asks = "subject" if subject == OPEN else asks
    check_asks(asks, inverse=inverse)
    if subject == object_ == OPEN or (object_ == OPEN and asks == "subject"):
        raise WhereofError("leave only the predicted place open")
    if not dataset.two_way and padded[1] == OPEN:
        raise WhereofError(
            "relations cannot be predicted; name one, and leave S or O open"
            if query
            else "relations cannot be left open; name one"
        )
    names = [OPEN if name == _ESCAPED else name for name in padded]
    return Prediction(
        None if subject == OPEN else dataset.entities.find(names[0], dataset.subjects),
        0 if dataset.two_way else dataset.relations.find(names[1]),
        None if object_ == OPEN else dataset.entities.find(names[-1], dataset.objects),
        asks,
    )


def check_asks(asks: str, *, inverse: bool) -> None:
    """Raise an error if subjects are requested and the run has no inverse relations."""
    if asks == "subject" and not inverse:
        raise WhereofError("this run cannot predict subjects; train one with --inverse")


def _shape_error(dataset: Dataset, spelled: Sequence[str], *, query: bool) -> WhereofError:
    got = " ".join(spelled) or "nothing"
    if query:
        middle = "" if dataset.two_way else " RELATION"
        shapes = f"SUBJECT{middle}, _{middle} OBJECT or SUBJECT{middle} OBJECT"
        return WhereofError(f"a query is {shapes}; got {got}")
    shape = "SUBJECT OBJECT" if dataset.two_way else "SUBJECT RELATION OBJECT"
    return WhereofError(f"a prediction is {shape}; got {got}")


@dataclass(frozen=True, slots=True)
class Listed:
    """A prediction of a list, by names as typed or by ids."""

    line: int
    """Its number in the file or list, counted from 1."""
    asked: "tuple[str | None, ...] | Prediction"

    def find(self, dataset: Dataset, *, inverse: bool, asks: str = "object") -> Prediction:
        """The prediction by ids."""
        if isinstance(self.asked, Prediction):
            return self.asked
        return find_prediction(dataset, self.asked, inverse=inverse, asks=asks)

    def names(self, dataset: Dataset) -> tuple[str | None, ...]:
        """Its names as far as given; None is an open place."""
        if isinstance(self.asked, Prediction):
            return self.asked.names(dataset)
        return self.asked


def list_predictions(predictions: Iterable[Sequence[Any]]) -> Iterator[Listed]:
    """Predictions by names, numbered from 1."""
    for line, names in enumerate(predictions, 1):
        several = [names] if isinstance(names, str) else names
        yield Listed(line, tuple(None if name is None else str(name) for name in several))


def predictions_of_split(
    dataset: Dataset, split: str, asks: str = "object", *, inverse: bool, true: bool
) -> list[Listed]:
    """Predictions of a split, each once, in order of first appearance.

    true: the facts of the split; else its questions, with open answers.
    """
    check_asks(asks, inverse=inverse)
    if split not in _SPLITS:
        raise WhereofError(f"unknown split {split!r}; choose from {', '.join(_SPLITS)}")
    facts = getattr(dataset, split)
    if not len(facts):
        raise WhereofError(
            f"split {split} of this run has no facts; choose another, or hold some out in training "
            "with test_fraction"
        )
    given = OBJECT if asks == "subject" else SUBJECT
    columns = (given, RELATION, OBJECT + SUBJECT - given) if true else (given, RELATION)
    first = np.unique(facts[:, columns], axis=0, return_index=True)[1]
    rows = (facts[np.sort(first)][:, columns]).tolist()
    return [
        Listed(line, Prediction.of(row[0], row[1], row[2] if true else None, asks))
        for line, row in enumerate(rows, 1)
    ]


def read_list(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row, separated by TAB, or by comma in a .csv file.

    An empty cell is an open place.
    """
    from whereof.data.text import read_rows  # loads pyarrow

    comma = path.name.lower().removesuffix(".gz").endswith(".csv")
    for row in read_rows(path, comma=comma):
        if any(row.cells):
            yield row.line, [cell or OPEN for cell in row.cells]


def read_queries(path: Path, dataset: Dataset, *, inverse: bool) -> list[Prediction]:
    """Read queries; all names are looked up before any query is answered."""
    queries: list[Prediction] = []
    faults: list[str] = []
    for number, cells in read_list(path):
        try:
            queries.append(find_prediction(dataset, cells, inverse=inverse, query=True))
        except WhereofError as error:
            faults.append(f"{path}:{number}: {error}")
        if len(faults) > _MANY:
            break
    if faults:
        n_others = len(faults) - 1
        count = f"{n_others}{' or more' if n_others == _MANY else ''} other bad"
        others = f" ({count} line{'s' * (n_others > 1)})" if n_others else ""
        raise WhereofError(faults[0] + others)
    if not queries:
        raise WhereofError(
            f"{path}: the file contains no query; write one per line, with names separated by TAB"
        )
    return queries


def find_predictions(
    trained: "Trained", predictions: str | Path, split: str, limit: int | None, asks: str
) -> list[Listed]:
    """The first predictions of a split, `top` or `true`, or of a file.

    What is wrong with a line of a file is reported when its prediction is explained.
    """
    if limit is not None and (isinstance(limit, bool) or limit < 1):
        raise WhereofError(f"limit is {limit!r}; give a number from 1 on")
    if predictions in ("top", "true"):
        inverse, true = trained.config.inverse, predictions == "true"
        found = predictions_of_split(trained.dataset, split, asks, inverse=inverse, true=true)
        return found[:limit]
    path = Path(predictions)
    listed = [Listed(number, tuple(cells)) for number, cells in read_list(path)]
    if not listed:
        raise WhereofError(
            f"{path}: the file contains no prediction; write one per line, "
            "with names separated by TAB"
        )
    return listed[:limit]
