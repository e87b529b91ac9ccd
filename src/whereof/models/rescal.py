"""RESCAL: a full matrix per relation, stored as one row of width h^2."""

from typing import Any

from whereof.models.model import CudaCode, Model, Widths


def query(s: Any, r: Any, q: Any) -> None:
    h = q.shape[0]
    for k in range(h):
        q[k] = 0
    for i in range(h):
        for k in range(h):
            q[k] += s[i] * r[i * h + k]


def query_vjp(s: Any, r: Any, dq: Any, ds: Any, dr: Any) -> None:
    h = dq.shape[0]
    for i in range(h):
        total = dq[0] * r[i * h]
        for k in range(1, h):
            total += dq[k] * r[i * h + k]
        ds[i] = total
        for k in range(h):
            dr[i * h + k] = s[i] * dq[k]


MODEL = Model(
    name="rescal",
    title="RESCAL",
    formula="s^T R o",
    citation="Nickel, Tresp and Kriegel, A Three-Way Model for Collective Learning on "
    "Multi-Relational Data, ICML 2011",
    match="dot",
    widths=lambda dim: Widths(entity=dim, relation=dim * dim, query=dim),
    query=query,
    query_vjp=query_vjp,
    trilinear=True,
    cuda=CudaCode(
        query="""
            FOR_EACH(k, QUERY_WIDTH) {
              q[k] = 0;
              for (int i = 0; i < QUERY_WIDTH; i++) q[k] += s[i] * r[i * QUERY_WIDTH + k];
            }
        """,
        query_vjp="""
            FOR_EACH(i, QUERY_WIDTH) {
              const Number *row = r + i * QUERY_WIDTH;
              Number total = dq[0] * row[0];
              for (int k = 1; k < QUERY_WIDTH; k++) total += dq[k] * row[k];
              ds[i] = total;
              for (int k = 0; k < QUERY_WIDTH; k++) dr[i * QUERY_WIDTH + k] = s[i] * dq[k];
            }
        """,
    ),
)
