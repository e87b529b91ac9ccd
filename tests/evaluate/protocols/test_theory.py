"""The paper's lemmas hold on small random problems; bounds and errors match their definitions."""

import itertools
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.formulas import Formula, complex_, distmult, rescal, simple
from numpy.typing import NDArray
from training.helpers import make_problem, make_trainer

import whereof
from evaluate.small import (
    N_FACTS,
    Sample,
    influences,
    probabilities,
    retrain,
    run_protocol,
    sampled,
    scores_of,
)
from whereof.evaluate.protocols.theory import (
    Theory,
    constants,
    recurrence_bound,
    schedule_constant,
    stability_bound,
)
from whereof.models import MODELS

Array = NDArray[np.float64]
FORMULAS: dict[str, tuple[Formula, int]] = {
    "distmult": (distmult, 4),
    "complex": (complex_, 4),
    "rescal": (rescal, 16),
    "simple": (simple, 4),
}
"""And the width of a relation, where that of an entity is 4."""
Small = Callable[..., whereof.Run]
SEEDS = st.integers(0, 2**32)
SLACK = 1 + 1e-9


def rows_within(rng: np.random.Generator, C: float, *widths: int) -> tuple[Array, ...]:
    """Rows of norm at most C; now and then all along one axis, where a score is steepest."""
    if rng.random() < 0.3:
        return tuple(C * np.eye(width)[0] for width in widths)
    found = []
    for width in widths:
        row = rng.normal(size=width)
        size = C if rng.random() < 0.5 else C * rng.random()
        found.append(row / np.linalg.norm(row) * size)
    return tuple(found)


def length(*parts: Array) -> float:
    return float(np.linalg.norm(np.concatenate(parts)))


def test_every_model_with_constants_is_tested() -> None:
    assert set(FORMULAS) == {name for name, model in MODELS.items() if model.trilinear}


@pytest.mark.parametrize("name", FORMULAS)
@given(SEEDS, st.floats(0.1, 10))
def test_slope_and_smoothness_bound_the_score(name: str, seed: int, C: float) -> None:
    """|f(w) - f(w')| <= 2 C^2 |w - w'| and |f'(w) - f'(w')| <= 4 C |w - w'|."""
    formula, width = FORMULAS[name]
    rng = np.random.default_rng(seed)
    w, other = (rows_within(rng, C, 4, width, 4) for _ in range(2))
    if rng.random() < 0.5:  # a little smaller, where the slope itself is seen
        other = tuple((1 - 1e-4) * row for row in w)
    apart = length(*(a - b for a, b in zip(w, other, strict=True)))
    (score, slopes), (score_of_other, slopes_of_other) = formula(*w), formula(*other)
    turned = length(*(a - b for a, b in zip(slopes, slopes_of_other, strict=True)))
    rounding = 1e-12 * C**3
    assert abs(score - score_of_other) <= constants(C)[0] * apart * SLACK + rounding
    assert turned <= constants(C)[1] * apart * SLACK + rounding


def test_a_loop_is_steeper_than_the_lemma_says() -> None:
    """One row in two places: the slope reaches sqrt(5) C^2."""
    C = 3.0
    s = r = np.array([C, 0.0])
    d_s, d_r, d_o = distmult(s, r, s)[1]
    assert length(d_s + d_o, d_r) == pytest.approx(math.sqrt(5) * C**2)
    assert length(d_s + d_o, d_r) > constants(C)[0]


@given(SEEDS, st.floats(0.1, 5), st.floats(1e-3, 1))
def test_a_plain_step_is_expansive(seed: int, C: float, rate: float) -> None:
    """|G(w) - gamma - G(w')| <= |w - gamma - w'| + a beta |w - w'|, for the score itself."""
    rng = np.random.default_rng(seed)
    w, other, gamma = (np.concatenate(rows_within(rng, C, 4, 4, 4)) for _ in range(3))

    def step(rows: Array) -> Array:
        return rows - rate * np.concatenate(distmult(*np.split(rows, 3))[1])

    found = length(step(w) - gamma - step(other))
    wanted = length(w - gamma - other) + rate * constants(C)[1] * length(w - other)
    assert found <= wanted * SLACK


