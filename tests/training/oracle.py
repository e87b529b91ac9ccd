"""The training step in plain NumPy and float64: short, slow and written from the contract.

It shares with the program only the initial rows, the order of the facts, the negatives and signs
drawn and, for the curvature of queries, the models' own functions. Tables are dense here: every
gradient has the shape of its table, and published Adam moves every row at every update.
"""

from dataclasses import dataclass

import numpy as np
from models.formulas import FORMULAS, Formula, Vector
from numpy.typing import NDArray

from whereof.training.config import TrainConfig
from whereof.training.problem import Problem
from whereof.training.sampling import (
    BEND_STREAM,
    OBJECT_STREAM,
    SUBJECT_STREAM,
    draw_negatives,
    key_of,
    mix,
)
from whereof.training.timeline import Timeline

Array = NDArray[np.float64]
EVERY = 8
"""One step in 8, drawn at random, shrinks the traces, as much as 8 steps would."""


@dataclass(frozen=True)
class Outcome:
    """The result of a training run; meter as METER."""

    entity_rows: Array
    relation_rows: Array
    trace: Array
    count: int
    meter: Array


@dataclass(frozen=True)
class Step:
    """One fact of a batch: its rows in this direction, its gradients and the rows it read."""

    fact: int
    s: int
    r: int
    o: int
    candidates: NDArray[np.int32]
    gradients: tuple[Array, Array]
    bends: tuple[Array, Array]


class Rows:
    """A table with Adam's or Adagrad's moments."""

    def __init__(self, rows: Array, config: TrainConfig) -> None:
        self.rows, self.config = rows.astype(np.float64), config
        self.mean = np.zeros_like(self.rows)
        self.square = np.full_like(
            self.rows, (config.accumulator or 0.0) * (config.optimizer == "adagrad")
        )
        self.scale, self.carried = np.zeros_like(self.rows), np.zeros_like(self.rows)

    def update(self, gradient: Array, touched: set[int], rate: float, t: int) -> None:
        """One textbook update; stores the scale of the gradient and the carried momentum."""
        config, rows = self.config, sorted(touched)
        beta1, beta2 = config.beta1, config.beta2
        if config.optimizer == "adam":
            rows = list(range(len(self.rows)))
        g = gradient[rows]
        if config.optimizer == "sgd":
            self.scale[rows], self.carried[rows] = rate, 0
            self.rows[rows] -= rate * g
        elif config.optimizer == "adagrad":
            self.square[rows] += g**2
            self.scale[rows] = rate / (np.sqrt(self.square[rows]) + config.epsilon)
            self.rows[rows] -= self.scale[rows] * g
        else:
            old = self.mean[rows]
            self.mean[rows] = beta1 * old + (1 - beta1) * g
            self.square[rows] = beta2 * self.square[rows] + (1 - beta2) * g**2
            corrected = rate * np.sqrt(1 - beta2**t) / (1 - beta1**t)
            scale = corrected / (np.sqrt(self.square[rows]) + config.epsilon)
            self.rows[rows] -= scale * self.mean[rows]
            self.scale[rows], self.carried[rows] = scale * (1 - beta1), -scale * beta1 * old

    def credit(self, row: int, own: Vector, n_owners: int, rate: float, t: int) -> Vector:
        """A fact's share of the row's last update, by its own gradient."""
        if self.config.credit != "step" and self.config.optimizer.startswith("adam"):
            corrected = self.square[row] / (1 - self.config.beta2**t)
            return -rate * own / (np.sqrt(corrected) + self.config.epsilon)
        return self.carried[row] / n_owners - self.scale[row] * own

    def shrink(self, row: int, bend: Vector, rate: float, t: int) -> Vector:
        """The factors by which the last update shrinks an earlier change of a row."""
        root = np.sqrt(self.square[row]) if self.config.optimizer != "sgd" else np.ones_like(bend)
        if self.config.optimizer.startswith("adam"):
            root = root / np.sqrt(1 - self.config.beta2**t)
        epsilon = self.config.epsilon if self.config.optimizer != "sgd" else 0.0
        return np.maximum(1 - rate / (root + epsilon) * bend, 0.5) ** EVERY

    def project(self, touched: set[int]) -> None:
        bound = self.config.max_norm
        for row in touched if bound is not None else ():
            length = np.linalg.norm(self.rows[row])
            if length > 0 and (self.config.constraint == "unit" or length > bound):
                self.rows[row] *= bound / length


