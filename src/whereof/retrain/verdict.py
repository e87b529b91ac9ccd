"""What a verdict says: plain records of a prediction before and after its facts were removed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whereof.explain.explanation import NamedFact, NamedPrediction, as_plain
from whereof.predict.standing import Standing
from whereof.registry import render


@dataclass(frozen=True, kw_only=True)
class RemovedFact(NamedFact):
    """A fact that was removed, and what the method said of it."""

    influence: float | None
    """None where the method cannot tell."""
    probability_without: float | None = None


@dataclass(frozen=True, kw_only=True)
class EachFact(NamedFact):
    """What removing one fact alone did."""

    predicted: Standing | None
    actual: Standing


@dataclass(frozen=True)
class OfSeed:
    """What removing the same facts did in the run of one seed."""

    seed: int
    before: Standing
    actual: Standing
    control_matches_run: bool


@dataclass(frozen=True)
class SeedSpread:
    """One figure over several seeds; the deviation is that of a sample."""

    mean: float
    std: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "SeedSpread":
        mean, std = float(np.mean(values)), float(np.std(values, ddof=1))
        return cls(mean, std, min(values), max(values))


@dataclass(frozen=True)
class Summary:
    """All seeds together: probabilities or, of a model of ratings, ratings."""

    n_seeds: int
    before: SeedSpread
    actual: SeedSpread
    fall: SeedSpread
    n_fell: int
    n_top_changed: int

    @classmethod
    def of(cls, seeds: Sequence[OfSeed]) -> "Summary":
        falls = [each.before.value - each.actual.value for each in seeds]
        changed = [each.before.top_answer != each.actual.top_answer for each in seeds]
        return cls(
            n_seeds=len(seeds),
            before=SeedSpread.of([each.before.value for each in seeds]),
            actual=SeedSpread.of([each.actual.value for each in seeds]),
            fall=SeedSpread.of(falls),
            n_fell=sum(fall > 0 for fall in falls),
            n_top_changed=sum(changed),
        )


@dataclass(frozen=True)
class Verdict:
    """What retraining without the chosen facts really did, beside what was predicted."""

    prediction: NamedPrediction
    """As it stands in the stored run."""
    removed: tuple[int, ...]
    """Ids of the facts, in the order of the list."""
    before: Standing
    """After retraining with all facts: the control."""
    predicted: Standing | None
    """After rolling back the removed facts together; None without a trace."""
    actual: Standing
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
        return str(render("verdict-words", self))