@settings(max_examples=30)
@given(SEEDS, st.floats(0.2, 2), st.sampled_from([0.01, 0.1, 1.0]))
def test_the_step_of_training_is_expansive(seed: int, C: float, rate: float) -> None:
    """The same for SGD as it trains, on the softmax loss, with the smoothness that this has.

    With rows of norm at most C, where a candidate may be the subject, a score has slopes of at most
    sqrt(5) C^2 and smoothness (1 + sqrt(5)) C. The Hessian of the loss is the variance of slopes
    under the softmax, plus curvatures weighed by numbers whose absolute values add up to 2 at most.
    """
    rng = np.random.default_rng(seed)
    beta = 5 * C**4 + 2 * (1 + math.sqrt(5)) * C
    w, other, gamma = (np.array(rows_within(rng, C, *[3] * 11)) for _ in range(3))
    moved, other_moved = (step_of_training(rows, rate) for rows in (w, other))
    found = np.linalg.norm(moved - gamma - other_moved)
    wanted = np.linalg.norm(w - gamma - other) + rate * beta * np.linalg.norm(w - other)
    assert found <= wanted * SLACK
    assert not np.array_equal(moved, w)


def step_of_training(rows: Array, rate: float) -> Array:
    """(8 entities + 3 relations, 3) after one step of SGD on one fact, as the package takes it."""
    facts = np.array([[0, 1, 2]])
    problem = make_problem(facts, optimizer="sgd", rate=rate, epochs=1, negatives="all", n3=0.0)
    trainer = make_trainer(problem)
    for table, mine in zip(trainer.tables, np.split(rows, [8]), strict=True):
        table.state[:] = mine
    trainer.advance(1)
    found = trainer.parameters()
    return np.concatenate([found.entity_rows, found.relation_rows])


class Pair(NamedTuple):
    """Two trainings, with and without a fact, on the way."""

    w: Array
    other: Array
    trace: Array


def distances(
    orders: list[tuple[int, ...]], start: Array, facts: list[list[int]], rates: list[float]
) -> tuple[Array, float]:
    """(n_steps, 2) mean |w - w'| and |w - gamma - w'| after every step; the largest norm met.

    SGD on the score of DistMult; fact 0 is the one that is left out.
    """
    sums, largest = np.zeros((len(rates), 2)), 0.0
    for order in orders:
        now = Pair(start.copy(), start.copy(), np.zeros_like(start))
        for t, (fact, rate) in enumerate(zip(order, rates, strict=True)):
            norms = np.linalg.norm(np.concatenate([now.w, now.other]), axis=1)
            largest = max(largest, norms.max())
            change = -rate * slopes_of(now.w, facts[fact])
            now.other[:] -= rate * slopes_of(now.other, facts[fact]) if fact else 0
            now.w[:] += change
            now.trace[:] += 0 if fact else change
            sums[t] += [
                np.linalg.norm(now.w - now.other),
                np.linalg.norm(now.w - now.trace - now.other),
            ]
    return sums / len(orders), float(largest)


def slopes_of(w: Array, fact: list[int]) -> Array:
    slopes = np.zeros_like(w)
    slopes[fact] = distmult(*w[fact])[1]
    return slopes


def recur(L: float, beta: float, rates: list[float], n: int) -> Array:
    """(n_steps, 2) A and B of the paper's proof."""
    A = B = 0.0
    found = []
    for a in rates:
        A, B = (
            (1 - 1 / n) * (1 + a * beta) * A + (A + a * L) / n,
            (1 - 1 / n) * (B + a * beta * A) + B / n,
        )
        found.append((A, B))
    return np.array(found)