class Oracle:
    """Trains a problem from start to end; takes a formula for a user's own model."""

    def __init__(
        self,
        problem: Problem,
        weights: Array | None = None,
        formula: Formula | None = None,
    ) -> None:
        self.problem, self.config = problem, problem.config
        self.weights = np.ones(len(problem.facts)) if weights is None else weights
        self.formula = formula or FORMULAS[problem.model.name]
        self.entities, self.relations = (Rows(rows, self.config) for rows in problem.initial_rows())
        self.trace = np.zeros((len(problem.facts), problem.trace_width))
        self.count, self.meter = 0, np.zeros(5)

    def train(self) -> Outcome:
        config, n_facts = self.config, len(self.problem.facts)
        timeline = Timeline(config, self.problem.calendar, self.problem.n_directions)
        update = 0
        for epoch in range(config.epochs):
            order = timeline.order(epoch)
            for first in range(0, n_facts, config.batch_size):
                batch = [i for i in order[first : first + config.batch_size] if self.weights[i]]
                for direction in range(self.problem.n_directions):
                    if batch:
                        self._update(batch, epoch, direction, rate_of(config, update))
                    update += 1
        if config.optimizer == "adam":
            self._project(set(range(self.problem.n_entities)), self._all_relations)
        return Outcome(self.entities.rows, self.relations.rows, self.trace, self.count, self.meter)

    @property
    def _all_relations(self) -> set[int]:
        return set(range(self.problem.n_relation_rows))

    def _update(self, batch: list[int], epoch: int, direction: int, rate: float) -> None:
        turned = [self._turn(i, epoch, direction) for i in batch]
        read = {int(row) for s, _, _, negatives in turned for row in (s, *negatives)}
        used = {r for _, r, _, _ in turned}
        if self.config.optimizer == "adam":  # rows that drifted are projected when they are read
            self._project(read, used)
        steps = [
            self._step(i, epoch, direction, *rest) for i, rest in zip(batch, turned, strict=True)
        ]
        self.count += 1
        self.entities.update(sum(x.gradients[0] for x in steps), read, rate, self.count)
        self.relations.update(sum(x.gradients[1] for x in steps), used, rate, self.count)
        if self.config.credit == "forget":
            self._forget(steps, read, used, rate)
        self._credit(steps, direction, rate)
        self._project(read, used)

    def _turn(self, fact: int, epoch: int, direction: int) -> tuple[int, int, int, NDArray]:
        """Subject, relation, object and candidates of a fact in one direction."""
        problem, config = self.problem, self.config
        s, r, o = (int(x) for x in problem.facts[fact])
        answers, stream = problem.objects, OBJECT_STREAM
        if direction == 1:
            s, r, o = o, r + max(problem.n_relations, 1), s
            answers, stream = problem.subjects, SUBJECT_STREAM
        if config.negatives_from == "entities":
            answers = range(problem.n_entities)
        negatives = len(answers) - 1 if config.negatives == "all" else config.negatives
        candidates = np.zeros(1 + negatives, np.int32)
        epoch = epoch if config.redraw else 0
        key = key_of(np.uint64(config.seed), stream, np.uint64(fact), np.uint64(epoch))
        distinct = config.sampling == "distinct" or config.negatives == "all"
        draw_negatives(np.uint64(key), distinct, o, answers.start, len(answers), candidates)
        return s, r, o, candidates

    def _step(
        self,
        fact: int,
        epoch: int,
        direction: int,
        s: int,
        r: int,
        o: int,
        candidates: NDArray[np.int32],
    ) -> Step:
        """Loss and gradients of one fact, in the shape of both tables."""
        E, R = self.entities.rows, self.relations.rows
        matches = [self.formula(E[s], R[r], E[c]) for c in candidates]
        scores = np.array([score for score, _ in matches])
        loss, weights = self._loss(fact, scores)
        loss, weights = self.weights[fact] * loss, self.weights[fact] * weights
        d_entities, d_relations = np.zeros_like(E), np.zeros_like(R)
        for c, weight, (_, (d_s, d_r, d_o)) in zip(candidates, weights, matches, strict=True):
            d_entities[s] += weight * d_s
            d_relations[r] += weight * d_r
            d_entities[c] += weight * d_o
        model = self.problem.model
        for row in (s, o):
            d_entities[row] += self.weights[fact] * self._penalty_slope(E[row], model.entity_parts)
        if not model.relation_phases:  # an angle has no size to hold down
            d_relations[r] += self.weights[fact] * self._penalty_slope(R[r], model.relation_parts)
        norms = [np.linalg.norm(x) for x in (E[s], E[o], R[r], *matches[0][1])]
        self.meter[:2] += loss, 1
        self.meter[2:] = np.maximum(self.meter[2:], [max(norms[:2]), norms[2], max(norms[3:])])
        bends = (np.zeros_like(E), np.zeros_like(R))
        key = int(
            key_of(
                np.uint64(self.config.seed),
                BEND_STREAM,
                np.uint64(fact),
                np.uint64(2 * epoch + direction),
            )
        )
        if self.config.credit == "forget" and key % EVERY == 0:
            signs = signs_of(key, self.problem.widths.query)
            slopes = weights / self.weights[fact]
            self._bend(bends, s, r, candidates, slopes, [d for _, (_, _, d) in matches], signs)
            for row in (s, o):
                bends[0][row] += self._penalty_bend(E[row], model.entity_parts)
            if not model.relation_phases:
                bends[1][r] += self._penalty_bend(R[r], model.relation_parts)
        bends = (self.weights[fact] * bends[0], self.weights[fact] * bends[1])
        return Step(fact, s, r, o, candidates, (d_entities, d_relations), bends)

    def _bend(
        self,
        bends: tuple[Array, Array],
        s: int,
        r: int,
        candidates: NDArray[np.int32],
        slopes: Vector,
        d_objects: list[Vector],
        signs: Vector,
    ) -> None:
        """Add the diagonal of the loss's curvature along the rows of one fact."""
        problem, n, loss = self.problem, len(candidates), self.config.loss
        E, R = self.entities.rows, self.relations.rows
        rows, at = np.unique(candidates, return_inverse=True)
        by_row = np.zeros(len(rows))
        np.add.at(by_row, at.reshape(-1), slopes)
        for row, slope in zip(rows, by_row, strict=True):
            d_object = d_objects[int(np.flatnonzero(candidates == row)[0])]
            bends[0][row] += bend(loss, slope, n) * d_object**2
        shares = np.array([bend(loss, slope, n) for slope in slopes])
        if loss == "softmax":
            shares = slopes + (np.arange(n) == 0)
            shares[shares * n < 0.1] = 0
        q, model = np.zeros(problem.widths.query), problem.model
        model.query(E[s], R[r], q)
        d_queries = np.array([query_slope(model.match, q, E[c]) for c in candidates])
        spread = shares @ d_queries**2
        if loss == "softmax":
            spread -= (shares @ d_queries) ** 2 / shares.sum()
        d_s, d_r = np.zeros(E.shape[1]), np.zeros(R.shape[1])
        model.query_vjp(E[s], R[r], signs * np.sqrt(np.maximum(spread, 0)), d_s, d_r)
        bends[0][s] += d_s**2
        bends[1][r] += d_r**2

    def _penalty_bend(self, row: Vector, parts: int) -> Vector:
        modulus = np.tile(np.sqrt(np.sum(row.reshape(parts, -1) ** 2, axis=0)), parts)
        return self.config.l2 + self.config.n3 * (modulus + row**2 / np.maximum(modulus, 1e-30))

    def _forget(self, steps: list[Step], read: set[int], used: set[int], rate: float) -> None:
        """Shrink the traces of all facts by the curvature of the facts of the batch but itself."""
        width, r_width = self.problem.widths.entity, self.problem.widths.relation
        half = self.problem.n_relation_rows // 2
        for i, (s, r, o) in enumerate(self.problem.facts):
            others = [x for x in steps if x.fact != i]
            slots = [(0, self.entities, 0, s, read), (width, self.relations, 1, r, used)]
            slots.append((width + r_width, self.entities, 0, o, read))
            if self.problem.config.inverse:
                slots.append((2 * width + r_width, self.relations, 1, r + half, used))
            for start, table, side, row, touched in slots:
                bends = sum((x.bends[side][row] for x in others), np.zeros(table.rows.shape[1]))
                if row in touched:
                    factors = table.shrink(row, bends, rate, self.count)
                    self.trace[i, start : start + len(factors)] *= factors

    def _loss(self, fact: int, scores: Vector) -> tuple[float, Vector]:
        if self.config.loss != "squared":
            return LOSSES[self.config.loss](scores)
        miss = scores - self.problem.targets[fact]
        return float(miss[0] ** 2 / 2), miss

    def _penalty_slope(self, row: Vector, parts: int) -> Vector:
        """Slope of l2/2 |x|^2 + n3/3 |x|^3, |.| a complex number's modulus where there are two."""
        modulus = np.tile(np.sqrt(np.sum(row.reshape(parts, -1) ** 2, axis=0)), parts)
        return self.config.l2 * row + self.config.n3 * modulus * row

    def _credit(self, steps: list[Step], direction: int, rate: float) -> None:
        """Add each fact's share of the rows s, r, o to the trace; a self-loop's to its subject."""
        width, r_width = self.problem.widths.entity, self.problem.widths.relation
        owned = [row for x in steps for row in {x.s, x.o}]
        used = [x.r for x in steps]
        for x in steps:
            subject, _, obj = self.problem.facts[x.fact]
            slots = [(0, subject)] if subject == obj else [(0, subject), (width + r_width, obj)]
            line = self.trace[x.fact]
            for start, row in slots:
                line[start : start + width] += self.entities.credit(
                    row, x.gradients[0][row], owned.count(row), rate, self.count
                )
            start = width if direction == 0 else 2 * width + r_width
            line[start : start + r_width] += self.relations.credit(
                x.r, x.gradients[1][x.r], used.count(x.r), rate, self.count
            )

    def _project(self, entities: set[int], relations: set[int]) -> None:
        self.entities.project(entities)
        model = self.problem.model
        if not (model.relation_phases or model.two_way):
            self.relations.project(relations)


