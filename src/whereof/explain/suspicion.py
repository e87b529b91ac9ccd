"""How suspicious each training fact is: its loss under the model, with the fact and without it.

A wrong fact contradicts the others. So the model either learns it badly or memorises it. If it is
memorised, its loss would be large without the fact in training.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import Dataset
from whereof.data.indexes import KnownAnswers
from whereof.errors import Interrupted
from whereof.events import Advanced, Events, SweepsPlanned, Without
from whereof.explain.method import Aim, Goal, Method, check_finite, get_method
from whereof.models import Model
from whereof.models.scoring import score_all
from whereof.predict.prediction import Prediction
from whereof.predict.scored import ScoredPrediction, Trained
from whereof.training.results import Parameters
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Numbers, Rows

_CELLS, _SWEPT_CELLS = 1 << 22, 1 << 25
"""Number of scores to keep in memory at a time, and for a sweep."""
_TOGETHER = 256
"""Most groups of facts that a method sweeps at a time."""
_ONE_IN = 10
"""A group has at most a tenth of the facts of an entity or a relation, and at most one fact for ten
entities of the data. Every group has at least one fact."""


@dataclass(frozen=True, eq=False)
class OwnLosses:
    """Loss, score and degree of each training fact. With inverse relations, means of both sides."""

    loss: Numbers
    """(n_facts,) -log of the probability of its answer; the squared error of a rating.

    Answers of other training facts to the same question are left out: another true answer is no
    evidence against a fact. A linear method leaves out validation facts too."""
    without: Numbers | None
    """(n_facts,) an estimate of its loss if it had not been trained on; None if not estimated."""
    score: Numbers
    """(n_facts,) the score of its answer."""
    degree: Numbers
    """(n_facts,) the number of facts of its rarer entity."""

    def rank(self, ranking: str) -> Numbers:
        """(n_facts,) how suspicious each fact is by one of RANKINGS: higher is more suspicious."""
        if ranking in NEED_ESTIMATES:
            assert self.without is not None, "see find_own_losses"
            return self.without - self.loss if ranking == "self-influence" else self.without
        return {"loss": self.loss, "score": -self.score, "degree": -self.degree}[ranking]


NEED_ESTIMATES = "loss-without", "self-influence"
"""Rankings that need the losses without each fact."""
RANKINGS = *NEED_ESTIMATES, "loss", "score", "degree"
"""Ways to rank facts by suspicion."""


def find_own_losses(
    trained: Trained, method: str | None, events: Events, fact_ids: FactIds | None = None
) -> OwnLosses:
    """The loss of each training fact, and an estimate of its loss without the fact.

    method: rollback or a linear method; None estimates nothing. fact_ids: (n_facts,) all training
    facts if None.
    """
    ids = np.arange(trained.dataset.n_facts) if fact_ids is None else fact_ids
    estimator = None if method is None else get_method(method)
    if estimator is not None:
        estimator.check_groups(trained)
    known = _known(trained)
    loss, score = _own(trained, ids, known, events, rolled_back=False)
    ends = trained.dataset.train[ids][:, [SUBJECT, OBJECT]]
    degrees = np.diff(trained.adjacency.entity_bounds)[ends].min(axis=1)
    if estimator is None:
        return OwnLosses(loss, None, score, degrees.astype(np.float64))
    if "trace" in estimator.needs:
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            without = _own(trained, ids, known, events, rolled_back=True)[0]
    else:
        loss, without = _sweep(trained, ids, estimator, events)
    check_finite(without)
    return OwnLosses(loss, without, score, degrees.astype(np.float64))


def losses_under(
    trained: Trained, rows: Parameters, fact_ids: FactIds, events: Events
) -> tuple[Numbers, Numbers]:
    """(n_facts,) loss and score of some training facts under other parameters."""
    other = replace(trained, scorer=replace(trained.scorer, **rows._asdict()))
    return _own(other, fact_ids, _known(trained), events, rolled_back=False)


def _own(
    trained: Trained,
    ids: FactIds,
    known: Sequence[KnownAnswers],
    events: Events,
    *,
    rolled_back: bool,
) -> tuple[Numbers, Numbers]:
    """(n_facts,) loss and score of each fact, with all facts or with its own trace subtracted.

    known: answers to leave out.
    """
    losses, scores = np.zeros(len(ids)), np.zeros(len(ids))
    n_candidates = 1 if trained.config.rated else trained.dataset.n_entities
    size = max(_CELLS // n_candidates, 1)
    noun = "facts scored without their own trace" if rolled_back else "facts scored"
    for start in range(0, len(ids), size):
        part = slice(start, start + size)
        losses[part], scores[part] = _own_block(trained, ids[part], known, rolled_back=rolled_back)
        tell(events, min(start + size, len(ids)), len(ids), noun)
    return losses, scores


def _own_block(
    trained: Trained, ids: FactIds, known: Sequence[KnownAnswers], *, rolled_back: bool
) -> tuple[Numbers, Numbers]:
    data, facts = trained.dataset, trained.dataset.train[ids]
    subject, relation, object_, inverse = _rows(trained, ids, rolled_back=rolled_back)
    sides = [(subject, relation, object_, facts[:, SUBJECT], facts[:, OBJECT], data.objects)]
    if inverse is not None:
        given, target = facts[:, OBJECT], facts[:, SUBJECT]
        sides.append((object_, inverse, subject, given, target, data.subjects))
    losses, scores, each = np.zeros(len(ids)), np.zeros(len(ids)), np.arange(len(ids))
    for number, side in enumerate(sides):
        given_rows, its_relation, target_rows, given, target, candidates = side
        both = np.concatenate([given_rows, target_rows])
        local = replace(trained.scorer, entity_rows=both, relation_rows=its_relation)
        own = local.fact_scores(_triples(each, each + len(ids))).astype(np.float64)
        scores += own / len(sides)
        if trained.config.rated:
            assert data.ratings is not None
            losses += (own - data.ratings.train[ids]) ** 2
            continue
        rows = trained.scorer.entity_rows[candidates.start : candidates.stop]
        found = score_candidates(local.queries(each, each), rows, trained.scorer.model)
        inside = (given >= candidates.start) & (given < candidates.stop)
        loops = local.fact_scores(_triples(each, each))
        found[each[inside], given[inside] - candidates.start] = loops[inside]
        _leave_out(found, known[number], given, facts[:, RELATION], candidates.start)
        found[each, target - candidates.start] = own
        top = found.max(axis=1)
        sums = np.exp(found - top[:, None]).sum(axis=1, dtype=np.float64)
        losses += (np.log(sums) + top - own) / len(sides)
    return losses, scores


def _known(trained: Trained) -> tuple[KnownAnswers, KnownAnswers]:
    """The answers that training facts give to questions for objects, and for subjects."""
    facts, width = trained.dataset.train, trained.dataset.inverse_offset
    turned = np.ascontiguousarray(facts[:, [OBJECT, RELATION, SUBJECT]])
    return (
        KnownAnswers.of(facts, n_relations=width),
        KnownAnswers.of(turned, n_relations=width),
    )


def _leave_out(scores: Rows, known: KnownAnswers, given: Any, relations: Any, first: int) -> None:
    """Leave out the answers that training facts give to the same questions, in place."""
    starts, stops = known.lookup(np.column_stack([given, relations])).T
    counts = stops - starts
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    answers = known.flat[np.repeat(starts, counts) + within]
    scores[np.repeat(np.arange(len(scores)), counts), answers - first] = -np.inf


def _triples(given: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.column_stack([given, np.arange(len(given)), target]).astype(np.int32)


def _rows(
    trained: Trained, ids: FactIds, *, rolled_back: bool
) -> tuple[Rows, Rows, Rows, Rows | None]:
    """The rows of each fact's subject, relation, object and inverse relation, (n, width) each."""
    scorer, facts = trained.scorer, trained.dataset.train[ids]
    offset = trained.dataset.inverse_offset
    subject, object_ = (scorer.entity_rows[facts[:, place]] for place in (SUBJECT, OBJECT))
    relation = scorer.relation_rows[facts[:, RELATION]]
    inverse = scorer.relation_rows[facts[:, RELATION] + offset] if trained.config.inverse else None
    if rolled_back:
        assert trained.trace is not None, "see Method.check"
        trace = trained.trace[ids].astype(scorer.entity_rows.dtype)
        slots = [trace[:, slot] for slot in trained.slots]
        loops = (facts[:, SUBJECT] == facts[:, OBJECT])[:, None]  # have all in the first slot
        subject, relation = subject - slots[0], relation - slots[1]
        object_ = object_ - np.where(loops, slots[0], slots[2])
        inverse = None if inverse is None else inverse - slots[3]
    return subject, relation, object_, inverse


