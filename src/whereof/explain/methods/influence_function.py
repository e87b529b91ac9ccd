"""Influence functions: a first-order estimate of the parameters without a fact.

At a minimum of the summed loss, removing fact i moves the parameters by H^-1 grad L_i, where H is
the Hessian of the sum. So f falls by -grad f^T H^-1 grad L_i. One solve for all facts gives s = (H
+ damping)^-1 grad f; the influence of fact i is -s . grad L_i.

How H is computed depends on the number of parameters:
- few parameters: a dense matrix, by differences of gradients. Training rarely stops at a minimum.
  So if H with its damping is not positive definite, its Gauss-Newton part is used instead, which
  always is;
- many parameters: the Gauss-Newton part, which is never stored: conjugate gradients need only its
  products with vectors. They stop after a fixed number of products, which also damps the result.

If there are many facts, H comes from a seeded sample of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from whereof.explain.losses import Losses, as_rows
from whereof.explain.method import Context, Method
from whereof.explain.methods.gradient import gradient_of
from whereof.predict.scored import ScoredPrediction, Trained
from whereof.run.files import Arrays, like
from whereof.training.sampling import CURVATURE_STREAM, shuffled
from whereof.types import FactIds, Numbers

DAMPING = 1.0
"""Damping: added to the curvature of every parameter, like weight decay of this strength."""
MOST_DENSE = 2000
"""Up to this number of parameters the Hessian is a dense matrix."""
_MOST_FACTS = 2048
"""Maximum number of facts for the Hessian."""
_MOST_STEPS = 40
"""Maximum number of steps of conjugate gradients."""
_CLOSE = 1e-8
"""Relative residual at which conjugate gradients stop."""
_STEP = 1e-5
"""Step of the finite differences, in every parameter."""


class InfluenceFunction(Method):
    """Influence by the inverse Hessian: -grad f^T (H + damping)^-1 grad L_i."""

    name = "influence-function"
    title = "Influence function"
    phrase = "estimate from the curvature of the loss"
    citation = (
        "Koh and Liang, Understanding Black-box Predictions via Influence Functions, ICML 2017"
    )
    needs = frozenset({"formula"})
    can = frozenset({"contrast", "non-adjacent facts"})
    nominates = False  # a prediction may take a minute

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        trained = scored.trained
        gradient = gradient_of(scored, context.aim)
        if len(gradient) <= MOST_DENSE:
            solved = np.asarray(np.linalg.solve(damped_hessian(trained, context.seed), gradient))
        else:
            curvature = Curvature.of(trained, context.seed)
            solved = solve_by_conjugate_gradients(curvature.gauss_newton, gradient, DAMPING)
        return -Losses(trained).products(fact_ids, solved)


INFLUENCE_FUNCTION = InfluenceFunction()


@dataclass(frozen=True, eq=False)
class Curvature:
    """Second derivatives of the summed training loss, as products with vectors."""

    losses: Losses
    fact_ids: FactIds
    """The sampled facts."""
    weight: float
    """Number of facts that each sampled fact represents."""

    @classmethod
    def of(cls, trained: Trained, seed: int) -> "Curvature":
        n_facts = trained.dataset.n_facts
        order = shuffled(np.uint64(seed), n_facts, 0, CURVATURE_STREAM)
        fact_ids = np.sort(order[:_MOST_FACTS])
        return cls(Losses(trained), fact_ids, n_facts / len(fact_ids))

    def gauss_newton(self, vector: Numbers) -> Numbers:
        """Product of the Gauss-Newton matrix with a vector."""
        return self.weight * self.losses.curve(self.fact_ids, vector)

    def hessian(self, vector: Numbers) -> Numbers:
        """Product of the Hessian with a vector, by central differences of the gradient."""
        ahead, behind = self.moved(_STEP * vector), self.moved(-_STEP * vector)
        return (ahead.gradient() - behind.gradient()) / (2 * _STEP)

    def gradient(self) -> Numbers:
        return self.weight * self.losses.gradient(self.fact_ids)

    def moved(self, change: Numbers | float) -> "Curvature":
        """The same at changed parameters, in double precision."""
        trained = self.losses.trained
        here = np.concatenate([rows.ravel() for rows in trained.parameters]).astype(np.float64)
        rows = as_rows(here + change, trained.scorer)
        there = replace(trained, scorer=replace(trained.scorer, **rows._asdict()))
        return replace(self, losses=Losses(there))


def damped_hessian(trained: Trained, seed: int) -> Numbers:
    """(n_parameters, n_parameters) a positive definite Hessian, shared by all predictions."""
    size = sum(rows.size for rows in trained.parameters)
    has_shape = like(hessian=((size, size), "float64"))

    def make() -> dict[str, Numbers]:
        curvature = Curvature.of(trained, seed).moved(0)  # in double precision
        hessian = dense(curvature.hessian, size) + DAMPING * np.eye(size)
        if not _is_positive(hessian):
            hessian = dense(curvature.gauss_newton, size) + DAMPING * np.eye(size)
        return {"hessian": hessian}

    def fits(arrays: Arrays) -> bool:
        return has_shape(arrays) and _is_positive(arrays["hessian"])

    return trained.store.get(f"influence-function-hessian-{seed}", make, fits)["hessian"]


def _is_positive(matrix: Numbers) -> bool:
    """Whether a symmetric matrix is positive definite."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def dense(product: Callable[[Numbers], Numbers], size: int) -> Numbers:
    """(size, size) a symmetric matrix from its products with unit vectors."""
    matrix = np.array([product(unit) for unit in np.eye(size)])
    return np.asarray((matrix + matrix.T) / 2)


def solve_by_conjugate_gradients(
    product: Callable[[Numbers], Numbers], wanted: Numbers, damping: float
) -> Numbers:
    """Solve (matrix + damping) x = wanted approximately, for a positive semidefinite matrix."""
    found, rest = np.zeros_like(wanted), wanted.copy()
    direction, square = rest.copy(), float(rest @ rest)
    enough = _CLOSE**2 * square
    for _ in range(_MOST_STEPS):
        if square <= enough:
            break
        image = product(direction) + damping * direction
        step = square / float(direction @ image)
        found += step * direction
        rest -= step * image
        before, square = square, float(rest @ rest)
        direction = rest + square / before * direction
    return found
