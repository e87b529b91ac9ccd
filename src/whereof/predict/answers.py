"""Ranked answers to one query or to many."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.graph import graph_of
from whereof.predict.prediction import Listed, Prediction, list_predictions
from whereof.predict.scored import ScoredPrediction, Trained
from whereof.table import Tabular, arrow_schema, arrow_table

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Answer:
    """One answer to a query."""

    entity: str
    label: str
    probability: float | None
    """None for a rating model: its score is the rating."""
    score: float
    rank: int
    """Skips answers known from training and validation, except this one."""
    known: str | None
    """The split that contains it as a fact: train, valid or test; or history, of a new user."""

    @property
    def is_new(self) -> bool:
        """Whether it is known neither from training or a history, nor from validation."""
        return self.known in (None, "test")


@dataclass(frozen=True)
class Answers(Tabular):
    """The answers to a query, most probable first."""

    query: dict[str, str | None]
    """Names of subject, relation and object."""
    labels: dict[str, str | None]
    """Labels of subject, relation and object; the name if there is no label."""
    asks: str
    """The place of the answers: subject or object."""
    answers: tuple[Answer, ...]
    n_new: int = 0
    """Number of candidates that are not known from training or validation."""

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"answers": [dict(vars(answer)) for answer in self.answers]}

    def to_arrow(self) -> Any:
        """An Arrow table with one row per answer, most probable first."""
        return arrow_table(arrow_schema(ANSWER_COLUMNS), answer_rows(self.to_dict()))

    def to_networkx(self) -> Any:
        """A NetworkX graph with an edge per answer, from its subject to its object."""
        named = ("probability", "score", "rank", "known")
        return graph_of(
            {
                **self.query,
                self.asks: answer.entity,
                "labels": {**self.labels, self.asks: answer.label},
                "key": "answer",
                **{name: getattr(answer, name) for name in named},
            }
            for answer in self.answers
        )

    def __str__(self) -> str:
        """One line per answer: its probability, or the rating, and its label."""
        values = ((a.score if a.probability is None else a.probability, a) for a in self.answers)
        return "\n".join(f"{value:.4f}  {answer.label}" for value, answer in values)


ANSWER_COLUMNS = dict.fromkeys(("subject", "relation", "object", "asks"), str)
ANSWER_COLUMNS |= get_type_hints(Answer)
"""Columns of tables with one row per answer, and their types."""


def answer_rows(document: Mapping[str, Any]) -> Iterator[list[Any]]:
    """The values of answers for ANSWER_COLUMNS."""
    for answer in document["answers"]:
        yield [*document["query"].values(), document["asks"], *answer.values()]


@dataclass(frozen=True)
class Failed:
    """A prediction that has no result."""

    line: int
    """Its number in the file or list, counted from 1."""
    prediction: tuple[str | None, ...]
    """Its names as far as given; None is an open place."""
    message: str
    """What is wrong, and what to do."""


def _check_top(top: int | None) -> None:
    if top is not None and (isinstance(top, bool) or not isinstance(top, Integral) or top < 1):
        raise WhereofError(f"top is {top!r}; give a number from 1 on, or None for all")


def predict(
    trained: Trained,
    prediction: Prediction,
    top: int | None,
    *,
    new: bool = False,
    known: str | None = None,
) -> Answers:
    """The `top` most probable candidates, or all; with `new`, only unknown ones.

    known: only those that this split contains. A prediction with an answer gives that one answer.
    """
    _check_top(top)
    if known not in (None, *trained.known_from):
        raise WhereofError(f"known is {known!r}; choose from {', '.join(trained.known_from)}")
    scored, data = trained.score(prediction), trained.dataset
    places = _best(scored, top, new=new, known=known)
    scores, ids = scored.scores[places], scored.candidates.ids[places]
    # Ranks count the new candidates that score higher.
    better = np.sort(scored.scores[scored.new & (scored.scores > scores.min(initial=np.inf))])
    ranks = 1 + len(better) - np.searchsorted(better, scores, "right")
    columns = (
        map(data.entities.name, ids),
        map(data.entities.label, ids),
        (None if trained.config.rated else p for p in scored.probabilities[places].tolist()),
        scores.tolist(),
        ranks.tolist(),
        (
            None if split < 0 else trained.known_from[split]
            for split in scored.splits[places].tolist()
        ),
    )
    return Answers(
        prediction.spell(data),
        prediction.spell(data, Vocabulary.label),
        prediction.asks,
        tuple(map(Answer, *columns)),
        int(scored.new.sum()),
    )


def _best(
    scored: ScoredPrediction, top: int | None, *, new: bool, known: str | None
) -> NDArray[np.int64]:
    """Positions of the best candidates, or of the answer that is asked for; ties by id."""
    scores = scored.scores
    if scored.prediction.target is not None:
        among = np.array([scored.place])
        return among[scored.new[among]] if new else among
    among = np.flatnonzero(scored.new) if new else np.arange(len(scores))
    if known is not None:
        among = among[scored.splits[among] == scored.trained.known_from.index(known)]
    if top is not None and top < len(among):
        among = among[scores[among] >= np.partition(scores[among], -top)[-top]]
    return among[np.argsort(-scores[among], kind="stable")][:top]


def predict_many(
    trained: Trained,
    queries: Iterable[Sequence[Any]],
    top: int | None,
    threads: int | None = None,
    *,
    new: bool = False,
) -> Iterator[Answers | Failed]:
    """Answers in order, some computed in advance; an invalid query gives `Failed`."""
    _check_top(top)

    def answer(listed: Listed) -> Answers | Failed:
        try:
            return predict(trained, listed.find(trained, query=True), top, new=new)
        except WhereofError as error:
            return Failed(listed.line, listed.names(trained.dataset), str(error))

    return in_order(answer, list_predictions(queries), threads)


def in_order(
    answer: Callable[[_Asked], _Answer], asked: Iterable[_Asked], threads: int | None
) -> Iterator[_Answer]:
    """Results in the order of the questions; threads work ahead a little."""
    threads = threads or os.cpu_count() or 1
    pool, ahead = ThreadPoolExecutor(threads), deque[Future[_Answer]]()
    try:
        for each in asked:
            ahead.append(pool.submit(answer, each))
            if len(ahead) > 4 * threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
