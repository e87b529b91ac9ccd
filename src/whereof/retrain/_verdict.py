"""What a verdict says: plain records of a prediction before and after its facts were removed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whereof.explain import Prediction, Standing
from whereof.explain._explanation import as_plain


@dataclass(frozen=True)
class Stand(Standing):
    """How a prediction stands, with the label of the top answer."""

    labels: dict[str, str]
    """Of the top answer."""

    @property
    def worth(self) -> float:
        """The probability; of a model of ratings, the rating."""
        return self.score if self.probability is None else self.probability


@dataclass(frozen=True)
class RemovedFact:
    """A fact that was removed, and what the method said of it."""

    fact_id: int
    subject: str
    relation: str | None
    object: str
    labels: dict[str, str | None]
    influence: float | None
    """None where the method cannot tell."""
    probability_without: float | None = None


@dataclass(frozen=True)
class EachFact:
    """What removing one fact alone did."""

    fact_id: int
    subject: str
    relation: str | None
    object: str
    labels: dict[str, str | None]
    predicted: Stand | None
    actual: Stand


@dataclass(frozen=True)
class OfSeed:
    """What removing the same facts did in the run of one seed."""

    seed: int
    before: Stand
    actual: Stand
    control_matches_run: bool


@dataclass(frozen=True)
class Spread:
    """One figure over several seeds; the deviation is that of a sample."""

    mean: float
    std: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        mean, std = float(np.mean(values)), float(np.std(values, ddof=1))
        return cls(mean, std, min(values), max(values))


@dataclass(frozen=True)
class Summary:
    """All seeds together: probabilities or, of a model of ratings, ratings."""

    n_seeds: int
    before: Spread
    actual: Spread
    fall: Spread
    n_fell: int
    n_top_changed: int

    @classmethod
    def of(cls, seeds: Sequence[OfSeed]) -> "Summary":
        falls = [each.before.worth - each.actual.worth for each in seeds]
        changed = [each.before.top_answer != each.actual.top_answer for each in seeds]
        return cls(
            n_seeds=len(seeds),
            before=Spread.of([each.before.worth for each in seeds]),
            actual=Spread.of([each.actual.worth for each in seeds]),
            fall=Spread.of(falls),
            n_fell=sum(fall > 0 for fall in falls),
            n_top_changed=sum(changed),
        )


@dataclass(frozen=True)
class Verdict:
    """What retraining without the chosen facts really did, beside what was predicted."""

    prediction: Prediction
    """As it stands in the stored run."""
    removed: tuple[int, ...]
    """Ids of the facts, in the order of the list."""
    before: Stand
    """After retraining with all facts: the control."""
    predicted: Stand | None
    """After rolling back the removed facts together; None without a trace."""
    actual: Stand
    """After retraining without them."""
    control_matches_run: bool
    """Whether the control stands as the stored run does, to nine digits."""
    facts: tuple[RemovedFact, ...]
    each: tuple[EachFact, ...]
    """Of every fact removed alone, where that was asked for."""
    seeds: tuple[OfSeed, ...]
    """Of every seed, the run's own first, where several were asked for."""
    summary: Summary | None
    """Of several seeds."""
    n_retrainings: int
    """Those that it rests on."""
    n_known: int
    """Of them, those that a journal knew from before."""
    method: str
    engine: str
    seconds: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """What `whereof verify --json` prints: plain values only."""
        document: dict[str, Any] = as_plain(self)
        return document

    def __str__(self) -> str:
        """The verdict in words."""
        from whereof.retrain._words import in_words

        return in_words(self)
