"""Many queries at once: what is known is indexed once, and threads share the queries."""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

from whereof.data import Dataset, KnownAnswers
from whereof.models.scoring import Scorer
from whereof.predict._answers import Answers
from whereof.predict._query import Query
from whereof.predict._ranking import (
    SPLITS,
    Known,
    Ranking,
    mark_known,
    name_answers,
    rank_candidates,
)
from whereof.types import OBJECT, RELATION, SUBJECT

_BLOCK = 8
"""Queries that a thread takes at a time."""


def predict_many(
    scorer: Scorer,
    dataset: Dataset,
    queries: Iterable[Query],
    top: int | None,
    threads: int | None = None,
    *,
    new: bool = False,
) -> Iterator[Answers]:
    """Answers to queries in their order, a few blocks of them computed ahead."""
    index, threads = _Index(dataset), threads or os.cpu_count() or 1

    def rank(block: list[Query]) -> list[Ranking]:
        return [
            rank_candidates(scorer, dataset, query, index.known(query), top, new=new)
            for query in block
        ]

    ahead: deque[tuple[list[Query], Future[list[Ranking]]]] = deque()

    def take() -> Iterator[Answers]:
        block, rankings = ahead.popleft()
        for query, ranking in zip(block, rankings.result(), strict=True):
            yield name_answers(dataset, query, ranking)

    pool, queries = ThreadPoolExecutor(threads), iter(queries)
    try:
        while block := list(islice(queries, _BLOCK)):
            index.add(block)
            ahead.append((block, pool.submit(rank, block)))
            if len(ahead) > 2 * threads:
                yield from take()
        while ahead:
            yield from take()
    finally:
        pool.shutdown(cancel_futures=True)


class _Index:
    """What every split knows, by query; each side is indexed when it is first asked."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._sides: dict[bool, list[KnownAnswers]] = {}

    def add(self, queries: Iterable[Query]) -> None:
        """Index what queries ask, before threads read it."""
        for asks_subject in {query.asks_subject for query in queries} - self._sides.keys():
            self._sides[asks_subject] = self._side(asks_subject)

    def known(self, query: Query) -> Known:
        splits = self._sides[query.asks_subject]
        answers = [split.objects(query.given, query.relation) for split in splits]
        return mark_known(query.candidates(self._dataset), answers)

    def _side(self, asks_subject: bool) -> list[KnownAnswers]:
        data = self._dataset
        columns = (OBJECT, RELATION, SUBJECT) if asks_subject else (SUBJECT, RELATION, OBJECT)
        splits = (getattr(data, split)[:, columns] for split in SPLITS)
        return [KnownAnswers.of(split, n_relations=data.n_relations) for split in splits]
