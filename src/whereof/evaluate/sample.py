"""A sample of predictions, and the facts that methods choose for them."""

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import SampleSize, Size
from whereof.evaluate.variant import MethodVariant, draws_at_random, find_variant
from whereof.events import Foreseen, Without
from whereof.explain import explain
from whereof.explain.advice import default_method
from whereof.explain.method import (
    N_RIVALS,
    Aim,
    Context,
    Ranked,
    Sets,
    able_method,
    is_prepared,
    prepare,
    rank_influences,
    standings_without,
)
from whereof.explain.options import ExplainOptions
from whereof.predict.prediction import Listed, Prediction, find_predictions
from whereof.predict.predictions import Predictions
from whereof.predict.scored import Standings, Trained, name_standings
from whereof.retrain.engine import Job
from whereof.retrain.methods.verified import find_nominators
from whereof.retrain.retrainer import Case, Outcomes
from whereof.retrain.size import N_LISTED
from whereof.run.files import like
from whereof.types import FactIds, Numbers
from whereof.units import show


@dataclass(frozen=True)
class Retraining:
    """One prediction after one retraining: a row of the file of retrainings."""

    protocol: str
    method: str
    k: str
    seed: int
    constraint: str
    subject: str
    relation: str | None
    object: str
    asks: str
    removed: tuple[int, ...]
    original: float | None
    """Probability in the control; None for ratings, where the score counts."""
    predicted: float | None
    """The method's own prediction of the probability; None for methods without one."""
    actual: float | None
    original_score: float
    actual_score: float
    rank_before: int
    rank_after: int
    top_before: str
    top_after: str
    top_released: str
    """The top answer after, if an answer that only a removed fact had counts as new."""


