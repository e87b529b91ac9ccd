"""Ranked answers to one query or to many."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.predict.prediction import Prediction, find_prediction
from whereof.predict.scored import SPLITS, ScoredPrediction, Trained
from whereof.types import Numbers

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Answer:
    """One answer to a query.

    `rank` skips answers known from training and validation, except this one.
    """

    entity: str
    label: str
    probability: float | None
    """None for a rating model: its score is the rating."""
    score: float
    rank: int
    known: str | None
    """The split that contains it as a fact: train, valid or test."""


@dataclass(frozen=True)
class Answers:
    """The answers to a query, most probable first."""

    query: dict[str, str | None]
    """Names of subject, relation and object."""
    labels: dict[str, str | None]
    """Labels of subject, relation and object; the name if there is no label."""
    asks: str
    """The place of the answers: subject or object."""
    answers: tuple[Answer, ...]

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"answers": [dict(vars(answer)) for answer in self.answers]}

    def __str__(self) -> str:
        """One line per answer: its probability, or the rating, and its label."""
        values = (a.score if a.probability is None else a.probability for a in self.answers)
        pairs = zip(values, self.answers, strict=True)
        return "\n".join(f"{value:.4f}  {answer.label}" for value, answer in pairs)


@dataclass(frozen=True)
class Failed:
    """A prediction that has no result."""

    line: int
    """Its number in the file or list, counted from 1."""
    prediction: tuple[str | None, ...]
    """Its names as far as given; None is an open place."""
    message: str
    """What is wrong, and what to do."""


def check_top(top: int | None) -> None:
    """Raise an error if the number of answers is not valid."""
    if top is not None and (isinstance(top, bool) or not isinstance(top, Integral) or top < 1):
        raise WhereofError(f"top is {top!r}; give a number from 1 on, or None for all")


def predict(
    trained: Trained, prediction: Prediction, top: int | None, *, new: bool = False
) -> Answers:
    """The `top` most probable candidates, or all; with `new`, only unknown ones.

    A prediction with an answer gives that one answer.
    """
    scored = trained.score(prediction)
    places = _best(scored, top, new=new)
    ranks = _ranks(scored.scores[places], scored.new[places])
    if prediction.target is not None:
        mine = places == scored.place
        places, ranks = places[mine], ranks[mine]
    ids, entities = scored.candidates.ids[places], trained.dataset.entities
    columns = (
        map(entities.name, ids),
        map(entities.label, ids),
        map(scored.shown, scored.probabilities[places].tolist()),
        scored.scores[places].tolist(),
        ranks.tolist(),
        (None if split < 0 else SPLITS[split] for split in scored.splits[places].tolist()),
    )
    return Answers(
        prediction.spell(trained.dataset),
        prediction.spell(trained.dataset, Vocabulary.label),
        prediction.asks,
        tuple(map(Answer, *columns)),
    )


def predict_many(
    trained: Trained,
    queries: Iterable[Any],
    top: int | None,
    threads: int | None = None,
    *,
    new: bool = False,
) -> Iterator[Answers | Failed]:
    """Answers in order, some computed in advance; an invalid query gives `Failed`."""
    data, inverse = trained.dataset, trained.config.inverse

    def answer(line: int, names: Any) -> Answers | Failed:
        try:
            asked = find_prediction(data, names, inverse=inverse, query=True)
            return predict(trained, asked, top, new=new)
        except WhereofError as error:
            given = [names] if isinstance(names, str) else names
            spelled = tuple(None if name is None else str(name) for name in given)
            return Failed(line, spelled, str(error))

    return in_order(answer, queries, threads or os.cpu_count() or 1)


def in_order(
    answer: Callable[[int, _Asked], _Answer], asked: Iterable[_Asked], threads: int
) -> Iterator[_Answer]:
    """Results in the order of the questions, numbered from 1; threads work ahead a little."""
    pool, ahead = ThreadPoolExecutor(threads), deque[Future[_Answer]]()
    try:
        for line, each in enumerate(asked, 1):
            ahead.append(pool.submit(answer, line, each))
            if len(ahead) > 4 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _best(scored: ScoredPrediction, top: int | None, *, new: bool) -> NDArray[np.int64]:
    """Positions of the best candidates, best first; ties by id.

    A requested answer is included, and every better one.
    """
    scores, target = scored.scores, scored.prediction.target
    among = np.flatnonzero(scored.new) if new else np.arange(len(scores))
    if target is not None:
        lowest, top = scores[scored.place], None
    elif top is None or top >= len(among):
        lowest = -np.inf
    else:
        lowest = np.partition(scores[among], -top)[-top]
    best: NDArray[np.int64] = among[scores[among] >= lowest]
    return np.asarray(best[np.argsort(-scores[best], kind="stable")][:top])


def _ranks(scores: Numbers, new: NDArray[np.bool_]) -> NDArray[np.int64]:
    """1 + the number of new candidates that score higher; scores descend."""
    n_new = np.append(0, np.cumsum(new))  # among the first 0, 1, 2, ...
    n_higher = np.searchsorted(-scores, -scores, side="left")
    return 1 + n_new[n_higher]
