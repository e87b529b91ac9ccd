"""The kernel compared with the NumPy oracle: parameters, trace, loss and meter of whole runs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.helpers import LOSSES, OPTIMIZERS, check_by_oracle, finish, make_problem, train
from whereof.models import MODELS
from whereof.training.tables import Ledgers
from whereof.training.trainer import Trainer


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_model_loss_and_optimizer_follow_the_contract(
    model: str, loss: str, optimizer: str
) -> None:
    problem = make_problem(model=model, loss=loss, optimizer=optimizer, sampling="independent")
    check_by_oracle(problem, train(problem))


@pytest.mark.parametrize("model", ["mf", "mf-biased"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("batch_size", [1, 4])
def test_squared_loss_learns_ratings(model: str, optimizer: str, batch_size: int) -> None:
    problem = make_problem(
        model=model,
        loss="squared",
        negatives=None,
        optimizer=optimizer,
        batch_size=batch_size,
        l2=0.02,
    )
    trainer = train(problem)
    check_by_oracle(problem, trainer)
    assert problem.config.negatives == 0


@pytest.mark.parametrize("model", ["distmult", "mf"])
@pytest.mark.parametrize("inverse", [True, False])
def test_negatives_from_all_entities(model: str, inverse: bool) -> None:
    problem = make_problem(model=model, negatives_from="entities", negatives=7, inverse=inverse)
    check_by_oracle(problem, train(problem))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("credit", ["step", "source"])
@pytest.mark.parametrize("batch_size", [1, 3, 7])
def test_batches_are_shared_out_among_their_facts(
    optimizer: str, credit: str, batch_size: int
) -> None:
    problem = make_problem(
        model="complex", optimizer=optimizer, credit=credit, batch_size=batch_size, inverse=True
    )
    check_by_oracle(problem, train(problem))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("constraint", ["unit", "max:0.5"])
@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "adam-lazy"])
def test_rows_are_held_to_their_constraint(model: str, constraint: str, optimizer: str) -> None:
    problem = make_problem(model=model, constraint=constraint, optimizer=optimizer, batch_size=3)
    trainer = train(problem)
    check_by_oracle(problem, trainer)
    norms = np.linalg.norm(trainer.parameters().entity_rows, axis=1)
    if constraint == "unit":
        np.testing.assert_allclose(norms, 1)
    else:
        assert norms.max() <= 0.5 + 1e-12


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("penalty", [{"l2": 0.3}, {"n3": 0.3}, {"l2": 0.1, "n3": 0.2}])
def test_regularisation_adds_to_own_rows(model: str, penalty: dict[str, float]) -> None:
    problem = make_problem(model=model, optimizer="sgd", inverse=True, batch_size=3, **penalty)
    check_by_oracle(problem, train(problem))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(
    "schedule",
    [
        {"schedule": "exponential", "decay": 0.5, "decay_steps": 20},
        {"schedule": "inverse", "rate": 1.0},
    ],
)
@pytest.mark.parametrize("order", ["file", "shuffle", "blocks"])
def test_rates_follow_their_schedule(optimizer: str, schedule: dict[str, Any], order: str) -> None:
    problem = make_problem(optimizer=optimizer, order=order, batch_size=4, inverse=True, **schedule)
    check_by_oracle(problem, train(problem))


@pytest.mark.parametrize("model", ["distmult", "mf-biased", "rotate"])
@pytest.mark.parametrize("negatives", [1, 4, "all"])
@pytest.mark.parametrize("sampling", ["distinct", "independent"])
@pytest.mark.parametrize("redraw", [True, False])
def test_negatives_are_drawn_as_asked(
    model: str, negatives: int | str, sampling: str, redraw: bool
) -> None:
    inverse = model == "rotate"
    problem = make_problem(
        model=model, negatives=negatives, sampling=sampling, redraw=redraw, inverse=inverse
    )
    check_by_oracle(problem, train(problem))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_single_precision_stays_close_to_double(model: str, optimizer: str) -> None:
    # Where gradients cancel, single precision leaves 1e-8: too much beside a small epsilon.
    problem = make_problem(
        model=model, optimizer=optimizer, precision="float32", rate=0.01, epsilon=1e-3, batch_size=2
    )
    check_by_oracle(problem, train(problem))


COMBINATIONS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(sorted(MODELS)),
        "loss": st.sampled_from(LOSSES),
        "optimizer": st.sampled_from(OPTIMIZERS),
        "constraint": st.sampled_from(["none", "unit", "max:0.5"]),
        "batch_size": st.sampled_from([1, 2, 3, 7, 100]),
        "credit": st.sampled_from(["step", "source", "forget"]),
        "inverse": st.booleans(),
        "sampling": st.sampled_from(["distinct", "independent"]),
        "negatives": st.sampled_from([1, 3, "all"]),
        "redraw": st.booleans(),
        "order": st.sampled_from(["file", "shuffle", "blocks"]),
        "schedule": st.sampled_from(["constant", "exponential", "inverse"]),
        "decay_steps": st.sampled_from([1, 40]),
        "beta1": st.sampled_from([0.0, 0.5, 0.9]),
        "epsilon": st.sampled_from([1e-7, 1e-3]),
        "l2": st.sampled_from([0.0, 0.1]),
        "n3": st.sampled_from([0.0, 0.1]),
        "seed": st.integers(0, 2**32),
        "dim": st.integers(1, 5),
    }
)


@settings(max_examples=25)
@given(choices=COMBINATIONS, ledgers=st.sampled_from([Ledgers.SHARES, Ledgers.ALL]))
def test_any_combination_follows_the_contract(choices: dict, ledgers: Ledgers) -> None:
    problem = make_problem(**choices)
    check_by_oracle(problem, train(problem, ledgers=ledgers))


def test_same_config_gives_the_same_bits() -> None:
    first, second = (train(make_problem(optimizer="adam", batch_size=3)) for _ in range(2))
    assert np.array_equal(first.parameters().entity_rows, second.parameters().entity_rows)
    assert np.array_equal(first.trace, second.trace)


def test_training_without_trace_gives_the_same_bits() -> None:
    problem = make_problem()
    untraced, traced = finish(Trainer(problem)), train(problem)
    assert traced.trace.any()
    assert np.array_equal(untraced.parameters().entity_rows, traced.parameters().entity_rows)
    assert np.array_equal(untraced.parameters().relation_rows, traced.parameters().relation_rows)
