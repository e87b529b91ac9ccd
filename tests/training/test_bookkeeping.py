"""The book-keeping identity: every change of a row is booked under its cause."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from training.helpers import LOSSES, OPTIMIZERS, make_problem, scatter_trace, train
from whereof.models import MODELS
from whereof.training.tables import Ledgers, RowTable

COMBINATIONS = {
    "model": st.sampled_from(sorted(MODELS)),
    "loss": st.sampled_from(LOSSES),
    "optimizer": st.sampled_from(OPTIMIZERS),
    "constraint": st.sampled_from(["none", "unit", "max:0.5"]),
    "batch_size": st.sampled_from([1, 2, 5, 100]),
    "inverse": st.booleans(),
    "sampling": st.sampled_from(["distinct", "independent"]),
    "negatives": st.sampled_from([1, 4, "all"]),
    "l2": st.sampled_from([0.0, 0.1]),
    "seed": st.integers(0, 1000),
}
CLOSE = {"rtol": 0, "atol": 1e-12}


def other_causes(table: RowTable) -> Any:
    """What negatives, drift and projection changed; a ledger that is not kept has no rows."""
    kept = (ledger for ledger in (table.negatives, table.drift, table.projection) if len(ledger))
    return sum(kept, np.zeros_like(table.owned))


@settings(max_examples=40)
@given(st.fixed_dictionaries(COMBINATIONS))
def test_trace_and_ledgers_add_up_to_the_change(choices: dict[str, Any]) -> None:
    problem = make_problem(credit="step", **choices)
    trainer = train(problem, ledgers=Ledgers.ALL)
    rows = trainer.parameters().entity_rows, trainer.parameters().relation_rows
    traces = scatter_trace(problem, trainer.trace)
    for i, table in enumerate(trainer.read()):
        change = rows[i] - problem.initial_rows()[i]
        np.testing.assert_allclose(traces[i] + other_causes(table), change, **CLOSE)
        np.testing.assert_allclose(table.owned, traces[i], **CLOSE)


@settings(max_examples=40)
@given(st.fixed_dictionaries(COMBINATIONS))
def test_ledgers_add_up_to_the_change_when_credit_is_by_source(choices: dict[str, Any]) -> None:
    problem = make_problem(credit="source", **choices)
    trainer = train(problem, ledgers=Ledgers.ALL)
    rows = trainer.parameters().entity_rows, trainer.parameters().relation_rows
    for i, table in enumerate(trainer.read()):
        change = rows[i] - problem.initial_rows()[i]
        np.testing.assert_allclose(table.owned + other_causes(table), change, **CLOSE)


@settings(max_examples=20)
@given(st.fixed_dictionaries(COMBINATIONS), st.sampled_from(["step", "source"]))
def test_keeping_the_negatives_ledger_changes_nothing(choices: dict[str, Any], credit: str) -> None:
    problem = make_problem(credit=credit, **choices)
    plain, kept = train(problem), train(problem, ledgers=Ledgers.ALL)
    np.testing.assert_allclose(
        plain.parameters().entity_rows, kept.parameters().entity_rows, rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(plain.trace, kept.trace, rtol=0, atol=1e-9)