def score_candidates(queries: Rows, rows: Rows, model: Model) -> Rows:
    """(n, n_candidates) scores of the candidates' rows by every query."""
    if model.match == "dot":  # a matrix product, which is faster than the exact sums
        width = rows.shape[1]
        found = queries[:, :width] @ rows.T + queries[:, width:].sum(axis=1, keepdims=True)
        return np.asarray(found)
    spans = np.tile([0, len(rows)], (len(queries), 1))
    return score_all(model, queries.astype(np.float64), rows, spans)


def _sweep(
    trained: Trained, ids: FactIds, method: Method, events: Events
) -> tuple[Numbers, Numbers]:
    """(n_facts,) loss of each fact, and that without itself, by a method that is linear.

    With inverse relations, means of both sides. What facts change in their own losses is the
    diagonal of a matrix. One column of the sweep has the losses of several facts, with random
    signs, so that what they change in each other's losses averages out (Bekas, Kokiopoulou and
    Saad, 2007).
    """
    data, aim = trained.dataset, Aim("score" if trained.config.rated else "new_probability")
    sides = ("object", "subject")[: 1 + trained.config.inverse]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], len(ids))
    found, n_done = np.zeros((2, len(ids))), 0
    n_scores = data.n_entities * len(sides)
    most = max(min(data.n_entities // _ONE_IN, _SWEPT_CELLS // n_scores), 1)
    parts = [*_in_parts(group_apart(data, ids, most), n_scores)]
    if trained.training_seconds is not None:
        costs = (method.trainings(data.n_facts, len(groups) * len(sides)) for groups in parts)
        duration = sum(costs) * trained.training_seconds / (os.cpu_count() or 1)
        events.emit(SweepsPlanned(len(parts), duration))
    quiet = Without(events, SweepsPlanned)
    for groups in parts:
        goals, scores = list[list[Goal]](), list[list[ScoredPrediction]]()
        for asks in sides:
            for group in groups:
                asked = (Prediction(s, r, o, asks) for s, r, o in data.train[ids[group]].tolist())
                scores.append([*map(trained.score, asked)])
                goals.append(
                    [Goal(it, aim, sign) for it, sign in zip(scores[-1], signs[group], strict=True)]
                )
        sums = method.total(trained, goals, quiet).sums
        for group, scored, column in zip(groups * len(sides), scores, sums, strict=True):
            falls = signs[group] * column[ids[group]]
            if trained.config.rated:
                assert data.ratings is not None
                errors = [it.scores[it.place] for it in scored] - data.ratings.train[ids[group]]
                found[:, group] += np.square([errors, errors - falls])
            else:
                odds = np.array([_log_odds(it) for it in scored])
                found[:, group] += np.logaddexp(0, [-odds, falls - odds]) / len(sides)
        n_done += sum(map(len, groups))
        tell(events, n_done, len(ids), "facts, without themselves")
    return found[0], found[1]


def group_apart(data: Dataset, ids: FactIds, most: int) -> list[NDArray[np.int64]]:
    """The places of some facts in `ids`, in groups of facts that hardly influence each other.

    A group has at most `most` facts. It has at most a tenth of the facts of each entity and of each
    relation, or one of them.
    """
    ends, relations = data.train[:, [SUBJECT, OBJECT]].ravel(), data.train[:, RELATION]
    counts = np.bincount(ends, minlength=data.n_entities), np.bincount(relations)
    limits = np.maximum(np.concatenate(counts) // _ONE_IN, 1)
    groups, used = list[list[int]](), list[Counter[int]]()
    for place, (s, r, o) in enumerate(data.train[ids].tolist()):
        its = {s, o, data.n_entities + r}
        free = (
            number
            for number, group in enumerate(groups)
            if len(group) < most and all(used[number][it] < limits[it] for it in its)
        )
        number = next(free, len(groups))
        if number == len(groups):
            groups.append([])
            used.append(Counter())
        groups[number].append(place)
        used[number].update(its)
    return [np.array(group) for group in groups]


def _in_parts(
    groups: Sequence[NDArray[np.int64]], n_scores: int
) -> Iterator[list[NDArray[np.int64]]]:
    """The groups, as many at a time as fit into memory."""
    part, n_cells = list[NDArray[np.int64]](), 0
    for group in groups:
        more = len(group) * n_scores
        if part and (len(part) == _TOGETHER or n_cells + more > _SWEPT_CELLS):
            yield part
            part, n_cells = [], 0
        part.append(group)
        n_cells += more
    if part:
        yield part


def _log_odds(scored: ScoredPrediction) -> float:
    """log p / (1 - p) of the answer among new answers; infinite if there is no other."""
    rivals = np.delete(scored.contenders, scored.place)
    top = rivals.max(initial=-np.inf)
    if top == -np.inf:
        return np.inf
    return float(scored.plain_scores[scored.place] - top - np.log(np.exp(rivals - top).sum()))


def tell(events: Events, n_done: int, n_total: int, noun: str) -> None:
    """Report progress, and stop if asked to."""
    events.emit(Advanced(n_done, n_total, noun))
    if events.should_stop():
        raise Interrupted("interrupted; the audit was not stored")
