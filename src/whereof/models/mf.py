"""Matrix factorisation of two-way data (users and items), with or without biases."""

from dataclasses import replace
from typing import Any

from whereof.models.model import CudaCode, Model, Widths


def query(s: Any, r: Any, q: Any) -> None:
    for k in range(q.shape[0]):
        q[k] = s[k]


def query_vjp(s: Any, r: Any, dq: Any, ds: Any, dr: Any) -> None:
    for k in range(dq.shape[0]):
        ds[k] = dq[k]


def biased_query(s: Any, r: Any, q: Any) -> None:
    """Rows are [vector, bias]; the subject's bias is the offset of the query."""
    h = q.shape[0] - 2
    for k in range(h):
        q[k] = s[k]
    q[h] = 1
    q[h + 1] = s[h]


def biased_query_vjp(s: Any, r: Any, dq: Any, ds: Any, dr: Any) -> None:
    h = dq.shape[0] - 2
    for k in range(h):
        ds[k] = dq[k]
    ds[h] = dq[h + 1]


MODEL = Model(
    name="mf",
    title="Matrix factorisation",
    formula="<s, o>",
    citation="Koren, Bell and Volinsky, Matrix Factorization Techniques for Recommender Systems, "
    "Computer 42(8), 2009",
    match="dot",
    widths=lambda dim: Widths(entity=dim, relation=0, query=dim),
    query=query,
    query_vjp=query_vjp,
    two_way=True,
    cuda=CudaCode(
        query="FOR_EACH(k, QUERY_WIDTH) q[k] = s[k];",
        query_vjp="FOR_EACH(k, QUERY_WIDTH) ds[k] = dq[k];",
    ),
)

BIASED = replace(
    MODEL,
    name="mf-biased",
    title="Matrix factorisation with biases",
    formula="<s, o> + b_s + b_o",
    widths=lambda dim: Widths(entity=dim + 1, relation=0, query=dim + 2),
    query=biased_query,
    query_vjp=biased_query_vjp,
    cuda=CudaCode(
        query="""
            FOR_EACH(k, WIDTH) q[k] = k < WIDTH - 1 ? s[k] : 1;
            if (THREAD == 0) q[WIDTH] = s[WIDTH - 1];
        """,
        query_vjp="FOR_EACH(k, WIDTH) ds[k] = dq[k < WIDTH - 1 ? k : WIDTH];",
    ),
)
