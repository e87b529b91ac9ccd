"""What a prediction says."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One candidate.

    `rank` skips objects already known from training and validation, other than this one.
    """

    entity: str
    label: str
    probability: float
    score: float
    rank: int
    known: str | None


@dataclass(frozen=True)
class Answers:
    """The answers to a query, most probable first."""

    query: dict[str, str | None]
    """Names by place: subject, relation, object."""
    labels: dict[str, str | None]
    """Labels by place, or the names again."""
    asks: str
    """Which place the answers stand in: subject or object."""
    answers: tuple[Answer, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": dict(self.query),
            "labels": dict(self.labels),
            "asks": self.asks,
            "answers": [dict(vars(answer)) for answer in self.answers],
        }