@settings(max_examples=40)
@given(SEEDS, st.floats(0.01, 0.5), st.booleans())
def test_rollback_stays_closer_than_the_recurrence(seed: int, rate: float, drawn: bool) -> None:
    """Every order of facts, averaged: exact expectations, of draws or of permutations."""
    rng = np.random.default_rng(seed)
    n, facts = 4, [[0, 4, 1], [1, 4, 2], [0, 5, 2], [3, 5, 1]]  # three entities and a relation each
    start = rng.normal(size=(6, 3))
    if drawn:
        orders, n_steps = list(itertools.product(range(n), repeat=4)), 4
    else:
        once = list(itertools.permutations(range(n)))
        orders, n_steps = [order + order for order in once], 2 * n
    rates = [rate / (t + 1) for t in range(n_steps)]
    found, C = distances(orders, start, facts, rates)
    bounds = recur(*constants(C), rates, n)
    assert (bounds[:, 1] < bounds[:, 0]).all()
    assert (found[:, 0] <= bounds[:, 0]).all()
    assert (found[:, 1] <= np.maximum(bounds[:, 1], 1e-12)).all()


NUMBERS = st.tuples(
    st.floats(0.05, 20),  # L
    st.floats(0.05, 20),  # beta
    st.integers(2, 12),  # n_facts
    st.lists(st.floats(0, 0.3), min_size=1, max_size=30),
)


@given(NUMBERS)
def test_the_recurrence_is_a_double_loop(numbers: tuple[float, float, int, list[float]]) -> None:
    L, beta, n, rates = numbers
    wanted = []
    for start in range(min(n, len(rates)) + 1):
        delta = 0.0
        for a in rates[start:]:
            delta = (1 - 1 / n) * (1 + a * beta) * delta + (delta + a * L) / n
        wanted.append(start / n + L * delta)
    found = recurrence_bound(L, beta, np.array(rates), n)
    assert found == pytest.approx(min(wanted), rel=1e-9, abs=1e-12)


@given(NUMBERS, st.floats(1, 3))
def test_the_recurrence_grows(numbers: tuple[float, float, int, list[float]], times: float) -> None:
    L, beta, n, rates = numbers
    bound = recurrence_bound(L, beta, np.array(rates), n)
    for more in (
        recurrence_bound(L * times, beta, np.array(rates), n),
        recurrence_bound(L, beta * times, np.array(rates), n),
        recurrence_bound(L, beta, np.array([*rates, 0.1]), n),
    ):
        assert more >= bound / SLACK


def test_a_recurrence_that_outgrows_floats_is_infinite() -> None:
    assert recurrence_bound(10, 100, np.full(5000, 1.0), 50) == math.inf


@given(
    st.floats(0.1, 30), st.floats(0.1, 30), st.floats(1e-3, 50), st.integers(2, 10**6), st.data()
)
def test_the_stability_bound_is_its_formula(
    L: float, beta: float, c: float, n: int, data: st.DataObject
) -> None:
    T = data.draw(st.integers(1, 10**7))
    with localcontext() as context:
        context.prec = 60
        slope, steps, power = Decimal(L), Decimal(T), Decimal(beta) * Decimal(c)
        wanted = (1 + 1 / power) / (n - 1)
        wanted *= (Decimal(c) * slope**2) ** (1 / (power + 1)) * steps ** (power / (power + 1))
    assert stability_bound(L, beta, c, n, T) == pytest.approx(float(wanted), rel=1e-9)
    assert stability_bound(2 * L, beta, c, n, T) > stability_bound(L, beta, c, n, T)
    assert stability_bound(L, beta, c, n, 2 * T) > stability_bound(L, beta, c, n, T)
    assert stability_bound(L, beta, c, n + 1, T) < stability_bound(L, beta, c, n, T)


@given(st.floats(0.1, 3), st.floats(0.1, 3), st.floats(0.01, 1), st.integers(2, 50))
def test_the_closed_form_is_not_below_the_recurrence(
    L: float, beta: float, c: float, n: int
) -> None:
    """Its proof takes t0 as any number: where the best one is a step of the first epoch."""
    T = 4 * n
    rates = c / np.arange(1, T + 1)
    best = (c * L**2) ** (1 / (beta * c + 1)) * T ** (beta * c / (beta * c + 1))
    if 1 <= best <= n:
        # t0 is rounded up to a step, which adds 1 / n at most.
        found = recurrence_bound(L, beta, rates, n)
        assert found <= (stability_bound(L, beta, c, n, T) + 1 / n) * SLACK


