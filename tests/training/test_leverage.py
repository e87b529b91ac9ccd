"""The slopes of steps without a fact's own earlier steps, and the sweep that uses them."""

from typing import Any

import numpy as np
import pytest

from training.helpers import ITEMS, N_FACTS, finish, make_problem, make_trainer
from training.test_sweep import make_adjoint
from whereof.retrain.engine import Recipe
from whereof.training.leverage import unlearnt_slopes
from whereof.training.problem import Problem
from whereof.training.sweep import Adjoint, Sweep


def make_ratings(**settings: Any) -> Problem:
    return make_problem(loss="squared", negatives=None, optimizer="sgd", **settings)


def test_at_the_first_step_there_is_nothing_to_unlearn() -> None:
    problem = make_ratings(model="mf", epochs=2)
    slopes = unlearnt_slopes(problem, 2 * N_FACTS)
    assert slopes.shape == (2, N_FACTS, 1)
    trainer = make_trainer(problem)
    for fact in trainer.timeline.order(0):
        s, _, o = problem.facts[fact]
        rows = trainer.parameters().entity_rows
        assert slopes[0, fact, 0] == pytest.approx(rows[s] @ rows[o] - problem.targets[fact])
        trainer.advance(1)


@pytest.mark.parametrize("model", ["mf", "mf-biased"])
def test_a_fact_alone_never_learns(model: str) -> None:
    """Without its own steps nothing has changed: the slope stays that of the first rows."""
    pair = np.array([[2, 0, 9]], np.int32)
    slopes = unlearnt_slopes(make_ratings(facts=pair, model=model, epochs=5), 5)
    assert abs(slopes[0, 0, 0]) > 0.5
    np.testing.assert_allclose(slopes[:, 0, 0], slopes[0, 0, 0], rtol=1e-6)


@pytest.mark.parametrize(
    "choices",
    [
        {"model": "distmult", "optimizer": "adagrad", "accumulator": 0.1, "n3": 0.1},
        {"model": "complex", "batch_size": 4, "constraint": "max:0.7", "optimizer": "adagrad"},
        {"model": "transe", "loss": "sigmoid", "optimizer": "sgd", "batch_size": 3},
        {"model": "rotate", "loss": "sigmoid", "optimizer": "adam-lazy"},
        {"model": "mf-biased", "loss": "sigmoid", "optimizer": "sgd", "l2": 0.1},
        {"model": "mf-biased", "loss": "squared", "negatives": None, "optimizer": "sgd"},
    ],
)
def test_with_the_slopes_of_the_steps_the_sweep_is_the_same(choices: dict[str, Any]) -> None:
    """In the first epoch these are the unlearnt ones."""
    problem = make_problem(epochs=1, **choices)
    final, slopes = make_adjoint(problem), unlearnt_slopes(problem, N_FACTS)
    plain, _ = Sweep(problem, N_FACTS).run(final)
    found, _ = Sweep(problem, N_FACTS, slopes=slopes).run(final)
    np.testing.assert_allclose(found, plain, rtol=0, atol=1e-5 * np.abs(plain).max())
    other, _ = Sweep(problem, N_FACTS, slopes=1.5 * slopes).run(final)
    assert np.abs(other - plain).max() > 0.1 * np.abs(plain).max()


def test_sizes_are_right_where_rows_have_few_facts() -> None:
    """Ratings of 8 items by 6 users, learnt for long: removal compared with both sweeps."""
    problem = make_ratings(model="mf", dim=12, epochs=40, rate=0.02, l2=0.05, init=0.3)
    n_trained = len(problem.facts) * problem.config.epochs
    rows = finish(make_trainer(problem)).parameters().entity_rows
    user, items = 1, np.array(ITEMS)
    adjoint = Adjoint(np.zeros((len(items), *rows.shape)), np.zeros((len(items), 1, 0)))
    for number, item in enumerate(items):
        adjoint.entities[number, user], adjoint.entities[number, item] = rows[item], rows[user]
    recipe, truth = Recipe(problem, n_trained), []
    for fact in range(len(problem.facts)):
        without = recipe.retrain(np.array([fact])).entity_rows
        truth.append(rows[items] @ rows[user] - without[items] @ without[user])
    true = np.array(truth).T
    plain, _ = Sweep(problem, n_trained).run(adjoint)
    slopes = unlearnt_slopes(problem, n_trained)
    found, _ = Sweep(problem, n_trained, slopes=slopes).run(adjoint)
    sizes = [float((each * true).sum() / (true * true).sum()) for each in (plain, found)]
    assert sizes[0] < 0.6
    assert 0.8 < sizes[1] < 1.2
