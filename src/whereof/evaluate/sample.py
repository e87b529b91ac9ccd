"""The predictions that an evaluation looks at, and what methods say of them."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.explain import (
    Asked,
    ExplainedFact,
    ExplainOptions,
    Explanation,
    Failed,
    Question,
    Situation,
    Trained,
    explain_many,
    rank_many,
)
from whereof.explain._adjacent import filter_facts, find_adjacent
from whereof.explain._explaining import RankedFacts
from whereof.predict import Predictions, Standings
from whereof.retrain import Case
from whereof.types import FactIds, Numbers

Query = tuple[int, int, str]
"""The given entity, the relation, and the place that is asked for."""
_Noted = TypeVar("_Noted", Explanation, RankedFacts)
_Ask = Callable[
    [Trained, Iterable[Question], ExplainOptions, int | None], Iterator[_Noted | Failed]
]
_Asking = tuple[str, int | str]
"""A method, and how many facts of each explanation."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Predictions in one case; every protocol looks at the same ones."""

    case: Case
    situations: tuple[Situation, ...]
    threads: int | None = None
    seed: int = 0
    """Of what methods draw at random; the case's own is added."""
    seconds: dict[str, float] = field(init=False, repr=False, default_factory=dict)
    """Of one explanation by each method, the mean; see `rank`."""
    notes: dict[str, None] = field(init=False, repr=False, default_factory=dict)
    """What explanations remark, each once."""
    _ranked: dict[_Asking, tuple[FactIds, ...]] = field(
        init=False, repr=False, default_factory=dict
    )
    _influences: dict[str, NDArray[np.float64]] = field(
        init=False, repr=False, default_factory=dict
    )
    _adjacent_influences: dict[str, tuple[Numbers, ...]] = field(
        init=False, repr=False, default_factory=dict
    )

    @cached_property
    def predictions(self) -> Predictions:
        return self.case.predictions(self.situations)

    @cached_property
    def stored(self) -> Standings:
        """(n_predictions,) how they stand in the run as it was stored."""
        return self.case.stand(self.predictions)

    @cached_property
    def n_adjacent(self) -> NDArray[np.int64]:
        """(n_predictions,) facts that share an entity or the relation with each."""
        return np.array([len(find_adjacent(each)) for each in self.situations], np.int64)

    @property
    def queries(self) -> Sequence[Query]:
        """Of every prediction, what is given and what is asked."""
        contests = (each.contest for each in self.situations)
        return [(contest.given, contest.relation, contest.asks) for contest in contests]

    def rank(self, method: str, top: int | str) -> Sequence[FactIds]:
        """Of every prediction, the facts that a method ranks first, worked out once.

        `all` are those that support; a number is so many, the strongest first, whether or not all
        of them support, and fewer only where the method has no more. The first call for a method
        says what an explanation takes, in `seconds`: the time of all, by the threads that shared
        the work, as if one had done it alone.
        """
        if (method, top) not in self._ranked:
            found = self._cut(method, top) or self._work_out(method, top)
            self._ranked[method, top] = tuple(found)
        return self._ranked[method, top]

    def _cut(self, method: str, top: int | str) -> Sequence[FactIds]:
        """So many of longer lists, where there are any."""
        for (name, size), longer in self._ranked.items():
            if name == method and isinstance(size, int) and isinstance(top, int) and size > top:
                return [ids[:top] for ids in longer]
        return ()

    def _work_out(self, method: str, top: int | str) -> Sequence[FactIds]:
        numbers = range(len(self.situations))
        if method not in self.seconds:
            list(self._ids(numbers[:1], method, top))  # kernels are loaded
        start = time.perf_counter()
        found = list(self._ids(numbers, method, top))
        on_card = self.case.trained.backing is not None  # which works for one thread at a time
        workers = 1 if on_card else min(self.threads or os.cpu_count() or 1, len(numbers))
        took = (time.perf_counter() - start) * workers / len(numbers)
        self.seconds.setdefault(method, took)
        if isinstance(top, int):
            short = [i for i in numbers if len(found[i]) < min(top, self.n_adjacent[i])]
            for number, ids in zip(short, self._ids(short, method, None), strict=True):
                found[number] = ids[:top]
        return found

    def influences(self, method: str) -> NDArray[np.float64]:
        """(n_predictions, n_facts) by a method, worked out once; 0 where it does not look."""
        if method not in self._influences:
            found = np.zeros((len(self.situations), self.case.trained.dataset.n_facts))
            for row, mine in zip(found, self._rows(method), strict=True):
                row[:] = mine
            self._influences[method] = found
        return self._influences[method]

    def adjacent_influences(self, method: str) -> tuple[Numbers, ...]:
        """The same of every prediction's adjacent facts alone, which are few."""
        if method not in self._adjacent_influences:
            known = self._influences.get(method)
            rows = self._rows(method) if known is None else known
            pairs = zip(self.situations, rows, strict=True)
            near = tuple(row[find_adjacent(situation)] for situation, row in pairs)
            self._adjacent_influences[method] = near
        return self._adjacent_influences[method]

    def _rows(self, method: str) -> Iterator[Numbers]:
        """Of every prediction, (n_facts,)."""
        for facts in self._facts(range(len(self.situations)), method):
            row = np.zeros(self.case.trained.dataset.n_facts)
            row[[fact.fact_id for fact in facts]] = [fact.influence for fact in facts]
            yield row

    def asked(self, number: int) -> Asked:
        """A prediction by ids."""
        situation = self.situations[number]
        contest = situation.contest
        return Asked(contest.given, contest.relation, contest.asks, situation.target)

    def _ids(self, numbers: Sequence[int], method: str, top: int | str | None) -> Iterator[FactIds]:
        for found in self._found(numbers, method, top, rank_many):
            yield np.zeros(0, np.int64) if found is None else found.fact_ids

    def _facts(self, numbers: Sequence[int], method: str) -> Iterator[Sequence[ExplainedFact]]:
        """All of them."""
        for found in self._found(numbers, method, None, explain_many):
            yield () if found is None else found.facts

    def _found(
        self, numbers: Sequence[int], method: str, top: int | str | None, ask: _Ask[_Noted]
    ) -> Iterator[_Noted | None]:
        """Explanations; None of predictions without facts that the method looks at."""
        options = ExplainOptions(method=method, top=top, seed=self.seed + self.case.seed)
        questions = (Question(n + 1, self.asked(n)) for n in numbers)
        answers = ask(self.case.trained, questions, options, self.threads)
        for number, found in zip(numbers, answers, strict=True):
            if isinstance(found, Failed):
                self._check_nothing_there(number, method, found)
                yield None
                continue
            self.notes.update(dict.fromkeys(found.notes))
            yield found

    def _check_nothing_there(self, number: int, method: str, failed: Failed) -> None:
        """A prediction without facts that a method looks at is no error; others are."""
        situation = self.situations[number]
        options = ExplainOptions(method=method)
        if len(filter_facts(situation, find_adjacent(situation), options)):
            named = method in failed.message
            raise WhereofError(failed.message if named else f"{method}: {failed.message}")
