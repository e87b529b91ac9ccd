"""How suspicious each training fact is: what the model says of it, with and without it.

A wrong fact contradicts the others. So the model learns it badly, or learns it by heart: then the
model says it only because it was told, and its loss would be large without the fact itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.indexes import KnownAnswers
from whereof.errors import Interrupted
from whereof.events import Advanced, Events
from whereof.explain.method import Aim, Context, Method, Sets, get_method, quantity_of
from whereof.models.scoring import score_all
from whereof.predict.prediction import Prediction
from whereof.predict.scored import Standings, Trained
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Numbers, Rows

_CELLS = 1 << 22
"""Number of scores to keep in memory at a time."""
_TOGETHER = 256
"""Number of predictions that a method prepares at a time."""


@dataclass(frozen=True, eq=False)
class OwnLosses:
    """What the model says of every training fact. With inverse relations, means of both sides."""

    loss: Numbers
    """(n_facts,) -log of the probability of its answer; the squared error of a rating.

    By rollback, without the answers that other training facts give to the same question: what is
    true as well says nothing against a fact."""
    without: Numbers
    """(n_facts,) an estimate of its loss if it had not been trained on."""
    score: Numbers
    """(n_facts,) the score of its answer."""
    degree: Numbers
    """(n_facts,) the number of facts of its rarer entity."""

    def rank(self, ranking: str) -> Numbers:
        """(n_facts,) how suspicious each fact is by one of RANKINGS: higher is more suspicious."""
        return RANKINGS[ranking](self)


RANKINGS: dict[str, Callable[[OwnLosses], Numbers]] = {
    "loss-without": lambda own: own.without,
    "self-influence": lambda own: own.without - own.loss,
    "loss": lambda own: own.loss,
    "score": lambda own: -own.score,
    "degree": lambda own: -own.degree,
}
"""Ways to rank facts by suspicion, by name."""


def find_own_losses(trained: Trained, method: str, events: Events) -> OwnLosses:
    """The losses of all training facts, and without each by a method that has a loss without it."""
    ids, estimator = np.arange(trained.dataset.n_facts), get_method(method)
    estimator.check(trained)
    # Other methods estimate the loss among all answers.
    known = _known(trained) if "trace" in estimator.needs else ()
    loss, score = _own(trained, ids, known, events, rolled_back=False)
    bounds = trained.adjacency.entity_bounds
    ends = np.diff(bounds)[trained.dataset.train[:, [SUBJECT, OBJECT]]]
    if "trace" in estimator.needs:
        without = _own(trained, ids, known, events, rolled_back=True)[0]
    else:
        without = _losses_without(trained, estimator, events)
    return OwnLosses(loss, without, score, ends.min(axis=1).astype(np.float64))


def _own(
    trained: Trained,
    ids: FactIds,
    known: Sequence[KnownAnswers],
    events: Events,
    *,
    rolled_back: bool,
) -> tuple[Numbers, Numbers]:
    """(n_facts,) loss and score of each fact, with all facts or with its own trace subtracted.

    known: answers to leave out; empty for none.
    """
    losses, scores = np.zeros(len(ids)), np.zeros(len(ids))
    n_candidates = 1 if trained.config.rated else trained.dataset.n_entities
    size = max(_CELLS // n_candidates, 1)
    noun = "facts, without their own trace" if rolled_back else "facts scored"
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
        found = _score_candidates(local.queries(each, each), rows, trained)
        inside = (given >= candidates.start) & (given < candidates.stop)
        loops = local.fact_scores(_triples(each, each))
        found[each[inside], given[inside] - candidates.start] = loops[inside]
        if known:
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


def _score_candidates(queries: Rows, rows: Rows, trained: Trained) -> Rows:
    """(n, n_candidates) scores of the candidates' rows by every query."""
    model = trained.scorer.model
    if model.match == "dot":  # a matrix product, which is faster than the exact sums
        width = rows.shape[1]
        found = queries[:, :width] @ rows.T + queries[:, width:].sum(axis=1, keepdims=True)
        return np.asarray(found)
    spans = np.tile([0, len(rows)], (len(queries), 1))
    return score_all(model, queries.astype(np.float64), rows, spans)


def _losses_without(trained: Trained, method: Method, events: Events) -> Numbers:
    """(n_facts,) the loss of each fact without itself, by any method that removes groups.

    With inverse relations, means of both sides.
    """
    data, found = trained.dataset, np.zeros(trained.dataset.n_facts)
    facts, sides = data.train.tolist(), ("object", "subject")[: 1 + trained.config.inverse]
    n_done, n_all = 0, len(facts) * len(sides)
    for asks in sides:
        for start in range(0, len(facts), _TOGETHER):
            ids = np.arange(start, min(start + _TOGETHER, len(facts)))
            predictions = [Prediction(s, r, o, asks) for s, r, o in facts[start : start + len(ids)]]
            standings = _stand_without(trained, method, predictions, ids, events)
            if trained.config.rated:
                assert data.ratings is not None
                losses = (standings["score"] - data.ratings.train[ids]) ** 2
            else:
                losses = -quantity_of("loss", standings[:, None], sigmoid=False)
            found[ids] += losses / len(sides)
            n_done += len(ids)
            tell(events, n_done, n_all, "facts, without themselves")
    return found


def _stand_without(
    trained: Trained,
    method: Method,
    predictions: list[Prediction],
    ids: FactIds,
    events: Events,
) -> Standings:
    """(n,) the standing of each prediction without the fact at the same position.

    What the method prepares is not stored: nobody asks for it again.
    """
    scored = [trained.score(prediction) for prediction in predictions]
    context = Context(Aim.of_options(scored[0]))
    prepared, found = method.prepare(trained, predictions, events, context), []
    for place, each in enumerate(scored):
        own = prepared
        if method.prepares == "predictions":
            own = {name: array[place] for name, array in prepared.items()}
        sets = Sets.each(ids[place : place + 1])
        found.append(method.remove(each, sets, replace(context, prepared=own)).standings)
    return np.concatenate(found)


def tell(events: Events, n_done: int, n_total: int, noun: str) -> None:
    """Report progress, and stop if asked to."""
    events.emit(Advanced(n_done, n_total, noun))
    if events.should_stop():
        raise Interrupted("interrupted; nothing of the audit is kept")