class Sample:
    """Predictions of one model, shared by all protocols."""

    def __init__(
        self,
        case: Case,
        chosen: Sequence[Prediction],
        threads: int | None = None,
        options: EvaluateOptions | None = None,
        others: Mapping[str, Case] | None = None,
    ) -> None:
        """others: by text of a method variant, the case that was trained with its settings."""
        self.case, self.predictions, self.threads = case, chosen, threads
        self.options, self.others = options or EvaluateOptions(), others or {}
        self.seconds: dict[str, float] = {}  # by method, for one explanation; see `rank`
        self.notes: dict[str, None] = {}  # remarks of explanations, each once
        self._ranked: dict[tuple[str, bool], tuple[int, Sequence[FactIds]]] = {}  # see `rank`
        self._influences: dict[str, Numbers] = {}
        self._listed: dict[tuple[str, int], Sequence[Ranked]] = {}
        self._retrained: dict[str, list[Ranked]] = {}  # by methods that retrain
        self._unit = "score" if case.trained.config.rated else "probability"

    def only(self, numbers: Iterable[int]) -> "Sample":
        """Some of the predictions; times and remarks are noted here too."""
        chosen = [self.predictions[number] for number in numbers]
        part = Sample(self.case, chosen, self.threads, self.options, self.others)
        part.seconds, part.notes = self.seconds, self.notes
        return part

    @cached_property
    def arrays(self) -> Predictions:
        """The predictions in the form that retraining takes."""
        return self.case.predictions(self.predictions)

    @cached_property
    def n_adjacent(self) -> NDArray[np.int64]:
        """(n_predictions,) facts that share an entity or the relation with each."""
        return np.array([*map(len, map(self.adjacent, range(len(self))))], np.int64)

    def __len__(self) -> int:
        return len(self.predictions)

    @property
    def n_facts(self) -> int:
        return self.case.trained.dataset.n_facts

    @cached_property
    def size(self) -> SampleSize:
        removed = np.zeros(self.n_facts, bool)
        for number in range(len(self)):
            removed[self.adjacent(number)] = True
        return SampleSize(len(self), self.n_facts, int(removed.sum()), self.default_method)

    def adjacent(self, number: int) -> FactIds:
        """The facts that share an entity or the relation with a prediction, ascending."""
        return explain.find_adjacent(self.case.trained, self.predictions[number])

    def name(self, number: int) -> tuple[str, str | None, str, str]:
        """Names of a prediction and its predicted place; two-way data has no relation."""
        prediction = self.predictions[number]
        names = [*map(str, prediction.names(self.case.trained.dataset))]
        return names[0], names[1] if len(names) == 3 else None, names[-1], prediction.asks

    def case_of(self, method: str) -> Case:
        """The case that a method explains: that of the sample, or one with other settings."""
        return self.others.get(method, self.case)

    def ask(self, jobs: Sequence[Job], case: Case | None = None) -> Outcomes:
        """Standings of the predictions after retrainings and in the control."""
        if case is None or case is self.case:
            return self.case.retrainer.ask(self.arrays, jobs)
        return case.retrainer.ask(case.predictions(self.predictions), jobs)

    @cached_property
    def default_method(self) -> str:
        """Of the run."""
        return default_method(self.case.trained)

    def removable(self, options: EvaluateOptions) -> list[FactIds]:
        """Per prediction, the facts to remove one by one, ascending; by default, all facts.

        With `facts`: random facts, and those that the methods rank first.
        """
        every, pools = range(len(self)), [np.arange(self.n_facts)] * len(self)
        if options.adjacent_only:
            pools = [*map(self.adjacent, every)]
        if options.facts is None:
            return pools
        estimating = [text for text in options.methods if not find_variant(text).exact]
        ranked = [self.rank(method, options.top_facts) for method in estimating]
        firsts = [np.concatenate([pools[0][:0], *(each[n] for each in ranked)]) for n in every]
        seed = options.seed, self.case.seed
        if not options.adjacent_only:  # one retraining serves all predictions
            shared = np.union1d(_draw(pools[0], options.facts, seed), np.concatenate(firsts))
            return [shared] * len(self)
        return [np.union1d(_draw(pools[n], options.facts, (*seed, n)), firsts[n]) for n in every]

    def falls(self, fact_ids: Sequence[FactIds], case: Case | None = None) -> list[Numbers]:
        """Per prediction, the fall of its output without each of its facts, each alone."""
        jobs = remove_each(fact_ids)
        outcomes = self.ask(jobs, case)
        which = np.concatenate([Job.control(0).which, *(job.which for job in jobs)])
        after = self.outputs(np.concatenate([outcomes.control[:0], *outcomes.jobs]))
        falls = self.outputs(outcomes.control)[which] - after
        ordered = falls[np.argsort(which, kind="stable")]  # of each prediction, facts ascending
        return np.split(ordered, np.cumsum([*map(len, fact_ids)])[:-1])

    def outputs(self, standings: Standings) -> Numbers:
        """What influence is measured on: probabilities or, for rating models, ratings."""
        return np.asarray(standings[self._unit], np.float64)

    def without(self, number: int, sets: Sequence[FactIds], method: str | None = None) -> Numbers:
        """(n_sets,) the output of one prediction without each set of facts, by a method."""
        remover, trained, given = able_method("groups"), self.case.trained, {}
        if method is not None:
            variant, trained = find_variant(method), self.case_of(method).trained
            remover, given = able_method("groups", variant.method.name), {**variant.explained}
        # Scored again, because keeping the scores of every answer would fill the memory.
        scored = trained.score(self.predictions[number])
        found = standings_without(remover, scored, Sets.of(sets), **given)
        return self.outputs(found)

    def compare(self, jobs: Sequence[Job]) -> Numbers:
        """(n_jobs, 3) output for the one prediction of each job: original, by rollback, actual."""
        outcomes, numbers = self.ask(jobs), [int(job.which[0]) for job in jobs]
        original = self.outputs(outcomes.control)[numbers]
        pairs = zip(numbers, jobs, strict=True)
        predicted = [float(self.without(number, [job.removed])[0]) for number, job in pairs]
        actual = [self.outputs(standings)[0] for standings in outcomes.jobs]
        return np.array([original, predicted, actual], np.float64).T

    def predicted(self, method: str, sets: Sequence[FactIds]) -> Sequence[float | None]:
        """Per prediction, the output without its facts; None if the method has no groups."""
        if "groups" not in find_variant(method).method.can:
            return [None] * len(sets)
        return [float(self.without(number, [ids], method)[0]) for number, ids in enumerate(sets)]

    def choose(self, method: str, ks: Sequence[Size]) -> dict[Size, Sequence[FactIds]]:
        """Per size, the facts of every prediction that a method would remove."""
        if numbers := [k for k in ks if isinstance(k, int)]:
            self.rank(method, max(numbers))  # the smaller ones are its first facts
        return {k: self._supporting(method) if k == "all" else self.rank(method, k) for k in ks}

    def choose_all(self, options: EvaluateOptions) -> dict[tuple[str, Size], Sequence[FactIds]]:
        """The same for all methods and sizes of the options."""
        chosen = {method: self.choose(method, options.sizes) for method in options.methods}
        return {(method, k): sets for method, mine in chosen.items() for k, sets in mine.items()}

    def _supporting(self, method: str) -> Sequence[FactIds]:
        """All supporting facts; for random facts, the number that rollback finds."""
        if not draws_at_random(method):
            return self.rank(method, "all")
        if self.case.trained.trace is None:
            raise WhereofError(
                f"{method} at k all removes as many facts as rollback would, and this run "
                "has no trace; leave all out of k, or train it without --no-trace"
            )
        sizes = [len(ids) for ids in self.rank("rollback", "all")]
        drawn = self.rank(method, max(1, *sizes))
        return [ids[:size] for ids, size in zip(drawn, sizes, strict=True)]

    def rank(self, method: str, top: int | str) -> Sequence[FactIds]:
        """Per prediction, the facts that a method ranks first; computed once.

        `all` are the facts that support. A number takes that many facts, strongest first, whether
        they support or not, and fewer only where the method has no more. The first call for a
        method measures `seconds`: the time for one explanation on one thread.
        """
        key, most = (method, top == "all"), top if isinstance(top, int) else None
        if key not in self._ranked or self._ranked[key][0] < (most or 0):
            self._ranked[key] = most or 0, self._compute(method, top)
        return [ids[:most] for ids in self._ranked[key][1]]

    def _compute(self, method: str, top: int | str) -> Sequence[FactIds]:
        numbers, variant = range(len(self)), find_variant(method)
        if variant.method.retrains:
            return self._ids(numbers, method, top)
        if method not in self.seconds and variant.method.prepares != "predictions":
            self._ids(numbers[:1], method, top)  # loads kernels; all predictions share one sweep
        was_prepared, start = self._is_prepared(variant), time.perf_counter()
        found = self._ids(numbers, method, top)
        on_card = self.case.trained.on_card  # one thread at a time uses it
        workers = 1 if on_card else min(self.threads or os.cpu_count() or 1, len(numbers))
        took = (time.perf_counter() - start) * workers / len(numbers)
        seconds = self._first_seconds(variant, None if was_prepared else took)
        if seconds is not None:
            self.seconds.setdefault(method, seconds)
        if isinstance(top, int):
            short = [i for i in numbers if len(found[i]) < min(top, self.n_adjacent[i])]
            for number, ids in zip(short, self._ids(short, method, None), strict=True):
                found[number] = ids[:top]
        return found

    def listed(self, method: str, most: int) -> Sequence[Ranked]:
        """The facts that a method lists, for the first `most` predictions; computed once.

        Rivals are followed as for one prediction, so that the standings have the same top answers.
        """
        if (method, most) not in self._listed:
            found = self._found(range(len(self))[:most], method, N_LISTED, rivals=N_RIVALS)
            self._listed[method, most] = [*found]
        return self._listed[method, most]

    def _is_prepared(self, variant: MethodVariant) -> bool:
        """Whether the run has stored what the method prepares for some of the predictions.

        What a method prepares for the whole run is no part of the time for one explanation.
        """
        if variant.method.prepares != "predictions":
            return False
        trained = self.case_of(variant.text).trained
        context = Context(Aim.of_options(trained.score(self.predictions[0])), **variant.explained)
        stored = (is_prepared(variant.method, trained, it, context) for it in self.predictions)
        return any(stored)

    def _first_seconds(self, variant: MethodVariant, seconds: float | None) -> float | None:
        """The time of a method, measured when it prepared these predictions; stored in the run.

        seconds: as measured now; None if it does not include preparing. The result is None if the
        time was never measured.
        """
        if variant.method.prepares is None:
            return seconds
        about = repr((variant.text, self.predictions)).encode()
        key = f"{variant.method.name}-seconds-{blake2b(about, digest_size=8).hexdigest()}"
        store = self.case_of(variant.text).trained.store
        fits = like(seconds=((1,), "float64"))
        if (known := store.find(key, fits)) is not None:
            return float(known["seconds"][0])
        if seconds is not None:
            store.put(key, {"seconds": np.array([seconds])})
        return seconds

    def influences(self, method: str) -> Numbers:
        """(n_predictions, n_facts) by a method, computed once; 0 for facts it does not rate."""
        if method not in self._influences:
            kind = np.dtype((np.float64, self.n_facts))
            self._influences[method] = np.fromiter(self.each_influences(method), kind, len(self))
        return self._influences[method]

    def each_influences(self, method: str) -> Iterator[Numbers]:
        """(n_facts,) for one prediction after the other, where all would fill the memory."""
        for found in self._found(range(len(self)), method, None):
            row = np.zeros(self.n_facts)
            row[found.chosen] = found.influences
            yield row

    def _ids(self, numbers: Sequence[int], method: str, top: Size | None) -> list[FactIds]:
        return [found.chosen for found in self._found(numbers, method, top)]

    def _found(
        self, numbers: Sequence[int], method: str, top: int | str | None, rivals: int | None = None
    ) -> Iterator[Ranked]:
        """Explanations; empty for predictions without facts that the method considers."""
        variant, trained = find_variant(method), self.case_of(method).trained
        if variant.method.retrains:
            mine = self._measured(variant)
            yield from (_strongest(mine[number], top) for number in numbers)
            return
        options = replace(self._explain_options(variant, top), rivals=rivals)
        listed = (Listed(n + 1, self.predictions[n]) for n in numbers)
        events = self.case.retrainer.events
        answers = explain.rank_many(trained, listed, options, self.threads, events)
        for number, found in zip(numbers, answers, strict=True):
            if isinstance(found, Ranked):
                self.notes.update(dict.fromkeys(found.notes))
                yield found
                continue
            prediction, said = self.predictions[number], found.message
            if len(explain.filter_facts(trained, prediction, self.adjacent(number), options)):
                raise WhereofError(said if method in said else f"{method}: {said}")
            yield Ranked(np.zeros(0, np.int64), np.zeros(0))

    def _explain_options(self, variant: MethodVariant, top: int | str | None) -> ExplainOptions:
        seed, name = self.options.seed + self.case.seed, variant.method.name
        return ExplainOptions(method=name, top=top, seed=seed, **variant.explained)

    def _measured(self, variant: MethodVariant) -> list[Ranked]:
        """All facts that a method retrains, by their influence; retrained once."""
        if variant.text not in self._retrained:
            case = self.case_of(variant.text)
            retrainer, start = case.retrainer, time.perf_counter()
            n_known = retrainer.counts["known"]
            if variant.exact:
                fact_ids = self.removable(self.options)
                found = [*map(_order, fact_ids, self.falls(fact_ids, case))]
            else:
                found = self._verified(variant, case)
            took, n_known = time.perf_counter() - start, retrainer.counts["known"] - n_known
            if n_known:  # as if they were not stored
                at_once = retrainer.engine.at_once
                took += n_known * retrainer.seconds_for(at_once) / at_once
            self.seconds.setdefault(variant.text, took / len(self))
            self._retrained[variant.text] = found
        return self._retrained[variant.text]

    def _verified(self, variant: MethodVariant, case: Case) -> list[Ranked]:
        """The facts that a method retrains within its budget, for one prediction after another."""
        trained, options = case.trained, self._explain_options(variant, None)
        aim = Aim.of_options(trained.score(self.predictions[0]))
        for each in find_nominators(trained):  # for all predictions together: they share sweeps
            prepare(each, trained, self.predictions, Context(aim))
        # The evaluation has announced all retrainings.
        quiet = replace(case.retrainer, events=Without(case.retrainer.events, Foreseen))
        case = replace(case, retrainer=quiet)
        scored = map(trained.score, self.predictions)
        explainers = (explain.Explainer(each, options, case, standings=False) for each in scored)
        return [explainer.ranking() for explainer in explainers]


