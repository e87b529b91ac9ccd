"""Explain predictions: rank their facts and name them."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from itertools import compress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import Dataset
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.events import Events, Note
from whereof.explain import explanation as records
from whereof.explain import method
from whereof.explain.copies import find_copies
from whereof.explain.explanation import ExplainedFact, Explanation
from whereof.explain.facts import find_entities, find_facts, find_relations
from whereof.explain.graph import find_graph
from whereof.explain.options import ExplainOptions, RetrainingBudget
from whereof.predict.answers import Failed, in_order
from whereof.predict.prediction import Listed, Prediction, find_prediction
from whereof.predict.scored import Candidates, ScoredPrediction, Trained, name_standings
from whereof.run.files import Arrays
from whereof.training.problem import Problem
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Facts, Numbers

PARTS = ("subject", "relation", "object", "rival")
"""Parts of a prediction that a fact can share; the rival is the other answer of a contrast."""
_STEPS = (1, 3, 10)
"""Numbers of supporting facts that are removed for the stability of a prediction."""
_GROUPED, _MOST_GROUPS = 20, 2
"""Number of listed facts whose copies are looked for, and of groups of copies that are named."""
_NO_RIVALS = "top_answer_changes is not known: it requires --rivals 3, which takes more time"
_FILTERS = ("role", "relation", "entity", "without")

_Answer = TypeVar("_Answer")
Prepared = dict[Prediction, Arrays]


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
    return Explainer(scored, options, retrainer, events=events).explanation(start)


def find_scored(
    trained: Trained, names: Sequence[Any], options: ExplainOptions
) -> ScoredPrediction:
    """The scored prediction with these names; an open place gets its top new answer."""
    found = find_prediction(trained, names, asks=options.asks)
    candidates = find_candidates(trained, found.asks, found.relation, options.candidates)
    return score_answer(trained, found, candidates)


def score_answer(
    trained: Trained, prediction: Prediction, candidates: Candidates | None = None
) -> ScoredPrediction:
    """A prediction scored among candidates; an open one gets its top new answer."""
    scored = trained.score(prediction, candidates)
    return scored.best_new() if prediction.target is None else scored


def check_prediction(trained: Trained, names: Sequence[Any], options: ExplainOptions) -> None:
    """Refuse a prediction or options that do not fit the run, before the work starts."""
    _checked_method(trained, options)
    scored = find_scored(trained, names, options)
    aim = method.Aim.of_options(scored, options.of, options.instead_of)
    if not len(find_facts(trained, options.without)):
        _facts_to_rank(scored, options, aim.rival)


def is_ready(trained: Trained, names: Sequence[Any], options: ExplainOptions) -> bool:
    """Whether an explanation needs neither retraining nor new preparation.

    False if the run lacks what the method needs.
    """
    chosen = method.get_method(options.method)
    if chosen.retrains or options.seeds > 1 or not chosen.fits(trained):
        return False
    _checked_method(trained, options)
    scored = find_scored(trained, names, options)
    return method.is_prepared(chosen, trained, scored.prediction, _context(scored, options))


class Explainer:
    """Explains one scored prediction."""

    def __init__(
        self,
        scored: ScoredPrediction,
        options: ExplainOptions,
        retrainer: Any = None,
        prepared: Prepared | None = None,
        events: Events | None = None,
        *,
        standings: bool = True,
    ) -> None:
        """standings: whether to estimate standings without each fact."""
        self.scored, self.trained, self.options = scored, scored.trained, options
        self.method = _checked_method(self.trained, options)
        self.remover = method.able_method("groups", options.method)
        # In bulk, and where standings are not wanted, no rivals are followed.
        rivals = method.N_RIVALS if prepared is None and standings else _bulk_rivals(options)
        self.context = replace(_context(scored, options, rivals), retrainer=retrainer)
        self.aim, asked = self.context.aim, scored.prediction
        if prepared is None:
            prepared = method.prepare(self.method, self.trained, [asked], self.context, events)
        self.context = replace(self.context, prepared=prepared[asked])

    def explanation(self, start: float | None = None) -> Explanation:
        """The facts with their names, and what else the options ask for."""
        start = start or time.perf_counter()
        options, adjacent = self.options, self._adjacent()
        named = options.without is not None
        group = find_facts(self.trained, options.without) if named else np.zeros(0, np.int64)
        if len(group):
            ranked, n_history = self._rank(group, top=None), None
        else:
            ranked, n_history = self._rank_history_first(self._filtered())
        if any(getattr(options, name) is not None for name in _FILTERS):
            ranked = replace(ranked, totals=None)  # others support the prediction too
        facts = self.name_facts(ranked)
        return Explanation(
            prediction=name_prediction(self.scored),
            method=options.method,
            of=self.aim.of,
            n_adjacent=len(adjacent),
            facts=facts,
            n_history=n_history,
            contrast=self._contrast(),
            without=self._remove(group) if len(group) else None,
            stability=self._stability(ranked, n_history) if options.stability else None,
            graph=find_graph(self.scored, self.method, self.context, self.name_facts)
            if options.graph
            else None,
            groups=self._groups(facts[:_GROUPED]),
            estimate=not self.method.retrains,
            sweep_epochs=self.context.sweep_epochs if "sweep" in self.method.can else None,
            notes=(*self._notes(), *self._hidden(group), *ranked.notes),
            seconds=time.perf_counter() - start,
        )

    def _groups(self, facts: Sequence[ExplainedFact]) -> tuple[records.Joint, ...]:
        """Copies of listed facts that support the prediction more than any fact alone.

        A rollback says how much, for groups and for single facts: numbers of two methods differ in
        scale. It does not show which facts hide each other, so groups are found by structure.
        """
        joiner, support = method.joint_method(), [it.fact_id for it in facts if it.influence > 0]
        if self.options.without is not None or not support or not joiner.fits(self.trained):
            return ()
        groups = [*find_copies(self.trained, np.array(support, np.int64))]
        if not groups:
            return ()
        found = [self._remove(group, joiner) for group in groups]
        every = method.Sets.each(self._adjacent())
        first = replace(self._context_of(joiner), top=1, opposing=False)
        strongest = joiner.rank(self.scored, every, first).influences.max(initial=0)
        found = [joint for joint in found if joint.influence > strongest]
        found.sort(key=lambda joint: -joint.influence)
        return tuple(found[:_MOST_GROUPS])

    def _hidden(self, fact_ids: FactIds) -> Iterator[str]:
        """What to know of a joint estimate if some of the facts are copies of each other."""
        for group in find_copies(self.trained, fact_ids):
            copies = [*map(str, fact_ids[np.isin(fact_ids, group)].tolist())]
            if len(copies) > 1:
                yield (
                    f"facts {', '.join(copies)} say nearly the same, so the estimate without them "
                    "together can be far too small; `whereof verify` with --facts "
                    f"{','.join(copies)} retrains without them"
                )

    def ranking(self, named: FactIds | None = None) -> method.Ranked:
        """The ids of the facts, without their names, which take longer than ranking.

        named: all of these facts, even if they share nothing with the prediction.
        """
        if named is None:
            ranked = self._rank(self._filtered())
        else:
            ranked = self._rank(np.sort(named), top=None, opposing=False)
            ranked = replace(ranked, totals=None)  # others support the prediction too
        return replace(ranked, notes=(*self._notes(), *ranked.notes))

    def influences(self) -> tuple[FactIds, Numbers]:
        """All facts that pass the filters, and their influences; NaN if the method has none."""
        fact_ids = self._filtered()
        if self.options.without is not None:
            fact_ids = np.union1d(fact_ids, find_facts(self.trained, self.options.without))
        ranked, found = self._rank(fact_ids, top=None), np.full(len(fact_ids), np.nan)
        found[np.searchsorted(fact_ids, ranked.chosen)] = ranked.influences
        return fact_ids, found

    def name_facts(self, ranked: method.Ranked) -> tuple[ExplainedFact, ...]:
        """Ranked fact ids with names, influence, and the parts they share with the prediction."""
        fact_ids, totals, after = ranked.chosen, ranked.totals, ranked.standings
        trained, found = self.trained, []
        shared = shared_parts(trained, self.scored.prediction, fact_ids, self.aim.rival).tolist()
        standings = [None] * len(shared) if after is None else name_standings(trained, after)
        top = self.scored.top if ranked.top_before is None else ranked.top_before
        for index, (fact_id, stands) in enumerate(zip(fact_ids.tolist(), standings, strict=True)):
            fields, parts = describe_fact(trained.dataset, fact_id), compress(PARTS, shared[index])
            fields["labels"]["top_answer_without"] = None
            if after is not None and stands is not None:
                fields["probability_without"] = stands.probability
                fields["score_without"] = stands.score
                if after["top"][index] >= 0:  # otherwise not known
                    fields["labels"]["top_answer_without"] = stands.top_label
                    fields["top_answer_without"] = stands.top_answer
                    fields["top_answer_changes"] = bool(after["top"][index] != top)
            if ranked.predicted is not None and np.isfinite(ranked.predicted[index]):
                fields["predicted"] = float(ranked.predicted[index])
            if ranked.nominated_by is not None:
                fields["nominated_by"] = ranked.nominated_by[index]
            influence = float(ranked.influences[index])
            total = totals and totals[0 if influence > 0 else 1]
            share = None if total is None else influence / (total or 1.0)
            fields["parts"] = names = tuple(parts)
            fields["role"] = "several" if len(names) > 1 else "".join(names) or "none"
            found.append(ExplainedFact(**fields, influence=influence, rank=index + 1, share=share))
        return tuple(found)

    def _adjacent(self) -> FactIds:
        return _adjacent_facts(self.scored, self.aim.rival)

    def _filtered(self) -> FactIds:
        return _facts_to_rank(self.scored, self.options, self.aim.rival)

    def _rank(self, fact_ids: FactIds, **changes: Any) -> method.Ranked:
        """The ids of the strongest of these facts; changes: fields of the context.

        If both signs are asked for, those that support come first.
        """
        context = replace(self.context, **changes) if changes else self.context
        both = self.options.opposing == "both" and "opposing" not in changes
        if both and context.top is not None:
            changes |= {"budget": context.budget.halved()}
            found, against = (self._rank(fact_ids, **changes, opposing=o) for o in (False, True))
            return replace(found.followed_by(against), totals=found.totals)  # of the same facts
        ranked = self.method.rank(self.scored, method.Sets.each(fact_ids), context)
        return replace(ranked, chosen=fact_ids[ranked.chosen])

    def _rank_history_first(
        self, fact_ids: FactIds, **changes: Any
    ) -> tuple[method.Ranked, int | None]:
        """The strongest facts; in data of users and items, those of the user come first.

        Then `top` is the number of facts of the user, and that of other facts. The second value is
        the number of facts of the user.
        """
        if not self.trained.dataset.has_users:
            return self._rank(fact_ids, **changes), None
        shared = shared_parts(self.trained, self.scored.prediction, fact_ids)
        own = shared[:, PARTS.index("subject")]
        history, others, top = fact_ids[own], fact_ids[~own], self.context.top
        if not len(history) or not len(others):
            ranked = self._rank(fact_ids, **changes)
        elif self.method.retrains:  # once for both, within one budget
            top = changes.get("top", top)
            ranked = self._rank(fact_ids, **changes | {"top": None if top is None else "all"})
            own, most = np.isin(ranked.chosen, history), top if isinstance(top, int) else None
            support = ranked.influences > 0
            signs = [support, ~support] if self.options.opposing == "both" else [support | True]
            groups = [mine & sign for mine in (own, ~own) for sign in signs]
            places = [np.flatnonzero(group)[:most] for group in groups]
            ranked = ranked.take(np.concatenate(places))
        else:
            both = (self._rank(part, **changes) for part in (history, others))
            ranked = next(both).followed_by(next(both))
        return ranked, int(np.isin(ranked.chosen, history).sum())

    def _stability(self, ranked: method.Ranked, n_history: int | None) -> tuple[records.Joint, ...]:
        """The prediction without its strongest supporting facts; those of the user, if any.

        ranked: the facts of the explanation; others are ranked only if these are not the strongest.
        """
        options, top = self.options, self.context.top
        enough = isinstance(top, int) and top >= max(_STEPS)
        if options.without is not None or options.opposing is True or not enough:
            ranked, n_history = self._rank_history_first(
                self._filtered(), top=max(_STEPS), opposing=False
            )
        support = np.flatnonzero(ranked.influences > 0)
        n_history = None if n_history is None else int((support < n_history).sum())
        ranked = ranked.take(support)
        best = ranked.chosen[: n_history or max(_STEPS)]
        return tuple(self._remove(best[:size]) for size in _STEPS if size <= len(best))

    def _context_of(self, other: method.Method) -> method.Context:
        """The context for another method, with what it prepares."""
        if other is self.method:
            return self.context
        other.check(self.trained)
        asked = self.scored.prediction
        prepared = method.prepare(other, self.trained, [asked], self.context)
        return replace(self.context, prepared=prepared[asked])

    def _remove(self, fact_ids: FactIds, remover: method.Method | None = None) -> records.Joint:
        """The prediction without these facts together, by a method that removes groups."""
        remover = remover or self.remover
        sets = method.Sets.of([fact_ids, *fact_ids[:, None]])
        after = remover.remove(self.scored, sets, self._context_of(remover))
        (stands,) = name_standings(self.trained, after.standings[:1])
        top = int(after.standings["top"][0])
        return records.Joint(
            **vars(stands),
            fact_ids=tuple(fact_ids.tolist()),
            influence=float(after.influences[0]),
            sum_of_single=float(after.influences[1:].sum()),
            top_answer_changes=None if top < 0 else top != self.scored.top,
        )

    def _contrast(self) -> records.Contrast | None:
        rival, entities = self.aim.rival, self.trained.dataset.entities
        if rival is None:
            return None
        mine, other = self.scored, self.scored.answered(rival)
        return records.Contrast(
            **vars(other.standing),
            answer=entities.name(rival),
            label=entities.label(rival),
            log_ratio=float(mine.scores[mine.place] - other.scores[other.place]),
        )

    def _notes(self) -> tuple[str, ...]:
        notes = self.method.notes(self.trained)
        asked = [name for name in ("without", "stability") if getattr(self.options, name)]
        if asked and self.remover is not self.method:
            notes = (*notes, f"{' and '.join(asked)}: estimated by {self.remover.name}")
        return notes


def _bulk_rivals(options: ExplainOptions) -> int:
    """Rivals to follow in bulk: only where standings without several facts are asked for."""
    joint = options.stability or options.graph or options.without is not None
    return method.N_RIVALS if joint else 0


def _context(
    scored: ScoredPrediction, options: ExplainOptions, rivals: int = method.N_RIVALS
) -> method.Context:
    """What options ask of a method."""
    return method.Context(
        method.Aim.of_options(scored, options.of, options.instead_of),
        seed=options.seed,
        top=options.top,
        opposing=options.opposing is True,
        exhaustive=options.exhaustive,
        budget=RetrainingBudget.of(options.budget),
        rivals=rivals if options.rivals is None else options.rivals,
        sweep_epochs=_sweep_epochs(scored.trained, options),
        sweep_memory=options.sweep_memory,
    )


def _sweep_epochs(trained: Trained, options: ExplainOptions) -> int | None:
    """The epochs to sweep, from the end of training; None for all of them."""
    if options.sweep_epochs is None or trained.n_trained is None:
        return None
    calendar = Problem.of(trained.dataset, trained.config).calendar
    are_all = options.sweep_epochs >= calendar.n_epochs(trained.n_trained)
    return None if are_all else options.sweep_epochs


def explain_each(
    answer: Callable[[Explainer], _Answer],
    trained: Trained,
    predictions: Iterable[Listed],
    options: ExplainOptions,
    threads: int | None = None,
    events: Events | None = None,
) -> Iterator[_Answer | Failed]:
    """What explainers answer for predictions, in order; an error in one does not stop the others.

    Options that fit no prediction are refused immediately.
    """
    _check(trained, options, threads)
    data, chosen = trained.dataset, method.get_method(options.method)
    # Candidates copy their rows, so a list is looked up once, and `seen` once per relation.
    candidates_of = lru_cache(64)(partial(find_candidates, trained, wanted=options.candidates))

    def find(listed: Listed) -> ScoredPrediction:
        asked = listed.find(trained, asks=options.asks)
        relation = asked.relation if options.candidates == "seen" else 0
        return score_answer(trained, asked, candidates_of(asked.asks, relation))

    prepared: Prepared | None = None
    if chosen.prepares is not None:  # only then are all predictions read in advance
        predictions = list(predictions)
        contexts: dict[Prediction, method.Context] = {}
        for listed in predictions:
            with suppress(WhereofError):  # reported when it is explained
                scored = find(listed)
                contexts[scored.prediction] = _context(scored, options, _bulk_rivals(options))
        if contexts:  # which all ask for the same
            context = next(iter(contexts.values()))
            if events and "sweep" in chosen.can and not context.rivals:
                events.emit(Note(_NO_RIVALS))
            prepared = method.prepare(chosen, trained, list(contexts), context, events)

    def explain_one(listed: Listed) -> _Answer | Failed:
        try:
            return answer(Explainer(find(listed), options, prepared=prepared))
        except WhereofError as error:
            return Failed(listed.line, listed.names(data), str(error))

    return in_order(explain_one, predictions, threads)


explain_many = partial(explain_each, Explainer.explanation)
"""Explain predictions, as `explain_each` does."""
rank_many = partial(explain_each, Explainer.ranking)
"""The same, but with only the ids of the facts."""


def _checked_method(trained: Trained, options: ExplainOptions) -> method.Method:
    chosen = method.get_method(options.method)
    chosen.check(trained)
    if options.graph and "groups" not in chosen.can:
        able = method.able_method("groups").name
        raise WhereofError(f"graph requires method {able}, not {options.method}")
    return chosen


def _check(trained: Trained, options: ExplainOptions, threads: int | None) -> None:
    """Look up all names in the options, so that an error appears only once."""
    if threads is not None and not (threads >= 1 and threads % 1 == 0):  # NaN is refused too
        raise WhereofError(f"threads is {threads}; give a number from 1 on")
    data = trained.dataset
    if "retraining" in method.get_method(options.method).needs:
        raise WhereofError(
            f"method {options.method} explains one prediction at a time; choose another for many"
        )
    if options.seeds > 1:
        raise WhereofError("seeds requires one prediction; leave it out for many")
    _checked_method(trained, options)
    if options.stability or options.without is not None:
        method.able_method("groups", options.method).check(trained)
    if not data.two_way:
        find_relations(data, options.relation)
    find_entities(data, options.entity)
    if options.instead_of is not None and not data.entities.matches(options.instead_of):
        data.entities.find(options.instead_of)  # raises the error of an unknown name
    find_facts(trained, options.without)
    find_candidates(trained, options.asks, 0, options.candidates)


def find_candidates(trained: Trained, asks: str, relation: int, wanted: Any) -> Candidates:
    """The candidates, given by a word or by names."""
    data = trained.dataset
    if wanted is None or wanted == f"{asks}s":
        return trained.everyone[asks]
    every = range(data.n_entities)
    ranges = {"objects": data.objects, "subjects": data.subjects, "entities": every}
    if isinstance(wanted, str) and wanted in ranges:
        return trained.candidates(ranges[wanted])
    if wanted == "seen":
        facts = trained.adjacency.facts_of_relation(relation)
        mine = data.train if data.two_way else data.train[facts]
        return trained.candidates(mine[:, SUBJECT if asks == "subject" else OBJECT])
    names = wanted.split(",") if isinstance(wanted, str) else wanted
    ids = [data.find_entity(str(name).strip()) for name in names]
    if len(set(ids)) < 2:
        raise WhereofError("candidates has fewer than 2 entities; name 2 or more")
    return trained.candidates(np.array(ids))


def _adjacent_facts(scored: ScoredPrediction, rival: int | None) -> FactIds:
    """The facts that `find_adjacent` finds; an error if there is none."""
    adjacent = find_adjacent(scored.trained, scored.prediction, rival)
    if not len(adjacent):
        raise WhereofError("no training fact shares an entity or the relation with the prediction")
    return adjacent


def _facts_to_rank(scored: ScoredPrediction, options: ExplainOptions, rival: int | None) -> FactIds:
    """The facts that pass the filters, of adjacent ones or of all."""
    trained, every = scored.trained, method.get_method(options.method).ranks_all
    given = np.arange(trained.dataset.n_facts) if every else _adjacent_facts(scored, rival)
    wanted = filter_facts(trained, scored.prediction, given, options, rival)
    if not len(wanted):
        kind = "" if every else "adjacent "
        raise WhereofError(
            f"none of the {len(given)} {kind}facts passes the filters; "
            "choose another role, relation or entity"
        )
    return wanted


def find_adjacent(trained: Trained, prediction: Prediction, rival: int | None = None) -> FactIds:
    """All facts that contain the prediction's subject, relation or object, or the rival."""
    entities = (prediction.subject, prediction.object, rival)
    present = [entity for entity in entities if entity is not None]
    return trained.adjacency.adjacent(present, prediction.relation)


