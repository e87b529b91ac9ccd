"""Adam with deferred drift, compared with Adam that moves every row at every step."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from training.helpers import make_facts, make_problem, train
from training.oracle import Oracle
from whereof.training.problem import Problem

N_ENTITIES = 40  # of which few have a part in any update: rows drift for dozens of them


def check_closely(problem: Problem, weights: NDArray | None = None) -> None:
    trainer, wanted = train(problem, weights), Oracle(problem, weights).train()
    found = trainer.parameters()
    scale = np.abs(wanted.entity_rows).max()
    np.testing.assert_allclose(found.entity_rows / scale, wanted.entity_rows / scale, atol=1e-8)
    np.testing.assert_allclose(found.relation_rows, wanted.relation_rows, atol=1e-8 * scale)
    np.testing.assert_allclose(trainer.trace, wanted.trace, atol=1e-7 * scale)


def sparse_problem(**settings: Any) -> Problem:
    """50 facts over 8 of 40 entities, 2 negatives: 1,000 updates in 20 epochs."""
    facts = make_facts(50)
    facts[:, [0, 2]] *= 5
    defaults = {"optimizer": "adam", "negatives": 2, "epochs": 20, "rate": 0.003}
    return make_problem(facts, n_entities=N_ENTITIES, **defaults | settings)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"schedule": "exponential", "decay": 0.9, "decay_steps": 200},
        {"credit": "step", "order": "file", "redraw": False, "sampling": "independent"},
        {"model": "transe-l2", "beta1": 0.8, "epsilon": 1e-3},
    ],
    ids=["constant", "exponential", "paper", "transe"],
)
def test_deferred_drift_equals_dense_adam_after_1000_updates(settings: dict[str, Any]) -> None:
    check_closely(sparse_problem(**settings))


@pytest.mark.parametrize("schedule", ["constant", "exponential"])
def test_deferred_drift_equals_dense_adam_with_facts_removed(schedule: str) -> None:
    problem = sparse_problem(schedule=schedule, decay=0.9, decay_steps=200, batch_size=2)
    weights = (np.random.default_rng(1).random(50) > 0.4) * 1.0
    check_closely(problem, weights)


@pytest.mark.parametrize(("optimizer", "drifts"), [("adam", True), ("adam-lazy", False)])
def test_only_published_adam_moves_rows_that_no_fact_touches(optimizer: str, drifts: bool) -> None:
    """Entity 7 has a part in the first fact alone, and is no negative of the others."""
    facts = np.array([(7, 0, 0)] + [(0, 0, o) for o in range(1, 6)])
    problem = make_problem(facts, optimizer=optimizer, order="file", epochs=1, negatives=1)
    problem = replace(problem, objects=range(7))
    first, all_ = train(problem, np.arange(6) == 0), train(problem)
    change = all_.parameters().entity_rows[7] - first.parameters().entity_rows[7]
    assert (np.abs(change) > 1e-3).all() if drifts else not change.any()
