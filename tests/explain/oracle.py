"""Rollback by its definition: copy all parameters, subtract traces, score every candidate again."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import whereof

Array = NDArray[Any]

_ROOM = 1 << 22
"""Numbers that are copied at a time."""


@dataclass(frozen=True)
class Ask:
    """A prediction by ids: the predicted place and its candidates."""

    subject: int
    relation: int
    object: int
    candidates: Sequence[int]
    asks: str = "object"

    @property
    def given(self) -> int:
        return self.subject if self.asks == "object" else self.object

    @property
    def target(self) -> int:
        return self.object if self.asks == "object" else self.subject

    @property
    def place(self) -> int:
        return list(self.candidates).index(self.target)


@dataclass(frozen=True)
class Oracle:
    """A run's rows and trace in double precision, and its facts."""

    run: whereof.Run

    @property
    def facts(self) -> Array:
        return self.run.dataset.train

    def adjacent(self, ask: Ask, *rivals: int) -> list[int]:
        """Every fact that has the subject, the object, the relation or a rival, one by one."""
        entities = {ask.subject, ask.object, *rivals}
        same = not self.run.dataset.two_way
        return [
            fact_id
            for fact_id, (subject, relation, object_) in enumerate(self.facts.tolist())
            if {subject, object_} & entities or (same and relation == ask.relation)
        ]

    def scores(self, ask: Ask, sets: Sequence[Sequence[int]]) -> Array:
        """(n_sets, n_candidates) scores after each set of facts is rolled back."""
        return np.concatenate([self._scores(ask, some) for some in self._batches(sets)])

    def before(self, ask: Ask) -> Array:
        """(n_candidates,) scores with all facts."""
        return np.asarray(self.scores(ask, [[]])[0])

    def new(self, ask: Ask) -> Array:
        """(n_candidates,) whether it is the answer, or not known from training or validation."""
        data = self.run.dataset
        known = {tuple(fact) for facts in (data.train, data.valid) for fact in facts.tolist()}
        return np.array(
            [entity == ask.target or _filled(ask, entity) not in known for entity in ask.candidates]
        )

    def _batches(self, sets: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
        size = max(_ROOM // (self.run.entity_rows.size + self.run.relation_rows.size), 1)
        for start in range(0, len(sets), size):
            yield sets[start : start + size]

    def _scores(self, ask: Ask, sets: Sequence[Sequence[int]]) -> Array:
        entities, relations = self._rows_without(sets)
        data = self.run.dataset
        relation = ask.relation
        if ask.asks == "subject":
            relation += max(data.n_relations, 1)
        formula = BATCHED[self.run.config.model]
        scores = formula(
            entities[:, [ask.given]], relations[:, [relation]], entities[:, list(ask.candidates)]
        )
        if self.run.config.loss == "squared" and data.ratings is not None:
            scores = scores * data.ratings.deviation + data.ratings.mean
        return scores

    def _rows_without(self, sets: Sequence[Sequence[int]]) -> tuple[Array, Array]:
        """(n_sets, n_entities, width) and (n_sets, n_relations, width): all rows of every set."""
        run, n_sets = self.run, len(sets)
        entities = np.repeat(run.entity_rows[None].astype(np.float64), n_sets, axis=0)
        relations = np.repeat(run.relation_rows[None].astype(np.float64), n_sets, axis=0)
        owners = np.repeat(np.arange(n_sets), [len(ids) for ids in sets])
        ids = np.array([fact for some in sets for fact in some], int)
        facts = self.facts[ids]
        subject, relation, object_, *inverse = self.slots(ids)
        np.subtract.at(entities, (owners, facts[:, 0]), subject)
        np.subtract.at(relations, (owners, facts[:, 1]), relation)
        np.subtract.at(entities, (owners, facts[:, 2]), object_)
        for changes in inverse:
            n_relations = relations.shape[1] // 2
            np.subtract.at(relations, (owners, facts[:, 1] + n_relations), changes)
        return entities, relations

    def slots(self, ids: Array) -> list[Array]:
        """The traces of facts: of the subject, relation, object and inverse relation."""
        trace = np.asarray(self.run.trace)[ids].astype(np.float64)
        entity, relation = self.run.entity_rows.shape[1], self.run.relation_rows.shape[1]
        widths = [entity, relation, entity, relation][: 3 + self.run.config.inverse]
        return np.split(trace, np.cumsum(widths)[:-1], axis=1)


def _filled(ask: Ask, answer: int) -> tuple[int, int, int]:
    if ask.asks == "object":
        return ask.subject, ask.relation, answer
    return answer, ask.relation, ask.object


def log_probabilities(scores: Array) -> Array:
    """Log softmax over the last axis."""
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def quantity(of: str, scores: Array, place: int, rival: int | None = None) -> Array:
    """The quantity that influence is measured on, signed so that a fall is a worse prediction."""
    logs = log_probabilities(scores)
    if of == "probability":
        return np.exp(logs[..., place])
    if of == "loss":
        return np.asarray(logs[..., place])
    if of == "sigmoid loss":
        return np.asarray(-np.logaddexp(0, -scores[..., place]))
    if of == "log_ratio":
        return np.asarray(logs[..., place] - logs[..., rival])
    return np.asarray(scores[..., place])


def rank_of(scores: Array, place: int, new: Array) -> int:
    """1 and one more for every other new answer with a higher score."""
    return 1 + sum(score > scores[place] for i, score in enumerate(scores) if new[i] and i != place)


def _distmult(s: Array, r: Array, o: Array) -> Array:
    return np.asarray((s * r * o).sum(axis=-1))


def _complex(s: Array, r: Array, o: Array) -> Array:
    return np.asarray((_paired(s) * _paired(r) * _paired(o).conj()).sum(axis=-1).real)


def _rescal(s: Array, r: Array, o: Array) -> Array:
    width = s.shape[-1]
    return np.einsum("nk,nkl,ncl->nc", s[:, 0], r.reshape(-1, width, width), o)


def _simple(s: Array, r: Array, o: Array) -> Array:
    (s_head, s_tail), (there, back), (o_head, o_tail) = (np.split(x, 2, axis=-1) for x in (s, r, o))
    return np.asarray((s_head * there * o_tail + o_head * back * s_tail).sum(axis=-1) / 2)


def _transe(s: Array, r: Array, o: Array) -> Array:
    return np.asarray(-np.abs(s + r - o).sum(axis=-1))


def _transe_l2(s: Array, r: Array, o: Array) -> Array:
    return np.asarray(-np.sqrt(((s + r - o) ** 2).sum(axis=-1)))


def _rotate(s: Array, r: Array, o: Array) -> Array:
    apart = _paired(s) * np.exp(1j * r) - _paired(o)
    return np.asarray(-np.sqrt((np.abs(apart) ** 2).sum(axis=-1)))


def _mf(s: Array, r: Array, o: Array) -> Array:
    return np.asarray((s * o).sum(axis=-1))


def _mf_biased(s: Array, r: Array, o: Array) -> Array:
    return np.asarray((s[..., :-1] * o[..., :-1]).sum(axis=-1) + s[..., -1] + o[..., -1])


def _paired(rows: Array) -> Array:
    real, imaginary = np.split(rows, 2, axis=-1)
    return np.asarray(real + 1j * imaginary)


BATCHED: dict[str, Callable[[Array, Array, Array], Array]] = {
    "complex": _complex,
    "distmult": _distmult,
    "mf": _mf,
    "mf-biased": _mf_biased,
    "rescal": _rescal,
    "rotate": _rotate,
    "simple": _simple,
    "transe": _transe,
    "transe-l2": _transe_l2,
}
"""Scores by model: (n, 1, width) subjects and relations, (n, n_candidates, width) objects."""
