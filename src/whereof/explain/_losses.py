"""The training losses of facts over all candidates, and their slopes by all parameters.

Negatives are not sampled: the loss of a fact compares its answer with every candidate. With inverse
relations a fact has two losses, one for its object and one for its subject, which add up.
Regularisation is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from whereof.data import Dataset
from whereof.errors import WhereofError
from whereof.explain._gradient_kernels import FactGradients, Tables, sum_squares, turn_into_slopes
from whereof.explain._jacobian import Jacobian, Queries, zeros
from whereof.explain._trained import Trained
from whereof.models.match import MATCH_IDS
from whereof.models.scoring import Scorer
from whereof.training.losses import LOSS_IDS
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds, Numbers, Rows

_CELLS = 1 << 22
"""Scores that are held in memory at a time."""


@dataclass(frozen=True, eq=False)
class _Block:
    """Some facts in one direction, against all candidates of that direction."""

    jacobian: Jacobian
    queries: Queries
    answers: NDArray[np.int64]
    """(n,) where the true one stands among the candidates."""
    slopes: Rows
    """(n, n_candidates) of the loss by every score."""


@dataclass(frozen=True, eq=False)
class Losses:
    """The losses of all training facts under some parameters."""

    scorer: Scorer
    dataset: Dataset
    loss: str
    inverse: bool

    @classmethod
    def of(cls, trained: Trained) -> "Losses":
        """Those of a run under its own parameters."""
        config = trained.config
        if config.loss == "squared" and trained.dataset.ratings is None:
            raise WhereofError(
                "this run learned ratings and does not hold them, so its losses are not known; "
                "choose another method, such as rollback"
            )
        return cls(trained.scorer, trained.dataset, config.loss, config.inverse)

    def products(self, fact_ids: FactIds, direction: Tables) -> Numbers:
        """(n,) gradient of every fact's loss times a direction of the parameters."""
        size = max((float(np.abs(part).max(initial=0)) for part in direction), default=0.0)
        if size == 0:
            return np.zeros(len(fact_ids))
        # In single precision a direction may be too small to be multiplied.
        unit = Tables(*(part / size for part in direction))
        out = np.zeros(len(fact_ids))
        for part, blocks in self._blocks(fact_ids):
            for block in blocks:
                changes = block.jacobian.push(block.queries, unit)
                out[part] += np.einsum("ij,ij->i", block.slopes, changes)
        return size * out

    def norms(self, fact_ids: FactIds) -> Numbers:
        """(n,) length of the gradient of every fact's loss."""
        squares, entity_rows = np.zeros(len(fact_ids)), self.scorer.entity_rows
        kind = MATCH_IDS[self.scorer.model.match]
        room = np.empty(entity_rows.shape[1], entity_rows.dtype)
        for part, blocks in self._blocks(fact_ids):
            gradients, relation_squares = self._gradients(blocks)
            sum_squares(kind, entity_rows, gradients, room, squares[part])
            squares[part] += relation_squares
        return np.sqrt(squares)

    def gradient(self, fact_ids: FactIds) -> Tables:
        """The gradient of the sum of these facts' losses."""
        out = zeros(self.scorer)
        for _, blocks in self._blocks(fact_ids):
            for block in blocks:
                block.jacobian.pull(block.queries, block.slopes, out)
        return out

    def curve(self, fact_ids: FactIds, direction: Tables) -> Tables:
        """A direction times the Gauss-Newton part of the Hessian of these facts' losses.

        That part is J^T C J, with J the slopes of the scores and C the second derivatives of the
        loss by them, and takes no direction to its opposite. The Hessian has the curvature of
        the scores themselves besides.
        """
        out = zeros(self.scorer)
        for _, blocks in self._blocks(fact_ids):
            for block in blocks:
                changes = block.jacobian.push(block.queries, direction)
                block.jacobian.pull(block.queries, self._bend(block, changes), out)
        return out

    def _bend(self, block: _Block, changes: Rows) -> Rows:
        """Changes of scores times the second derivatives of the loss by the scores."""
        each = np.arange(len(changes))
        if self.loss == "squared":
            bent = np.zeros_like(changes)
            bent[each, block.answers] = changes[each, block.answers]
            return bent
        n = 1 if self.loss == "softmax" else changes.shape[1]
        p = n * block.slopes
        p[each, block.answers] += 1
        if self.loss == "softmax":
            changes -= np.einsum("ij,ij->i", p, changes)[:, None]
            return np.asarray(p * changes)
        return np.asarray(p * (1 - p) * changes / n)

    def _gradients(self, blocks: list[_Block]) -> tuple[FactGradients, Numbers]:
        """Gradients of a block's facts in all directions, and the relations' squared norms."""
        n = len(blocks[0].answers)
        entity_rows = self.scorer.entity_rows
        weights = np.zeros((len(blocks), n, len(entity_rows)), entity_rows.dtype)
        pulled = [block.jacobian.pull_to_given(block.queries, block.slopes) for block in blocks]
        for block, row in zip(blocks, weights, strict=True):
            row[:, block.jacobian.candidates] = block.slopes
        queries = np.stack([block.queries.vectors for block in blocks])
        vectors = queries[:, :, : entity_rows.shape[1]]
        gradients = FactGradients(
            given=np.stack([block.queries.given for block in blocks]),
            queries=queries,
            products=np.einsum("dik,eik->ide", vectors, vectors),
            weights=weights,
            d_given=np.stack([part.given for part in pulled]),
        )
        relations = np.stack([part.relations for part in pulled]).astype(np.float64)
        return gradients, np.einsum("dij,dij->i", relations, relations)

    def _blocks(self, fact_ids: FactIds) -> Iterator[tuple[slice, list[_Block]]]:
        """Which facts, and they in every direction; few enough to be held in memory."""
        size = max(_CELLS // len(self.scorer.entity_rows), 1)
        for start in range(0, len(fact_ids), size):
            part = slice(start, min(start + size, len(fact_ids)))
            yield part, [self._block(fact_ids[part], d) for d in range(1 + self.inverse)]

    def _block(self, fact_ids: FactIds, direction: int) -> _Block:
        data, jacobian = self.dataset, self._jacobians[direction]
        facts = data.train[fact_ids]
        given, asked = (OBJECT, SUBJECT) if direction else (SUBJECT, OBJECT)
        relations = facts[:, RELATION] + direction * data.inverse_offset
        queries = jacobian.queries(np.ascontiguousarray(facts[:, given]), relations)
        places = data.subjects if direction else data.objects
        answers = facts[:, asked].astype(np.int64) - places.start
        slopes = jacobian.scores(queries)
        turn_into_slopes(LOSS_IDS[self.loss], slopes, answers, self._targets[fact_ids])
        return _Block(jacobian, queries, answers, slopes)

    @cached_property
    def _jacobians(self) -> tuple[Jacobian, Jacobian]:
        places = (self.dataset.objects, self.dataset.subjects)
        forward, back = (Jacobian(self.scorer, slice(p.start, p.stop)) for p in places)
        return forward, back

    @cached_property
    def _targets(self) -> Numbers:
        """(n_facts,) what the squared loss takes scores to."""
        ratings = self.dataset.ratings
        if self.loss == "squared" and ratings is not None:
            return ratings.standardised()
        return np.zeros(self.dataset.n_facts)
