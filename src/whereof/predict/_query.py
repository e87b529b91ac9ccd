"""What is asked: a triple with a place left open, found by names."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

from whereof.data import Dataset
from whereof.errors import WhereofError

OPEN = "_"
"""Stands where the answer goes."""


@dataclass(frozen=True, slots=True)
class Query:
    """A triple whose object or subject is asked for; None leaves that place open."""

    subject: int | None
    relation: int
    object: int | None

    @property
    def asks_subject(self) -> bool:
        return self.subject is None

    @property
    def given(self) -> int:
        """The entity that is not asked for."""
        given = self.object if self.subject is None else self.subject
        assert given is not None
        return given

    @property
    def target(self) -> int | None:
        """The one answer that a whole triple asks for."""
        return None if self.asks_subject else self.object

    def candidates(self, dataset: Dataset) -> range:
        """The entities that can be the answer."""
        return dataset.subjects if self.asks_subject else dataset.objects


def find_query(dataset: Dataset, names: Sequence[str | None], *, inverse: bool) -> Query:
    """The query that names spell; a whole triple asks for that one object."""
    spelled = [OPEN if name is None else str(name) for name in names]
    size = 2 if dataset.two_way else 3
    subject, target = (*spelled, OPEN)[0], spelled[-1] if len(spelled) == size else OPEN
    if len(spelled) not in (size - 1, size) or subject == target == OPEN:
        shapes = ("S", "_ O", "S O") if dataset.two_way else ("S R", "_ R O", "S R O")
        raise WhereofError(f"a query is {', '.join(shapes)}; got {' '.join(spelled) or 'nothing'}")
    if size == 3 and spelled[1] == OPEN:
        raise WhereofError("relations cannot be asked for; name one, and leave S or O open")
    if subject == OPEN and not inverse:
        raise WhereofError("this run cannot be asked for subjects; train one with --inverse")
    return Query(
        None if subject == OPEN else dataset.entities.find(subject, dataset.subjects),
        0 if dataset.two_way else dataset.relations.find(spelled[1]),
        None if target == OPEN else dataset.entities.find(target, dataset.objects),
    )


def check_top(top: int | None) -> None:
    """Refuse a number of answers that is none."""
    if top is not None and (isinstance(top, bool) or not isinstance(top, Integral) or top < 1):
        raise WhereofError(f"top is {top!r}; give a number from 1 on, or None for all")
