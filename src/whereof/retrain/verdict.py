"""Records of a verdict: a prediction before and after its facts are removed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whereof.explain.explanation import NamedFact, NamedPrediction, as_plain
from whereof.predict.standing import Standing
from whereof.registry import render


@dataclass(frozen=True, kw_only=True)
class RemovedFact(NamedFact):
    """A removed fact and the method's estimate for it."""

    influence: float | None
    """None if the method does not compute it."""
    probability_without: float | None = None


@dataclass(frozen=True, kw_only=True)
class EachFact(NamedFact):
    """Effect of removing one fact alone."""

    predicted: Standing | None
    actual: Standing


@dataclass(frozen=True)
class OfSeed:
    """Effect of removing the same facts in the run with one seed."""

    seed: int
    before: Standing
    actual: Standing
    control_matches_run: bool


@dataclass(frozen=True)
class SeedSpread:
    """Statistics of one value over several seeds; `std` is the sample standard deviation."""

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
    """Summary over all seeds: probabilities or, for a rating model, ratings."""

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
    """The result of retraining without the chosen facts, and what was predicted."""

    prediction: NamedPrediction
    """The prediction and its standing in the stored run."""
    removed: tuple[int, ...]
    """Ids of the removed facts, in order."""
    before: Standing
    """After retraining with all facts: the control."""
    predicted: Standing | None
    """After rolling back the removed facts together; None for a run without a trace."""
    actual: Standing
    """After retraining without them."""
    control_matches_run: bool
    """Whether the control has the same standing as the stored run, to nine digits."""
    facts: tuple[RemovedFact, ...]
    each: tuple[EachFact, ...]
    """Results of removing every fact alone, with `each`."""
    seeds: tuple[OfSeed, ...]
    """Results of every seed, the run's own first, with several `seeds`."""
    summary: Summary | None
    """Summary over several seeds."""
    n_retrainings: int
    """Number of retrainings that the verdict uses."""
    n_known: int
    """Number of them that were in the journal already."""
    method: str
    engine: str
    seconds: float
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof verify --json` prints."""
        document: dict[str, Any] = as_plain(self)
        return document

    def __str__(self) -> str:
        """The verdict in words."""
        return str(render("verdict-words", self))