def shared_parts(
    trained: Trained, prediction: Prediction, fact_ids: FactIds, rival: int | None = None
) -> NDArray[np.bool_]:
    """(n, 4) which of PARTS each fact shares with a prediction; entities count in both places."""
    facts, relation = trained.dataset.train[fact_ids], prediction.relation
    entities = [prediction.subject, -1, prediction.object, -1 if rival is None else rival]
    shared = (facts[:, [SUBJECT, OBJECT], None] == entities).any(axis=1)
    shared[:, 1] = not trained.dataset.two_way and facts[:, RELATION] == relation
    return np.asarray(shared)


def with_same_answer(trained: Trained, prediction: Prediction, fact_ids: FactIds) -> FactIds:
    """The facts that have the prediction's answer in the same place."""
    column = SUBJECT if prediction.asks == "subject" else OBJECT
    return np.asarray(fact_ids[trained.dataset.train[fact_ids, column] == prediction.target])


def filter_facts(
    trained: Trained,
    prediction: Prediction,
    fact_ids: FactIds,
    options: ExplainOptions,
    rival: int | None = None,
) -> FactIds:
    """The facts that pass the filters by method, role, relation and entity."""
    data = trained.dataset
    if options.relation and data.two_way:
        raise WhereofError("two-way data has no relations to choose from; leave out relation")
    if method.get_method(options.method).same_answer:
        fact_ids = with_same_answer(trained, prediction, fact_ids)
    if options.role is not None:
        shared = shared_parts(trained, prediction, fact_ids, rival)
        several = options.role == "several"
        keep = shared.sum(axis=1) > 1 if several else shared[:, PARTS.index(options.role)]
        fact_ids = fact_ids[keep]
    if options.relation:
        ids = find_relations(data, options.relation)
        fact_ids = fact_ids[np.isin(data.train[fact_ids, RELATION], ids)]
    if options.entity:
        ids = find_entities(data, options.entity)
        fact_ids = fact_ids[np.isin(data.train[fact_ids][:, [SUBJECT, OBJECT]], ids).any(axis=1)]
    return fact_ids


