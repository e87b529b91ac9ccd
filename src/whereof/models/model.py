"""What a model declares; all models share everything else."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from whereof.errors import WhereofError
from whereof.types import Numbers

Match = Literal["dot", "l1", "l2", "own"]

ScoreFunction = Callable[[Numbers, Numbers, Numbers], Numbers]
"""Scores of rows: given (n, width), relations (n, width), candidates (m, width) -> (n, m).

Candidates may also be (n, m, width): others for every given row.
"""


@dataclass(frozen=True)
class Widths:
    """Widths of a model's vectors for a dimension `dim`."""

    entity: int
    relation: int
    query: int
    """The entity width, or one more for an offset that is added to every score."""

    def slots(self, n_directions: int) -> tuple[slice, ...]:
        """Slices of a trace row: subject, relation, object, inverse relation."""
        widths = (self.entity, self.relation, self.entity, self.relation)[: 2 + n_directions]
        stops = tuple(accumulate(widths))
        return tuple(slice(stop - width, stop) for width, stop in zip(widths, stops, strict=True))


@dataclass(frozen=True)
class CudaCode:
    """The two functions of a model in C, for the CUDA engine: the bodies, without their heads.

    All threads of a block run a body together. `FOR_EACH(k, n)` is a loop whose rounds the threads
    share; its rounds must not depend on each other. `Number` is the type of all numbers, `WIDTH`,
    `RELATION_WIDTH` and `QUERY_WIDTH` are the lengths of the vectors, and `BARRIER()` waits until
    all threads have come that far. The vectors have the names they have in Python.
    """

    query: str
    query_vjp: str


@dataclass(frozen=True)
class Model:
    """A scoring function: score(s, r, o) = match(query(s, r), o).

    `query(s, r, q)` fills the vector q. `query_vjp(s, r, dq, ds, dr)` fills the gradients of the
    rows s and r from the gradient of q. Both are plain loops over vectors, compiled on first use.
    """

    name: str
    title: str
    formula: str
    citation: str
    match: Match
    widths: Callable[[int], Widths]
    query: Callable[[Any, Any, Any], None]
    query_vjp: Callable[[Any, Any, Any, Any, Any], None]
    two_way: bool = False
    """Whether facts are (subject, object) pairs; relation rows then have width 0."""
    entity_parts: int = 1
    """2 if a row contains real parts, then imaginary parts: N3 then uses their modulus."""
    relation_parts: int = 1
    relation_phases: bool = False
    """Relation rows are angles: they start anywhere on the circle and have no norm."""
    trilinear: bool = False
    """The score is linear in each of its three rows, and at most the product of their norms: the
    bounds of the theory hold for such models."""
    score: ScoreFunction | None = None
    """A scoring function that is no match with a query; then `match` is `own`, and a query is the
    two rows side by side."""
    cuda: CudaCode | None = None
    """Without it, the model trains on the CPU alone."""

    def check_columns(self, *, two_way: bool) -> None:
        """Raise an error if the facts have a relation and the model takes none, or the reverse."""
        if self.two_way == two_way:
            return
        wants, have = "three columns, with a relation", "none"
        if self.two_way:
            wants, have = "two columns, without a relation", "one"
        raise WhereofError(
            f"model {self.name} takes facts of {wants}, and these have {have}; "
            f"choose another model, such as {'mf' if two_way else 'distmult'}"
        )


OWN = "own-"
"""The names of models with a scoring function of the user's own start with this."""
OWN_FORMULA = "a scoring function of its own"


def own_model(function: str, entity_width: int, relation_width: int, score: ScoreFunction) -> Model:
    """A model with any scoring function, for rows of these widths; function: its name."""
    widths, name = (
        Widths(entity_width, relation_width, entity_width + relation_width),
        OWN + function,
    )
    return Model(
        name=name,
        title=name,
        formula=OWN_FORMULA,
        citation="",
        match="own",
        widths=lambda dim: widths,
        query=_side_by_side,
        query_vjp=_apart,
        two_way=not relation_width,
        score=score,
    )


def _side_by_side(s: Any, r: Any, q: Any) -> None:
    for k in range(s.shape[0]):
        q[k] = s[k]
    for k in range(r.shape[0]):
        q[s.shape[0] + k] = r[k]


def _apart(s: Any, r: Any, dq: Any, ds: Any, dr: Any) -> None:
    for k in range(s.shape[0]):
        ds[k] = dq[k]
    for k in range(r.shape[0]):
        dr[k] = dq[s.shape[0] + k]
