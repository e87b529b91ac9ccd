"""The model of docs/add-a-model.md trains like ours."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from training.helpers import LOSSES, OPTIMIZERS, check_by_oracle, make_problem, train

from models.checks import check_query_vjp, check_score, check_slopes
from models.formulas import Slopes, Vector
from whereof import registry
from whereof.models import CudaCode, Model, Widths, find_model, register


def query(s: Any, r: Any, q: Any) -> None:
    h = r.shape[0]
    for k in range(h):
        q[k] = 0
        q[h + k] = s[k] * r[k]


def query_vjp(s: Any, r: Any, dq: Any, ds: Any, dr: Any) -> None:
    h = r.shape[0]
    for k in range(h):
        ds[k] = dq[h + k] * r[k]
        ds[h + k] = 0
        dr[k] = dq[h + k] * s[k]


CP = Model(
    name="cp",
    title="CP",
    formula="<h_s, r, t_o>, rows [h, t]",
    citation="Hitchcock, The Expression of a Tensor or a Polyadic as a Sum of Products, 1927",
    match="dot",
    widths=lambda dim: Widths(entity=2 * dim, relation=dim, query=2 * dim),
    query=query,
    query_vjp=query_vjp,
    trilinear=True,
    cuda=CudaCode(
        query="""
            FOR_EACH(k, RELATION_WIDTH) {
              q[k] = 0;
              q[RELATION_WIDTH + k] = s[k] * r[k];
            }
        """,
        query_vjp="""
            FOR_EACH(k, RELATION_WIDTH) {
              ds[k] = dq[RELATION_WIDTH + k] * r[k];
              ds[RELATION_WIDTH + k] = 0;
              dr[k] = dq[RELATION_WIDTH + k] * s[k];
            }
        """,
    ),
)


def cp(s: Vector, r: Vector, o: Vector) -> tuple[float, Slopes]:
    (head, unused), (idle, tail) = np.split(s, 2), np.split(o, 2)
    d_s = np.concatenate([r * tail, np.zeros_like(unused)])
    d_o = np.concatenate([np.zeros_like(idle), head * r])
    return float(np.sum(head * r * tail)), (d_s, head * tail, d_o)


def test_its_gradient_and_score_are_right() -> None:
    check_query_vjp(CP, 5)
    check_slopes(CP, cp, 5)
    check_score(CP, cp, 5)


@pytest.fixture
def registered() -> Iterator[None]:
    register(CP)
    yield
    del registry._ADDED[registry.MODELS, "cp"]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.usefixtures("registered")
def test_it_trains_by_the_contract(optimizer: str, loss: str) -> None:
    problem = make_problem(
        model=find_model("cp"), optimizer=optimizer, loss=loss, batch_size=3, inverse=True
    )
    trainer = train(problem)
    check_by_oracle(problem, trainer, formula=cp)
    assert not np.allclose(trainer.parameters().entity_rows, problem.initial_rows()[0])