def rate_of(config: TrainConfig, update: int) -> float:
    """The rate of an update, counted from 0 over all epochs, removed ones included."""
    if config.schedule == "exponential":
        return config.rate * config.decay ** (update / config.decay_steps)
    return config.rate / (update + 1) if config.schedule == "inverse" else config.rate


def bend(loss: str, slope: float, n: int) -> float:
    """Second derivative of the loss in a score, from the first; 0 for the least probable."""
    if loss == "squared":
        return 1.0
    if loss == "softmax":
        return 0.0 if abs(slope) * n < 0.1 else abs(slope) * (1 - abs(slope))
    return max(abs(slope) * (1 - n * abs(slope)), 0.0)


def query_slope(match: str, q: Vector, row: Vector) -> Vector:
    """d score / d query."""
    if match == "dot":
        return np.concatenate([row, np.ones(len(q) - len(row))])
    if match == "l1":
        return np.sign(row - q)
    distance = np.linalg.norm(q - row)
    return (row - q) / distance if distance > 0 else np.zeros_like(q)


def signs_of(key: int, n: int) -> Vector:
    """The random signs of a step, one for every number of its query."""
    places = range(n)
    words = [int(mix(np.uint64((key + k // 64) % 2**64))) for k in places]
    return np.array([1.0 if word >> k % 64 & 1 else -1.0 for k, word in enumerate(words)])


def softmax(scores: Vector) -> tuple[float, Vector]:
    """Cross-entropy of the softmax over the candidates, the true one first."""
    p = np.exp(scores - scores.max())
    p /= p.sum()
    return -float(np.log(p[0])), p - (np.arange(len(p)) == 0)


def sigmoid(scores: Vector) -> tuple[float, Vector]:
    """Mean over the candidates of the sigmoids' cross-entropy."""
    truth = (np.arange(len(scores)) == 0).astype(float)
    p = 1 / (1 + np.exp(-scores))
    loss = -(truth * np.log(p) + (1 - truth) * np.log(1 - p))
    return float(loss.mean()), (p - truth) / len(scores)


LOSSES = {"softmax": softmax, "sigmoid": sigmoid}
