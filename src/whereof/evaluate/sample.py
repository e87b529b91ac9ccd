"""The predictions that an evaluation looks at, and what methods say about them."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.evaluate.evaluation import Retraining
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import SampleSize
from whereof.explain import (
    METHODS,
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
    situate,
)
from whereof.explain._adjacent import filter_facts, find_adjacent
from whereof.explain._explaining import RankedFacts
from whereof.explain._naming import find_prediction
from whereof.explain._rollback import Rollback
from whereof.explain._sets import Sets
from whereof.files import find_questions
from whereof.predict import Predictions, Standings
from whereof.retrain import Case, Job, Outcomes
from whereof.types import FactIds, Numbers
from whereof.units import show

Size = int | str
"""The number of facts that are removed, or `all` that support."""

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

    def __len__(self) -> int:
        return len(self.situations)

    @property
    def n_facts(self) -> int:
        """Training facts."""
        return self.case.trained.dataset.n_facts

    @cached_property
    def size(self) -> SampleSize:
        removed = np.zeros(self.n_facts, bool)
        for number in range(len(self)):
            removed[self.adjacent(number)] = True
        return SampleSize(len(self), self.n_facts, int(removed.sum()))

    def adjacent(self, number: int) -> FactIds:
        """The facts that share an entity or the relation with a prediction, ascending."""
        return find_adjacent(self.situations[number])

    def name(self, number: int) -> tuple[str, str | None, str, str]:
        """Subject, relation, object, and which is asked for; two-way data have no relation."""
        situation, data = self.situations[number], self.case.trained.dataset
        name = data.entities.name
        relation = None if data.two_way else data.relations.name(situation.relation)
        return name(situation.subject), relation, name(situation.object), situation.contest.asks

    def ask(self, jobs: Sequence[Job]) -> Outcomes:
        """The predictions after retrainings, and in the control."""
        return self.case.retrainer.ask(self.predictions, jobs)

    def outputs(self, standings: Standings) -> Numbers:
        """What influence is measured on: probabilities or, for models of ratings, ratings."""
        return np.asarray(standings[self._unit], np.float64)

    @property
    def _unit(self) -> str:
        return "score" if self.case.trained.learned_ratings else "probability"

    def rolled_back(self, number: int, sets: Sequence[FactIds]) -> Numbers:
        """(n_sets,) the output of one prediction with each set of facts rolled back together."""
        # Scored again: a sample that kept the scores of every answer would fill the memory.
        candidates = self.situations[number].contest.candidates
        situation = situate(self.case.trained, self.asked(number), candidates)
        bounds = np.cumsum([0, *map(len, sets)])
        fact_ids = np.concatenate([np.zeros(0, np.int64), *sets])
        after = Rollback(situation, self._unit).outcomes(Sets(fact_ids, bounds))
        return after.scores if self.case.trained.learned_ratings else after.probabilities

    def predicted(self, method: str, sets: Sequence[FactIds]) -> Sequence[float | None]:
        """Per prediction, the output with its facts rolled back; None if a method does not."""
        if not METHODS[method].rolls_back:
            return [None] * len(sets)
        return [float(self.rolled_back(number, [ids])[0]) for number, ids in enumerate(sets)]

    def record(
        self,
        protocol: str,
        number: int,
        removed: FactIds,
        before: Standings,
        after: Standings,
        *,
        method: str,
        k: str,
        predicted: float | None = None,
    ) -> Retraining:
        """One prediction after one retraining; `before` and `after` are one record each."""
        trained, name = self.case.trained, self.case.trained.dataset.entities.name
        rated = trained.learned_ratings
        return Retraining(
            *(protocol, method, k, self.case.seed, trained.config.constraint),
            *self.name(number),
            removed=tuple(np.asarray(removed, np.int64).tolist()),
            original=None if rated else float(before["probability"]),
            predicted=None if rated else predicted,
            actual=None if rated else float(after["probability"]),
            original_score=float(before["score"]),
            actual_score=float(after["score"]),
            rank_before=int(before["rank"]),
            rank_after=int(after["rank"]),
            top_before=name(int(before["top"])),
            top_after=name(int(after["top"])),
            top_released=name(int(after["top_released"])),
        )

    def choose(self, method: str, ks: Sequence[Size]) -> dict[Size, Sequence[FactIds]]:
        """Per size, the facts of every prediction that a method would remove."""
        numbers = [k for k in ks if isinstance(k, int)]
        first = self.rank(method, max(numbers)) if numbers else ()
        return {
            k: [ids[:k] for ids in first] if isinstance(k, int) else self._supporting(method)
            for k in ks
        }

    def _supporting(self, method: str) -> Sequence[FactIds]:
        """All facts that support; for random facts, as many as support by rollback."""
        if not draws_at_random(method):
            return self.rank(method, "all")
        if self.case.trained.trace is None:
            raise WhereofError(
                f"{method} at k all removes as many facts as {_GIVES_SIZES} would, and this run "
                "has no trace; leave all out of k, or train it without --no-trace"
            )
        sizes = [len(ids) for ids in self.rank(_GIVES_SIZES, "all")]
        drawn = self.rank(method, max(1, *sizes))
        return [ids[:size] for ids, size in zip(drawn, sizes, strict=True)]

    def rank(self, method: str, top: int | str) -> Sequence[FactIds]:
        """Per prediction, the facts that a method ranks first; computed once.

        `all` are the facts that support. A number takes that many facts, strongest first, whether
        they support or not, and fewer only where the method has no more. The first call for a
        method measures `seconds`: the time for one explanation on one thread.
        """
        if (method, top) not in self._ranked:
            found = self._cut(method, top) or self._work_out(method, top)
            self._ranked[method, top] = tuple(found)
        return self._ranked[method, top]

    def _cut(self, method: str, top: int | str) -> Sequence[FactIds]:
        """The start of longer lists, where there are any."""
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


def pick(case: Case, options: EvaluateOptions, threads: int | None = None) -> Sample:
    """The predictions that options ask for: objects of a split's queries, or lines of a file.

    Each distinct triple comes once. With a limit, that number is drawn by the options' seed, the
    same queries in every case, and kept in the order of appearance.
    """
    trained, wanted = case.trained, options.predictions
    questions = find_questions(trained, wanted, options.split, None, "object")
    found: dict[tuple[int, int, int, str], tuple[int, Situation]] = {}
    others = list[int]()
    for number in _order(len(questions), options):
        situation = _situation(trained, questions[number], wanted)
        if situation is None:
            continue
        if (n_adjacent := _unasked(situation, options)) is not None:
            others.append(n_adjacent)
            continue
        found.setdefault(_key(situation), (number, situation))
        if len(found) == options.limit:
            break
    if not found:
        raise _nothing(options, others)
    in_order = sorted(found.values(), key=lambda each: each[0])
    situations = tuple(situation for _, situation in in_order)
    return Sample(case, situations, threads, options.seed)


def _order(n_questions: int, options: EvaluateOptions) -> Sequence[int] | Iterator[int]:
    """In order or, with a limit, at random."""
    if options.limit is None:
        return range(n_questions)
    return map(int, np.random.default_rng(options.seed).permutation(n_questions))


def _situation(trained: Trained, question: Question, wanted: str) -> Situation | None:
    """A question's prediction; None for a query of a split that has no new answer."""
    asked, from_file = question.places, not isinstance(question.places, Asked)
    try:
        if not isinstance(asked, Asked):
            asked = find_prediction(trained, asked, ExplainOptions())
        situation = situate(trained, asked, trained.all_candidates(asked.asks))
    except WhereofError as error:
        if from_file:
            raise WhereofError(f"{Path(wanted)}:{question.line}: {error}") from None
        return None
    # Scores that found the answer are not kept: a sample may be large.
    whole = Asked(asked.given, asked.relation, asked.asks, situation.target)
    return situate(trained, whole, situation.contest.candidates)


