"""Credit with forgetting: later steps of other facts shrink what a fact changed."""

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
    finish,
    make_problem,
    make_trainer,
    train,
)
from whereof.models import MODELS
from whereof.training.tables import Ledgers
from whereof.training.trainer import Trainer


@settings(max_examples=25)
@given(
    st.fixed_dictionaries(
        {
            "model": st.sampled_from(sorted(MODELS)),
            "loss": st.sampled_from(LOSSES),
            "optimizer": st.sampled_from(OPTIMIZERS),
            "accumulator": st.sampled_from([0.0, 0.1]),
            "constraint": st.sampled_from(["none", "max:0.5"]),
            "batch_size": st.sampled_from([1, 2, 5]),
            "inverse": st.booleans(),
            "sampling": st.sampled_from(["distinct", "independent"]),
            "negatives": st.sampled_from([1, 4, "all"]),
            "l2": st.sampled_from([0.0, 0.1]),
            "n3": st.sampled_from([0.0, 0.1]),
            "seed": st.integers(0, 1000),
        }
    ),
    st.sampled_from([Ledgers.SHARES, Ledgers.ALL]),
)
def test_forgetting_follows_the_contract(choices: dict[str, Any], ledgers: Ledgers) -> None:
    problem = make_problem(credit="forget", **choices)
    check_by_oracle(problem, train(problem, ledgers=ledgers))


@pytest.mark.parametrize("model", ["mf", "mf-biased"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_forgetting_of_ratings(model: str, optimizer: str) -> None:
    problem = make_problem(
        model=model, loss="squared", negatives=None, optimizer=optimizer, l2=0.02, credit="forget"
    )
    weights = np.tile([1.0, 0.5, 0.0], N_FACTS)[:N_FACTS]
    check_by_oracle(problem, train(problem, weights), weights=weights)


def test_forgetting_changes_the_trace_and_no_row() -> None:
    plain, forgets = (train(make_problem(credit=credit)) for credit in ("source", "forget"))
    assert np.array_equal(plain.parameters().entity_rows, forgets.parameters().entity_rows)
    assert np.array_equal(plain.parameters().relation_rows, forgets.parameters().relation_rows)
    assert np.linalg.norm(forgets.trace) < 0.95 * np.linalg.norm(plain.trace)


@pytest.mark.parametrize("stop", [3, 30, 45])
def test_a_restored_snapshot_goes_on_forgetting(stop: int) -> None:
    problem = make_problem(credit="forget", optimizer="adagrad", inverse=True)
    first = make_trainer(problem)
    done = 0
    while done < stop:
        done += first.advance(stop - done)
    snapshot = {name: array.copy() for name, array in first.snapshot().items()}
    second = Trainer(problem, first.trace.copy())
    second.restore(snapshot)
    assert np.array_equal(finish(second).trace, finish(first).trace)


def test_a_trace_cut_within_an_epoch_is_folded() -> None:
    """Half an epoch of all facts forgets as much as one whole epoch without the other half."""
    problem = make_problem(credit="forget", epochs=1)
    half = make_trainer(problem)
    half.advance(N_FACTS // 2)
    half.fold_trace()
    first = np.isin(np.arange(N_FACTS), half.timeline.order(0)[: N_FACTS // 2])
    np.testing.assert_allclose(half.trace, train(problem, first).trace, rtol=1e-12)
    before = half.trace.copy()
    half.fold_trace()
    assert np.array_equal(half.trace, before)


@pytest.mark.slow  # compiles the training step for halves
def test_a_trace_of_halves_forgets_as_one_of_singles() -> None:
    settings = {"precision": "float32", "credit": "forget"}
    singles = train(make_problem(**settings)).trace
    halves = train(make_problem(**settings, trace_precision="float16")).trace
    np.testing.assert_allclose(halves.astype(np.float32), singles, rtol=0, atol=1e-3)
