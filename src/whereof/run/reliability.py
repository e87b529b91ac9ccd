"""How reliable the estimates of a run are, as far as retraining has measured it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from whereof.errors import WhereofError
from whereof.run.files import check_seal, read_json, write_sealed
from whereof.types import Numbers
from whereof.units import count

NAME = "reliability.json"
_CORRELATED, _CLOSE = 0.9, (0.67, 1.5)
"""The rank correlation and the ratios of sizes that count as close."""
NOISE = 0.005
"""A part of the value that nobody would call a change."""
_LEAST, _SHARE = 5, 0.8
"""Announced changes are believed if this number of them is known, and this share came true. Sizes
are close if this share of the facts has the right one."""


def sizes_agree(said: ArrayLike, done: ArrayLike, value: ArrayLike) -> NDArray[np.bool_]:
    """Whether estimated changes of a value have about the size of the actual ones."""
    said, done, noise = np.asarray(said), np.asarray(done), NOISE * np.abs(value)
    least, most = (factor * np.abs(said) for factor in _CLOSE)
    near = (said * done > 0) & (np.abs(done) >= least) & (np.abs(done) <= most)
    return np.asarray(near | (np.maximum(np.abs(said), np.abs(done)) <= noise))


@dataclass(frozen=True)
class Linearity:
    """Removal of a fact, compared with a small change of its weight.

    f is the log-odds of a prediction, or its rating, as a function of the weight of one fact. The
    removal f(1) - f(0) is compared with the slope (f(1.1) - f(0.9)) / 0.2. If training responds
    linearly to a fact, both are equal.
    """

    n_pairs: int
    """Number of pairs of a fact and a prediction, without those that only have noise."""
    spearman: float | None
    pearson: float | None
    ratio: float | None
    """Median of slope over removal, for the tenth of the pairs with the largest removals."""
    noise: float
    """Median change of f if the weight of a fact changes by a millionth: rounding, amplified."""

    @property
    def is_close(self) -> bool:
        """Whether training responds to one fact almost linearly."""
        if self.spearman is None or self.ratio is None:
            return False
        return self.spearman >= _CORRELATED and _CLOSE[0] <= self.ratio <= _CLOSE[1]

    def __str__(self) -> str:
        """The figures in words."""
        if self.spearman is None or self.ratio is None:
            return "Linearity is unknown: the effects of removing facts are below the noise."
        kind = "responds almost linearly" if self.is_close else "does not respond linearly"
        return (
            f"Training {kind} to a fact. A small change of its weight predicts the effect of its "
            f"removal: the rank correlation is {self.spearman:.2f}, and the predicted size is "
            f"{self.ratio:.2f} times the actual one ({count(self.n_pairs, 'effect')})."
        )


@dataclass(frozen=True)
class Claims:
    """What a method says about the facts that it lists, compared with retraining."""

    method: str
    n_checks: int
    """Number of retrainings, each without one fact."""
    size_ratio: float | None
    """Median ratio of estimated to actual fall, which is infinite if the value does not really
    fall; None if the median is."""
    n_right_size: int
    """Number of facts whose estimated fall has about the size of the actual one."""
    n_announced: int | None = None
    """Number of announced changes of the top answer; None if no rivals were followed."""
    n_true: int = 0
    """Of these, the number that came true, with the announced answer."""

    @classmethod
    def compare(cls, method: str, before: Numbers, said: Numbers, done: Numbers) -> "Claims":
        """The claims about sizes.

        before: value of a prediction with all facts. said, done: value without one fact, as
        estimated and after retraining. All (n_checks,).
        """
        falls, reals = before - said, before - done
        seen = np.maximum(np.abs(falls), np.abs(reals)) > NOISE * np.abs(before)
        ratios = np.where(reals > 0, falls, np.inf)[seen] / np.where(reals > 0, reals, 1)[seen]
        ratio = float(np.median(ratios)) if seen.any() else np.inf
        return cls(
            method=method,
            n_checks=len(before),
            size_ratio=ratio if np.isfinite(ratio) else None,
            n_right_size=int(sizes_agree(falls, reals, before).sum()),
        )

    @property
    def believable(self) -> bool:
        """Whether at least four of five announced changes come true."""
        announced = self.n_announced or 0
        return announced >= _LEAST and self.n_true >= _SHARE * announced

    @property
    def is_close(self) -> bool:
        """Whether the sizes of at least four of five single facts are right."""
        return self.n_right_size >= _SHARE * self.n_checks

    def __str__(self) -> str:
        """The figures in words."""
        median = ""
        if self.size_ratio is not None:
            median = f"; the median estimate is {self.size_ratio:.2f} times the actual change"
        announced = count(self.n_announced or 0, "announced change")
        changes = f" After {self.n_true} of {announced}, the named answer was really on top."
        return (
            f"Whereof retrained without {self.n_checks} of the facts that {self.method} lists, one "
            f"at a time: {self.n_right_size} of {self.n_checks} estimates have the right size "
            f"(within a factor of {_CLOSE[1]:g}){median}.{changes if self.n_announced else ''}"
        )


def _weight(claims: Claims) -> tuple[bool, int]:
    """How much claims say: those about top answers more, and more checks more."""
    return claims.n_announced is not None, claims.n_checks


@dataclass(frozen=True)
class Reliability:
    """The reliability of a run's estimates; empty if it was not measured."""

    linearity: Linearity | None = None
    claims: tuple[Claims, ...] = ()
    """At most one record per method."""

    @property
    def is_measured(self) -> bool:
        """Whether anything is known."""
        return self.linearity is not None or bool(self.claims)

    def of(self, method: str) -> Claims | None:
        """The claims of a method."""
        return next((each for each in self.claims if each.method == method), None)

    def without(self, method: str) -> "Reliability":
        """The record without the claims of a method."""
        return replace(self, claims=tuple(each for each in self.claims if each.method != method))

    def updated(self, linearity: Linearity | None, claims: Sequence[Claims]) -> "Reliability":
        """The record with new measurements; one that says less replaces no earlier one."""
        found = {each.method: each for each in self.claims}
        for each in claims:
            before = found.get(each.method, each)
            found[each.method] = max(each, before, key=_weight)
        if linearity is None or (self.linearity and linearity.n_pairs < self.linearity.n_pairs):
            linearity = self.linearity
        return Reliability(linearity, tuple(found.values()))

    def sentences(
        self, run: str | None = None, method: str | None = None, *, can_measure: bool = True
    ) -> list[str]:
        """What is known, in words: checks of a method, or else linearity; without a method, all.

        run: the folder, to say how to measure it; can_measure: whether the run can be retrained.
        """
        claims = [each for each in self.claims if method in (None, each.method)]
        linearity = None if method and claims else self.linearity
        known = [*filter(None, [linearity]), *claims]
        how = f": run `{measure_command(run)}`" if can_measure else ""
        return [*map(str, known)] or [f"The reliability of estimates is not measured{how}."]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def write(self, folder: Path) -> None:
        write_sealed(folder / NAME, self.to_dict(), durable=True)


def measure_command(run: str | None) -> str:
    """The command that measures the reliability of a run's estimates."""
    return f"whereof evaluate {run or 'RUN'} --protocols steadiness"


def read_reliability(folder: Path | None) -> Reliability:
    """The record in a run's folder; an empty one if there is none that can be read."""
    with suppress(WhereofError, msgspec.ValidationError):
        if folder is not None and (folder / NAME).is_file():
            document = read_json(folder / NAME)
            check_seal(folder / NAME, document)
            return msgspec.convert(document, Reliability)
    return Reliability()