def name_prediction(scored: ScoredPrediction) -> records.NamedPrediction:
    """The prediction with names and its standing."""
    stands, names = vars(scored.standing), _names(scored.trained.dataset, scored.prediction)
    split = int(scored.splits[scored.place])
    return records.NamedPrediction(
        **stands | names | {"labels": names["labels"] | stands["labels"]},
        asks=scored.prediction.asks,
        n_candidates=len(scored.candidates.ids),
        n_new=int(scored.new.sum()),
        known=None if split < 0 else scored.trained.known_from[split],
    )


def describe_fact(data: Dataset, fact_id: int) -> dict[str, Any]:
    """The fields of a `NamedFact`."""
    sources, ratings, weights = data.sources, data.ratings, data.weights
    return {
        "fact_id": fact_id,
        **name_triple(data, data.train[fact_id]),
        "rating": None if ratings is None else float(ratings.train[fact_id]),
        "source": None if sources is None else sources.names[sources.codes[fact_id]],
        "weight": None if weights is None else float(weights[fact_id]),
    }


def name_triple(data: Dataset, triple: Facts) -> dict[str, Any]:
    """Names and labels of the places of a triple, (3,) ids."""
    return _names(data, Prediction(*triple.tolist()))


def _names(data: Dataset, triple: Prediction) -> dict[str, Any]:
    names, labelled = triple.spell(data), data.entities.labels or data.relations.labels
    labels = triple.spell(data, Vocabulary.label) if labelled else dict(names)
    return {**names, "labels": labels}