@dataclass(frozen=True, eq=False)
class Task:
    """The input of a protocol, and its list of single retrainings."""

    name: str
    options: EvaluateOptions
    seeds: Sequence[Sample]
    """The same predictions under every seed of the model."""
    variants: Mapping[str, Sequence[Sample]] = field(default_factory=dict)
    """By name, the samples of runs with other settings; see `Protocol.variants`."""
    retrainings: list[Retraining] = field(default_factory=list)

    def retrain(
        self,
        sample: Sample,
        jobs: Sequence[Job],
        method: str,
        k: Size,
        sets: Iterable[FactIds] = (),
        predicted: Iterable[float | None] = (),
    ) -> Outcomes:
        """Ask, and add a row for every prediction of every job; sets: facts as the method ranks."""
        trained, outcomes = sample.case.trained, sample.ask(jobs)
        control = name_standings(trained, outcomes.control)
        about = self.name, method, str(k), sample.case.seed, trained.config.constraint
        for job, found, facts, output in zip_longest(jobs, outcomes.jobs, sets, predicted):
            removed = tuple((job.removed if facts is None else facts).tolist())
            output = None if trained.config.rated else output
            named = name_standings(trained, found)
            arrays = found["score"].tolist(), found["top_released"].tolist()
            for number, after, score, top in zip(job.which, named, *arrays, strict=True):
                before, names = control[number], sample.name(number)
                probabilities = before.probability, output, after.probability
                scores = float(outcomes.control["score"][number]), score
                ranks = before.rank, after.rank
                tops = before.top_answer, after.top_answer, trained.dataset.entities.name(top)
                row = Retraining(*about, *names, removed, *probabilities, *scores, *ranks, *tops)
                self.retrainings.append(row)
        return outcomes