def test_one_fact_has_no_stability() -> None:
    assert stability_bound(1, 1, 1, 1, 10) == math.inf


def test_the_constant_of_a_schedule() -> None:
    assert schedule_constant(np.full(20, 0.5)) == 10
    assert schedule_constant(0.3 / np.arange(1, 50)) == pytest.approx(0.3)
    assert schedule_constant(np.array([0.1, 0.4, 0.2, 0.05])) == pytest.approx(0.8)


def theorise(samples: list[Sample]) -> Theory:
    found: Theory = run_protocol("theory", samples).results["theory"]
    return found


def test_errors_and_normaliser_are_those_of_the_definition(small_run: Small) -> None:
    run = small_run()
    with sampled(run) as sample:
        found = theorise([sample])
        control, estimated = retrain(sample, []), influences(run, sample, "rollback")
        drawn, original = influences(run, sample, "random"), probabilities(sample, control)
        misses = []
        for i, (rollback, random) in enumerate(zip(estimated, drawn, strict=True)):
            for fact in {rollback.argmax(), *np.argsort(-random, kind="stable")[:3]}:
                actual = probabilities(sample, retrain(sample, [fact]))[i]
                misses.append((abs(original[i] - rollback[fact] - actual), original[i] - actual))
    assert found.n_pairs == len(misses)
    assert found.rollback_error == pytest.approx(np.mean([miss for miss, _ in misses]))
    assert found.original_error == pytest.approx(np.mean([abs(miss) for _, miss in misses]))
    facts = run.dataset.train
    scores = np.array([scores_of(control, s, r) for s, r, _ in facts])
    sums = np.log(np.exp(scores).sum(axis=1))
    assert found.normaliser_mean == pytest.approx(sums.mean())
    assert found.normaliser_std == pytest.approx(sums.std())
    assert found.score_std == pytest.approx(scores[np.arange(len(facts)), facts[:, 2]].std())


def test_constants_come_from_the_norms_and_rates_met(small_run: Small) -> None:
    settings = {"schedule": "inverse", "rate": 0.5}
    runs = [small_run(**settings, seed=seed, epochs=epochs) for seed, epochs in ((5, 4), (6, 6))]
    with sampled(runs[0]) as one, sampled(runs[1]) as two:
        found = theorise([one, two])
        alone = [theorise([one]), theorise([two])]
        results = [sample.case.result for sample in (one, two)]
    C = max(max(result["norms"].values()) for result in results)
    assert (found.model, found.n_facts, found.n_steps) == ("distmult", N_FACTS, 6 * N_FACTS)
    assert (found.largest_norm, found.lipschitz, found.smoothness) == (C, 2 * C**2, 4 * C)
    assert found.lipschitz_met == max(result["lipschitz"] for result in results)
    assert found.rate == pytest.approx(0.5)
    rates = 0.5 / np.arange(1, 6 * N_FACTS + 1)
    constants = (2 * C**2, 4 * C)
    assert found.stability_bound == stability_bound(*constants, found.rate, N_FACTS, 6 * N_FACTS)
    assert found.recurrence_bound == pytest.approx(recurrence_bound(*constants, rates, N_FACTS))
    assert found.n_pairs == sum(each.n_pairs for each in alone)


@pytest.mark.parametrize(
    ("settings", "known"), [({"model": "transe"}, False), ({"batch_size": 5}, True)]
)
def test_bounds_are_left_out_where_none_is_proved(
    small_run: Small, settings: dict[str, object], known: bool
) -> None:
    with sampled(small_run(**settings)) as sample:
        found = theorise([sample])
    assert (found.lipschitz is not None, found.smoothness is not None) == (known, known)
    assert found.stability_bound is None
    assert found.recurrence_bound is None
    assert found.rollback_error > 0
    batches = N_FACTS // sample.case.retrainer.recipe.problem.config.batch_size
    assert found.n_steps == 6 * batches


def test_ratings_have_no_normaliser(ratings: whereof.Run) -> None:
    with sampled(ratings, true=True, split="train") as sample:
        found = theorise([sample])
    assert found.normaliser_mean is None
    assert found.normaliser_std is None
    assert found.score_std is None
    assert found.original_error > 0
