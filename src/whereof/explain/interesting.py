"""Predictions that are worth a look: wrong, unstable or new ones, and those of the test set."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from whereof.data.dataset import SPLITS
from whereof.errors import WhereofError
from whereof.explain.explain import explain_many, find_adjacent, name_prediction
from whereof.explain.explanation import ExplainedFact, Explanation, NamedPrediction
from whereof.explain.options import ExplainOptions
from whereof.predict.answers import in_order
from whereof.predict.prediction import Listed, Prediction, find_predictions
from whereof.predict.scored import ScoredPrediction, Trained
from whereof.records import as_plain
from whereof.registry import unknown

_EXAMINED, _EXPLAINED, _ADJACENT = 500, 200, 200_000
"""Number of held-out facts, from the first on, to predict; and number of questions to explain, as
long as they have no more than this number of adjacent facts in all: a second or two."""
_SURE = 0.75
"""A model is sure of an answer that is more probable than this share of all its top answers: how
probable top answers are differs from run to run."""


@dataclass(frozen=True, kw_only=True)
class InterestingPrediction(NamedPrediction):
    """A prediction that is worth a look, and why."""

    reason: str
    """The kind that it was found under."""
    true_answer: str
    """The answer of the held-out fact that asked the question; its label is in `labels`."""
    true_rank: int
    true_rating: float | None = None
    """The rating of the held-out fact, in data with ratings."""
    fact: ExplainedFact | None = None
    """Of an unstable prediction, the strongest fact, with the estimated top answer without it."""

    def to_dict(self) -> dict[str, Any]:
        return dict(as_plain(self))


@dataclass(frozen=True)
class _Examined:
    """A held-out fact, and the top new answer to its question."""

    true: InterestingPrediction
    top: InterestingPrediction | None
    """None if every answer is known."""
    asked: Prediction
    """The top new answer by ids."""
    is_wrong: bool
    """Whether the top new answer is above the fact, and no split contains it."""


class Shortlist:
    """Finds interesting predictions among the first held-out facts of a run, each kind once."""

    def __init__(self, trained: Trained) -> None:
        self.trained, self.data = trained, trained.dataset
        self._split = next(name for name in reversed(SPLITS) if len(getattr(self.data, name)))
        self._found = dict[str, list[InterestingPrediction]]()
        self._lock = Lock()

    def find(self, kind: str, limit: int) -> list[InterestingPrediction]:
        """The first predictions of a kind."""
        if kind not in KINDS:
            raise unknown("kind", kind, KINDS)
        if limit < 1:
            raise WhereofError(f"limit is {limit}; give a number from 1 on")
        with self._lock:  # of several threads, one computes
            if kind not in self._found:
                self._found[kind] = [replace(each, reason=kind) for each in KINDS[kind](self)]
        return self._found[kind][:limit]

    def held_out(self) -> Iterable[InterestingPrediction]:
        """The held-out facts, in order."""
        return (each.true for each in self._examined)

    def top_new(self) -> Iterable[InterestingPrediction]:
        """The top new answers, the most probable first."""
        return _highest(each.top for each in self._questions)

    def confident_and_wrong(self) -> Iterable[InterestingPrediction]:
        """Wrong answers of which the model is sure; for a rating model, the largest errors."""
        if self.trained.config.rated:
            return sorted(self.held_out(), key=_rating_error, reverse=True)
        every = [each.top.value for each in self._questions if each.top is not None]
        sure = float(np.quantile(every, _SURE)) if every else 0.0
        wrong = _highest(each.top for each in self._questions if each.is_wrong)
        return [each for each in wrong if each.value >= sure]

    def unstable(self) -> Iterable[InterestingPrediction]:
        """The answers that are estimated to change without their strongest fact, by its size."""
        questions, options = [*self._explained()], ExplainOptions(top=1)
        listed = [Listed(line, each.asked) for line, each in enumerate(questions, 1)]
        found = list[InterestingPrediction]()
        for each, why in zip(questions, explain_many(self.trained, listed, options), strict=True):
            facts = why.facts if isinstance(why, Explanation) else ()
            if each.top is not None and facts and facts[0].top_answer_changes:
                found.append(replace(each.top, fact=facts[0]))
        return sorted(found, key=lambda each: -each.fact.influence if each.fact else 0.0)

    def _explained(self) -> Iterator[_Examined]:
        """The first questions, as many as can be explained quickly."""
        n_adjacent = 0
        for each in self._questions[:_EXPLAINED]:
            n_adjacent += len(find_adjacent(self.trained, each.asked))
            if n_adjacent > _ADJACENT:
                return
            yield each

    @cached_property
    def _examined(self) -> list[_Examined]:
        """The first held-out facts, with the answers of the model."""
        listed = find_predictions(self.trained, "true", self._split, _EXAMINED, "object")
        return [*in_order(self._examine, (each.find(self.trained) for each in listed), None)]

    @cached_property
    def _questions(self) -> list[_Examined]:
        """The first fact of every question that has a new answer."""
        first = {each.asked.answered(None): each for each in reversed(self._examined)}
        return [each for each in reversed(first.values()) if each.top is not None]

    def _examine(self, fact: Prediction) -> _Examined:
        scored = self.trained.score(fact)
        true, top = self._describe(scored, scored), None
        is_wrong = False
        if scored.new.any():
            best = scored.best_new()
            top = self._describe(best, scored)
            is_wrong = scored.top == best.target != fact.target and top.known is None
            fact = best.prediction
        return _Examined(true, top, fact, is_wrong)

    def _describe(self, scored: ScoredPrediction, true: ScoredPrediction) -> InterestingPrediction:
        """A prediction with names, beside the held-out fact with the same question."""
        named = vars(name_prediction(scored))
        label = self.data.entities.label(true.target)
        return InterestingPrediction(
            **named | {"labels": named["labels"] | {"true_answer": label}},
            reason="",
            true_answer=self.data.entities.name(true.target),
            true_rank=true.standing.rank,
            true_rating=self._ratings.get(true.prediction),
        )

    @cached_property
    def _ratings(self) -> dict[Prediction, float]:
        """The ratings of the held-out facts."""
        if self.data.ratings is None:
            return {}
        facts, ratings = (getattr(of, self._split) for of in (self.data, self.data.ratings))
        listed = zip(facts.tolist(), ratings.tolist(), strict=True)
        return {Prediction(*fact): rating for fact, rating in listed}


KINDS: dict[str, Callable[[Shortlist], Iterable[InterestingPrediction]]] = {
    "confident-and-wrong": Shortlist.confident_and_wrong,
    "unstable": Shortlist.unstable,
    "top-new": Shortlist.top_new,
    "test": Shortlist.held_out,
}
"""What makes a prediction interesting, by name."""


def _highest(found: Iterable[InterestingPrediction | None]) -> list[InterestingPrediction]:
    """The predictions by probability or rating, highest first."""
    return sorted(filter(None, found), key=lambda each: -each.value)


def _rating_error(found: InterestingPrediction) -> float:
    return 0.0 if found.true_rating is None else abs(found.value - found.true_rating)
