"""Explain predictions: rank their facts and name them."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from whereof.errors import WhereofError
from whereof.events import Events
from whereof.explain.adjacent import filter_facts, find_adjacent, find_facts
from whereof.explain.explanation import Contrast, Describer, ExplainedFact, Explanation, Joint
from whereof.explain.graph import find_graph
from whereof.explain.method import Aim, Context, Ranked, get_method, prepare
from whereof.explain.options import ExplainOptions, as_list
from whereof.explain.rollback import Rollback, Sets
from whereof.predict.answers import Failed, in_order
from whereof.predict.prediction import Listed, Prediction, find_prediction
from whereof.predict.scored import Arrays, Candidates, ScoredPrediction, Trained
from whereof.predict.standing import name_standings
from whereof.types import OBJECT, SUBJECT, FactIds, Numbers

_STEPS = (1, 3, 10)
"""Numbers of supporting facts that are removed for the stability of a prediction."""
_FILTERS = ("role", "relation", "entity", "without")

_Answer = TypeVar("_Answer")


def explain(
    trained: Trained,
    names: Sequence[Any],
    options: ExplainOptions,
    retrainer: Any = None,
    events: Events | None = None,
) -> Explanation:
    """Explain the prediction with these names; a method that retrains needs a retrainer."""
    start = time.perf_counter()
    scored = find_scored(trained, names, options)
    prepared = prepare(get_method(options.method), trained, [scored.prediction], events)
    return explain_scored(scored, options, retrainer, start, prepared)


def find_scored(
    trained: Trained, names: Sequence[Any], options: ExplainOptions
) -> ScoredPrediction:
    """The scored prediction with these names; an open place gets its top new answer."""
    found = find_prediction(
        trained.dataset, names, inverse=trained.config.inverse, asks=options.asks
    )
    candidates = find_candidates(trained, found.asks, found.relation, options.candidates)
    return score_answer(trained, found, candidates)


def score_answer(
    trained: Trained, prediction: Prediction, candidates: Candidates | None = None
) -> ScoredPrediction:
    """A prediction scored among candidates; an open one gets its top answer."""
    scored = trained.score(prediction, candidates)
    return scored.top_answered() if prediction.target is None else scored


def explain_scored(
    scored: ScoredPrediction,
    options: ExplainOptions,
    retrainer: Any = None,
    start: float | None = None,
    prepared: Arrays | None = None,
) -> Explanation:
    """Explain a scored prediction; `start` is when the work on it began."""
    start = time.perf_counter() if start is None else start
    return _Explaining(scored, options, retrainer, prepared).explanation(start)


class RankedFacts(NamedTuple):
    """An explanation that contains only fact ids."""

    fact_ids: FactIds
    influences: Numbers
    notes: tuple[str, ...]


def rank_scored(
    scored: ScoredPrediction, options: ExplainOptions, prepared: Arrays | None = None
) -> RankedFacts:
    """Rank the facts of an explanation without naming them, which takes longer than ranking."""
    return _Explaining(scored, options, prepared=prepared).ranking()


def describe_facts(
    scored: ScoredPrediction, options: ExplainOptions, fact_ids: FactIds, retrainer: Any = None
) -> tuple[ExplainedFact, ...]:
    """Records of these facts, even if they share nothing with the prediction."""
    return _Explaining(scored, options, retrainer).describe(np.sort(fact_ids))


class _Explaining:
    """Builds one explanation."""

    def __init__(
        self,
        scored: ScoredPrediction,
        options: ExplainOptions,
        retrainer: Any = None,
        prepared: Arrays | None = None,
    ) -> None:
        self.scored, self.options, self.method = scored, options, get_method(options.method)
        self.trained = scored.trained
        self.method.check(scored.trained)
        aim = find_aim(scored, options)
        self.of, self.rival = aim.of, aim.rival
        if prepared is None:
            prepared = prepare(self.method, scored.trained, [scored.prediction])
        self.context = Context(aim, options.seed, options.exhaustive, prepared, retrainer)
        self.rollback = Rollback(scored, aim.of, aim.rival_place(scored))
        self.describer = Describer(scored, self.rival)

    def explanation(self, start: float) -> Explanation:
        options, adjacent = self.options, self._adjacent()
        group = find_facts(self.trained, options.without)
        wanted = group if len(group) else self._filtered(adjacent)
        top = None if len(group) else options.top
        ranked = self._rank(wanted, top, opposing=options.opposing)
        if any(getattr(options, name) is not None for name in _FILTERS):
            ranked = replace(ranked, totals=None)  # others support the prediction too
        return Explanation(
            prediction=self.describer.prediction(),
            method=options.method,
            of=self.of,
            n_adjacent=len(adjacent),
            facts=self.describer.facts(wanted[ranked.chosen], ranked),
            contrast=self._contrast(),
            without=self._roll_back(group) if len(group) else None,
            stability=self._stability(adjacent) if options.stability else None,
            graph=find_graph(self.rollback, self.describer) if options.graph else None,
            notes=(*self._notes(), *ranked.notes),
            seconds=time.perf_counter() - start,
        )

    def ranking(self) -> RankedFacts:
        wanted = self._filtered(self._adjacent())
        ranked = self._rank(wanted, self.options.top, opposing=self.options.opposing)
        notes = (*self._notes(), *ranked.notes)
        return RankedFacts(wanted[ranked.chosen], ranked.influences, notes)

    def describe(self, fact_ids: FactIds) -> tuple[ExplainedFact, ...]:
        ranked = self._rank(fact_ids, None)
        return self.describer.facts(fact_ids[ranked.chosen], replace(ranked, totals=None))

    def _adjacent(self) -> FactIds:
        adjacent = find_adjacent(self.trained, self.scored.prediction, self.rival)
        if not len(adjacent):
            raise WhereofError("no training fact shares an entity or the relation with it")
        return adjacent

    def _filtered(self, adjacent: FactIds) -> FactIds:
        wanted = filter_facts(
            self.trained, self.scored.prediction, adjacent, self.options, self.rival
        )
        if not len(wanted):
            raise WhereofError(
                f"none of the {len(adjacent)} adjacent facts passes the filters; "
                "choose another role, relation or entity"
            )
        return wanted

    def _rank(self, fact_ids: FactIds, top: int | str | None, *, opposing: bool = False) -> Ranked:
        return self.method.rank(self.scored, fact_ids, self.context, top, opposing=opposing)

    def _stability(self, adjacent: FactIds) -> tuple[Joint, ...]:
        """The prediction without its strongest supporting facts."""
        fact_ids = self._filtered(adjacent)
        best = fact_ids[self._rank(fact_ids, max(_STEPS)).chosen]
        sizes = [size for size in _STEPS if size <= len(best)]
        return tuple(self._roll_back(best[:size]) for size in sizes)

    def _roll_back(self, fact_ids: FactIds) -> Joint:
        """The prediction without these facts together."""
        after = self.rollback.outcomes(Sets(fact_ids, np.array([0, len(fact_ids)])))
        (stands,) = name_standings(self.trained, after.standings)
        before = self.scored.candidates.ids[self.scored.top]
        return Joint(
            **vars(stands),
            fact_ids=tuple(map(int, fact_ids)),
            influence=float(after.influences[0]),
            sum_of_single=float(self.rollback.outcomes(Sets.each(fact_ids)).influences.sum()),
            top_answer_changes=bool(after.standings["top"][0] != before),
        )

    def _contrast(self) -> Contrast | None:
        if self.rival is None:
            return None
        entities = self.trained.dataset.entities
        stands = self.scored.answered(self.rival).standing
        return Contrast(
            **vars(stands),
            answer=entities.name(self.rival),
            label=entities.label(self.rival),
            log_ratio=self.scored.standing.score - stands.score,
        )

    def _notes(self) -> tuple[str, ...]:
        notes = list(self.method.notes(self.trained))
        asked = [name for name in ("without", "stability") if getattr(self.options, name)]
        if asked and "groups" not in self.method.can:
            notes.append(f"{' and '.join(asked)}: computed by rollback")
        return tuple(notes)


def explain_many(
    trained: Trained,
    predictions: Iterable[Listed],
    options: ExplainOptions,
    threads: int | None = None,
) -> Iterator[Explanation | Failed]:
    """Explain predictions in order; an error in one does not stop the others.

    Options that fit no prediction are refused immediately.
    """
    return _explain_each(explain_scored, trained, predictions, options, threads)


def rank_many(
    trained: Trained,
    predictions: Iterable[Listed],
    options: ExplainOptions,
    threads: int | None = None,
) -> Iterator[RankedFacts | Failed]:
    """Like `explain_many`, but returns only the ids of the facts."""
    return _explain_each(rank_scored, trained, predictions, options, threads)


def _explain_each(
    answer: Callable[..., _Answer],
    trained: Trained,
    predictions: Iterable[Listed],
    options: ExplainOptions,
    threads: int | None,
) -> Iterator[_Answer | Failed]:
    _check(trained, options, threads)
    data, inverse = trained.dataset, trained.config.inverse
    predictions, prepared = _prepare_all(trained, predictions, options)
    # Candidates copy their rows, so a list is looked up once, and `seen` once per relation.
    find = lru_cache(maxsize=64)(partial(find_candidates, trained, wanted=options.candidates))

    def explain_one(_: int, listed: Listed) -> _Answer | Failed:
        try:
            asked = listed.find(data, inverse=inverse, asks=options.asks)
            candidates = find(asked.asks, asked.relation if options.candidates == "seen" else 0)
            return answer(score_answer(trained, asked, candidates), options, prepared=prepared)
        except WhereofError as error:
            return Failed(listed.line, listed.names(data), str(error))

    return in_order(explain_one, predictions, threads or os.cpu_count() or 1)


def _prepare_all(
    trained: Trained, predictions: Iterable[Listed], options: ExplainOptions
) -> tuple[Iterable[Listed], Arrays]:
    """What the method prepares for all predictions; other methods do not read them in advance."""
    method = get_method(options.method)
    if method.prepares is None:
        return predictions, {}
    predictions, found = list(predictions), []
    for listed in predictions:
        with suppress(WhereofError):  # reported when it is explained
            inverse = trained.config.inverse
            found.append(listed.find(trained.dataset, inverse=inverse, asks=options.asks))
    return predictions, prepare(method, trained, found)


def _check(trained: Trained, options: ExplainOptions, threads: int | None) -> None:
    """Look up all names in the options, so that an error appears only once."""
    if threads is not None and threads < 1:
        raise WhereofError(f"threads is {threads}; give a number from 1 on")
    method, data = get_method(options.method), trained.dataset
    if "retraining" in method.needs:
        raise WhereofError(
            f"method {options.method} explains one prediction at a time; choose another for many"
        )
    method.check(trained)
    if options.stability or options.without is not None:
        trained.need_trace()
    if not data.two_way:
        for name in as_list(options.relation):
            data.relations.find(str(name))
    for name in [*as_list(options.entity), *as_list(options.instead_of)]:
        data.entities.find(str(name))
    find_facts(trained, options.without)
    find_candidates(trained, options.asks, 0, options.candidates)


def find_aim(scored: ScoredPrediction, options: ExplainOptions) -> Aim:
    """The quantity that influence is measured on."""
    if options.instead_of is not None:
        return Aim("log_ratio", _find_rival(scored, options.instead_of))
    if not scored.trained.learned_ratings:
        return Aim(options.of or "probability")
    if options.of in ("probability", "loss"):
        raise WhereofError(f"this run learned ratings, which have no {options.of}; choose of score")
    return Aim("score")


def _find_rival(scored: ScoredPrediction, name: str) -> int:
    """The entity to compare the prediction with."""
    data = scored.trained.dataset
    rival = data.entities.find(name, scored.prediction.candidates(data))
    if rival == scored.target:
        raise WhereofError(f"{name!r} is the prediction itself; name another answer")
    return scored.answered(rival).target


def find_candidates(trained: Trained, asks: str, relation: int, wanted: Any) -> Candidates:
    """The candidates, given by a word or by names."""
    data = trained.dataset
    if wanted is None or wanted == f"{asks}s":
        return trained.all_candidates(asks)
    words: dict[str, range] = {
        "objects": data.objects,
        "subjects": data.subjects,
        "entities": range(data.n_entities),
    }
    if isinstance(wanted, str) and wanted in words:
        return trained.candidates(words[wanted])
    if wanted == "seen":
        facts = trained.adjacency.facts_of_relation(relation)
        mine = data.train if data.two_way else data.train[facts]
        column = SUBJECT if asks == "subject" else OBJECT
        return trained.candidates(mine[:, column].astype(np.int64))
    names = wanted.split(",") if isinstance(wanted, str) else wanted
    ids = [data.entities.find(str(name).strip()) for name in names]
    if len(set(ids)) < 2:
        raise WhereofError("candidates compete with each other: name 2 or more")
    return trained.candidates(np.array(ids))