def pick(
    case: Case,
    options: EvaluateOptions,
    threads: int | None = None,
    others: Mapping[str, Case] | None = None,
) -> Sample:
    """The predictions to evaluate: objects of a split's queries, or lines of a file.

    Each distinct triple comes once. With a limit, that number is drawn by the options' seed, the
    same queries in every case, and kept in the order of appearance.
    """
    trained, options = case.trained, options.of(case.trained.dataset)
    wanted, split = options.predictions, str(options.split)  # a file has no split
    least, most = options.least_adjacent or 0, options.most_adjacent or math.inf
    listed = find_predictions(trained, wanted, split, None, "object")
    found, outside = dict[Prediction, int](), list[int]()
    numbers = np.arange(len(listed))
    if options.limit is not None:
        numbers = np.random.default_rng(options.seed).permutation(numbers)
    for number in numbers.tolist():
        prediction = _prediction(trained, listed[number], wanted)
        if prediction is None:
            continue
        n_adjacent = len(explain.find_adjacent(trained, prediction))
        if not least <= n_adjacent <= most:
            outside.append(n_adjacent)
            continue
        found.setdefault(prediction, number)
        if len(found) == options.limit:
            break
    if not found and outside:
        asked = f"{least} or more" if most == math.inf else f"{least} to {most}"
        raise WhereofError(
            f"no prediction has {asked} adjacent facts; they have {min(outside)} to {max(outside)}"
        )
    if not found:
        raise WhereofError(
            "no query has an answer that is not known from training or validation; "
            "evaluate true predictions, or those of a file"
        )
    chosen = tuple(sorted(found, key=found.__getitem__))
    return Sample(case, chosen, threads, options, others)