def _unasked(situation: Situation, options: EvaluateOptions) -> int | None:
    """The number of adjacent facts, where it is outside the asked range; otherwise None."""
    least, most = options.least_adjacent, options.most_adjacent
    if least is None and most is None:
        return None
    n_adjacent = len(find_adjacent(situation))
    is_asked = (least or 0) <= n_adjacent and (most is None or n_adjacent <= most)
    return None if is_asked else n_adjacent


def _nothing(options: EvaluateOptions, others: Sequence[int]) -> WhereofError:
    """others: numbers of adjacent facts of predictions outside the asked range."""
    least, most = options.least_adjacent, options.most_adjacent
    if others:
        asked = f"{least} or more" if most is None else f"{least or 0} to {most}"
        return WhereofError(
            f"no prediction has {asked} adjacent facts; they have {min(others)} to {max(others)}"
        )
    return WhereofError(
        "no query has an answer that is not known from training or validation; "
        "evaluate true predictions, or those of a file"
    )


def _key(situation: Situation) -> tuple[int, int, int, str]:
    return (situation.subject, situation.relation, situation.object, situation.contest.asks)


_GIVES_SIZES = "rollback"
"""Random facts at k all are as many as this method's."""


def draws_at_random(method: str) -> bool:
    """Whether a method draws facts at random, and so is what others are compared with."""
    return method == "random"


def size_text(k: Size) -> str:
    """A size as a label of rows and bars."""
    return f"k = {k}"


def facts_text(method: str, k: Size, removed_mean: float | None = None) -> str:
    """Which facts are removed, in words."""
    mean = "" if removed_mean is None else f" ({show(removed_mean, 'mean')} on average)"
    if draws_at_random(method):
        if k == "all":
            return f"as many random adjacent facts{mean}"
        return "one random adjacent fact" if k == 1 else f"{k} random adjacent facts"
    if k == "all":
        return f"all facts that support by {method}{mean}"
    return f"the {'fact' if k == 1 else f'{k} facts'} that {method} ranks first"
