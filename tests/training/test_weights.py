"""The weight of a fact scales its gradient. With weight 0 it is skipped: the others get the same
negatives, order and learning rates."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.helpers import (
    LOSSES,
    N_FACTS,
    OPTIMIZERS,
    check_by_oracle,
    make_facts,
    make_problem,
    make_trainer,
    train,
)
from whereof.errors import Interrupted
from whereof.models import MODELS
from whereof.retrain.engine import Recipe

WEIGHTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=N_FACTS, max_size=N_FACTS)


@settings(max_examples=30)
@given(
    WEIGHTS.filter(any),
    st.fixed_dictionaries(
        {
            "model": st.sampled_from(sorted(MODELS)),
            "loss": st.sampled_from(LOSSES),
            "optimizer": st.sampled_from(OPTIMIZERS),
            "accumulator": st.sampled_from([0.0, 0.1]),
            "n3": st.sampled_from([0.0, 0.1]),
            "constraint": st.sampled_from(["none", "unit", "max:0.5"]),
            "schedule": st.sampled_from(["constant", "exponential", "inverse"]),
            "decay_steps": st.sampled_from([1, 20]),
            "batch_size": st.sampled_from([1, 2, 5]),
            "inverse": st.booleans(),
            "order": st.sampled_from(["file", "shuffle", "blocks"]),
            "redraw": st.booleans(),
        }
    ),
)
def test_weights_scale_gradients(chosen: list[float], choices: dict[str, Any]) -> None:
    problem, weights = make_problem(**choices), np.array(chosen)
    trainer = train(problem, weights)
    check_by_oracle(problem, trainer, weights=weights)
    assert not trainer.trace[weights == 0].any()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_weights_of_one_give_the_same_bits_as_none(optimizer: str) -> None:
    problem = make_problem(optimizer=optimizer, batch_size=2)
    none, nothing = train(problem), train(problem, np.ones(N_FACTS))
    assert np.array_equal(none.parameters().entity_rows, nothing.parameters().entity_rows)
    assert np.array_equal(none.parameters().relation_rows, nothing.parameters().relation_rows)
    assert np.array_equal(none.trace, nothing.trace)
    assert np.array_equal(none.meter, nothing.meter)


@pytest.mark.parametrize("order", ["file", "shuffle", "blocks"])
def test_removing_the_last_fact_leaves_all_before_it_untouched(order: str) -> None:
    problem = make_problem(epochs=1, order=order, schedule="inverse", rate=1.0)
    stopped = make_trainer(problem)
    last = stopped.timeline.order(0)[-1]
    stopped.advance(N_FACTS - 1)
    without = train(problem, np.arange(N_FACTS) != last)
    assert np.array_equal(stopped.parameters().entity_rows, without.parameters().entity_rows)
    assert np.array_equal(stopped.trace, without.trace)


@pytest.mark.parametrize("order", ["file", "shuffle", "blocks"])
def test_facts_added_behind_change_nothing_for_the_others(order: str) -> None:
    """Draws and order are keyed by the fact: 50 facts less the last 20 are the first 30."""
    settings = {"order": order, "optimizer": "adagrad"}
    facts = make_facts(50)
    few, many = make_problem(facts[:30], **settings), make_problem(facts, **settings)
    few_rows = train(few).parameters().entity_rows
    many_rows = train(many, np.arange(50) < 30).parameters().entity_rows
    assert np.array_equal(few_rows, many_rows)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam", "adam-lazy"])
def test_with_every_fact_removed_nothing_moves(optimizer: str) -> None:
    problem = make_problem(optimizer=optimizer)
    trainer = train(problem, np.zeros(N_FACTS))
    assert np.array_equal(trainer.parameters().entity_rows, problem.initial_rows()[0])
    assert trainer.count[0] == 0


@pytest.mark.parametrize("constraint", ["none", "unit"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_retraining_gives_the_rows_of_training_to_the_bit(optimizer: str, constraint: str) -> None:
    problem = make_problem(optimizer=optimizer, constraint=constraint, batch_size=2)
    removed = np.array([3, 7])
    whole = train(problem, problem.weights_without(removed)).parameters()
    again = Recipe(problem, N_FACTS * problem.config.epochs).retrain(removed)
    assert np.array_equal(again.entity_rows, whole.entity_rows)
    assert np.array_equal(again.relation_rows, whole.relation_rows)


def test_retraining_stops_where_the_run_was_kept() -> None:
    problem = make_problem(epochs=3)
    first = make_trainer(problem)
    first.advance(N_FACTS)
    again = Recipe(problem, N_FACTS).retrain(np.zeros(0, np.int64))
    assert np.array_equal(again.entity_rows, first.parameters().entity_rows)


def test_retraining_can_be_stopped() -> None:
    with pytest.raises(Interrupted, match="interrupted"):
        Recipe(make_problem(), N_FACTS).retrain(np.zeros(0, np.int64), lambda: True)