def _prediction(trained: Trained, listed: Listed, wanted: str) -> Prediction | None:
    """A prediction with its answer; None for a query without a new answer."""
    try:
        return explain.score_answer(trained, listed.find(trained)).prediction
    except WhereofError as error:
        if not isinstance(listed.asked, Prediction):
            raise WhereofError(f"{Path(wanted)}:{listed.line}: {error}") from None
        return None


def remove_each(fact_ids: Sequence[FactIds]) -> list[Job]:
    """One retraining per fact, for the predictions whose facts it is among; facts ascending."""
    owners = np.repeat(np.arange(len(fact_ids)), [*map(len, fact_ids)])
    ids = np.concatenate([np.zeros(0, np.int64), *fact_ids])
    order = np.argsort(ids, kind="stable")
    distinct, starts = np.unique(ids[order], return_index=True)
    which = np.split(owners[order], starts[1:])
    return [Job.of([fact], mine) for fact, mine in zip(distinct, which, strict=False)]


def _draw(fact_ids: FactIds, n: int, seed: tuple[int, ...]) -> FactIds:
    random = np.random.default_rng(seed)
    return np.asarray(random.choice(fact_ids, min(n, len(fact_ids)), replace=False))


def _order(fact_ids: FactIds, influences: Numbers) -> Ranked:
    """Facts by their influence, strongest first."""
    ranked = rank_influences(influences, Context(Aim("probability")))
    return Ranked(fact_ids[ranked.chosen], ranked.influences)


def _strongest(ranked: Ranked, top: int | str | None) -> Ranked:
    """The first facts, or those that support."""
    n = int((ranked.influences > 0).sum()) if top == "all" else top
    return Ranked(ranked.chosen[:n], ranked.influences[:n])


def facts_text(method: str, k: Size, removed_mean: float | None = None) -> str:
    """Which facts are removed, in words."""
    mean = "" if removed_mean is None else f" ({show(removed_mean, 'mean')} on average)"
    if draws_at_random(method):
        few = "one random adjacent fact" if k == 1 else f"{k} random adjacent facts"
        return f"as many random adjacent facts{mean}" if k == "all" else few
    few = f"the {'fact' if k == 1 else f'{k} facts'} that {method} ranks first"
    return f"all supporting facts that {method} finds{mean}" if k == "all" else few
