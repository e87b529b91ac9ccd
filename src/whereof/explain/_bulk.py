"""Many predictions explained: threads share them, and a bad one does not end the others."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from whereof.errors import WhereofError
from whereof.explain._explaining import RankedFacts, explain_situation, rank_situation
from whereof.explain._explanation import Explanation
from whereof.explain._methods import METHODS
from whereof.explain._naming import (
    Asked,
    check_asks,
    find_candidates,
    find_facts,
    find_prediction,
    situate,
)
from whereof.explain._options import ExplainOptions, as_list
from whereof.explain._situation import Situation
from whereof.explain._trained import Candidates, Trained
from whereof.types import OBJECT, RELATION, SUBJECT

SPLITS = ("test", "valid", "train")

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Question:
    """A prediction to explain."""

    line: int
    """Where it stands in its file or list, from 1 on."""
    places: tuple[str | None, ...] | Asked
    """Its names, as they are typed, or its ids."""


@dataclass(frozen=True)
class Failed:
    """A prediction that could not be explained."""

    line: int
    """Its number in the file or list, from 1 on."""
    prediction: tuple[str | None, ...]
    """Its names, as far as it has them; None is an open place."""
    message: str
    """What is wrong, and what to do."""


def top_questions(trained: Trained, split: str, asks: str = "object") -> list[Question]:
    """The top new answer of every distinct query of a split, in order of first appearance."""
    check_asks(trained, asks)
    given = OBJECT if asks == "subject" else SUBJECT
    queries = _distinct(trained, split, (given, RELATION))
    return [
        Question(line, Asked(entity, relation, asks, None))
        for line, (entity, relation) in enumerate(queries, 1)
    ]


def true_questions(trained: Trained, split: str, asks: str = "object") -> list[Question]:
    """Every distinct triple of a split, in order of first appearance."""
    check_asks(trained, asks)
    sides = (OBJECT, RELATION, SUBJECT) if asks == "subject" else (SUBJECT, RELATION, OBJECT)
    return [
        Question(line, Asked(given, relation, asks, target))
        for line, (given, relation, target) in enumerate(_distinct(trained, split, sides), 1)
    ]


def _distinct(trained: Trained, split: str, columns: Sequence[int]) -> Iterable[list[int]]:
    if split not in SPLITS:
        raise WhereofError(f"unknown split {split!r}; choose from {', '.join(SPLITS)}")
    facts = getattr(trained.dataset, split)[:, columns]
    if not len(facts):
        raise WhereofError(
            f"split {split} of this run has no facts; choose another, or hold some out in training "
            "with test_fraction"
        )
    first = np.unique(facts, axis=0, return_index=True)[1]
    rows: list[list[int]] = facts[np.sort(first)].tolist()
    return rows


def explain_many(
    trained: Trained,
    questions: Iterable[Question],
    options: ExplainOptions,
    threads: int | None = None,
) -> Iterator[Explanation | Failed]:
    """Explanations in the order of the questions, a few computed ahead; by all cores or so many.

    What no question could be explained with is refused at once.
    """
    _check(trained, options, threads)
    explainer = _Explainer(trained, options, explain_situation)
    return _explain_ahead(explainer, questions, threads or os.cpu_count() or 1)


def rank_many(
    trained: Trained,
    questions: Iterable[Question],
    options: ExplainOptions,
    threads: int | None = None,
) -> Iterator[RankedFacts | Failed]:
    """As `explain_many`, but the ids of the facts alone."""
    _check(trained, options, threads)
    explainer = _Explainer(trained, options, rank_situation)
    return _explain_ahead(explainer, questions, threads or os.cpu_count() or 1)


def _explain_ahead(
    explainer: "_Explainer[_Answer]", questions: Iterable[Question], threads: int
) -> Iterator[_Answer | Failed]:
    pool, ahead = ThreadPoolExecutor(threads), deque[Future[_Answer | Failed]]()
    try:
        for question in questions:
            ahead.append(pool.submit(explainer.explain, question))
            if len(ahead) > 4 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _check(trained: Trained, options: ExplainOptions, threads: int | None) -> None:
    """Find everything that options name, so that it fails once and not for every question."""
    if threads is not None and threads < 1:
        raise WhereofError(f"threads is {threads}; give a number from 1 on")
    data = trained.dataset
    if METHODS[options.method].retrains:
        raise WhereofError(
            f"method {options.method} explains one prediction at a time; choose another for many"
        )
    if METHODS[options.method].rolls_back or options.stability or options.without is not None:
        trained.need_trace()
    if not data.two_way:
        for name in as_list(options.relation):
            data.relations.find(str(name))
    for name in [*as_list(options.entity), *as_list(options.instead_of)]:
        data.entities.find(str(name))
    find_facts(trained, options.without)
    find_candidates(trained, options.asks, 0, options.candidates)


class _Explainer(Generic[_Answer]):
    """Explains one question after another."""

    def __init__(
        self,
        trained: Trained,
        options: ExplainOptions,
        answer: Callable[[Situation, ExplainOptions], _Answer],
    ) -> None:
        self._trained, self._options, self._answer = trained, options, answer
        # Candidates copy their rows: those of a list are found once, those seen by relation.
        self._candidates = lru_cache(maxsize=64)(self._find_candidates)

    def explain(self, question: Question) -> _Answer | Failed:
        try:
            return self._answer(self._situation(question), self._options)
        except WhereofError as error:
            return Failed(question.line, self._names(question), str(error))

    def _situation(self, question: Question) -> Situation:
        asked, options = question.places, self._options
        if not isinstance(asked, Asked):
            asked = find_prediction(self._trained, asked, options)
        relation = asked.relation if options.candidates == "seen" else 0
        return situate(self._trained, asked, self._candidates(asked.asks, relation))

    def _find_candidates(self, asks: str, relation: int) -> Candidates:
        return find_candidates(self._trained, asks, relation, self._options.candidates)

    def _names(self, question: Question) -> tuple[str | None, ...]:
        asked, data = question.places, self._trained.dataset
        if not isinstance(asked, Asked):
            return asked
        given = data.entities.name(asked.given)
        target = None if asked.target is None else data.entities.name(asked.target)
        relation = () if data.two_way else (data.relations.name(asked.relation),)
        subject, object_ = (target, given) if asked.asks == "subject" else (given, target)
        return subject, *relation, object_


def as_questions(predictions: Iterable[Sequence[Any]]) -> Iterator[Question]:
    """Predictions as `explain` takes them, numbered from 1 on."""
    for line, names in enumerate(predictions, 1):
        yield Question(line, tuple(None if name is None else str(name) for name in names))
