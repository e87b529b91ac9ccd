"""SimplE: two vectors per entity (as subject, as object) and per relation."""

from typing import Any

from whereof.models.model import CudaCode, Model, Widths


def query(s: Any, r: Any, q: Any) -> None:
    h = q.shape[0] // 2
    for k in range(h):
        q[k] = 0.5 * s[h + k] * r[h + k]
        q[h + k] = 0.5 * s[k] * r[k]


def query_vjp(s: Any, r: Any, dq: Any, ds: Any, dr: Any) -> None:
    h = dq.shape[0] // 2
    for k in range(h):
        ds[k] = 0.5 * dq[h + k] * r[k]
        ds[h + k] = 0.5 * dq[k] * r[h + k]
        dr[k] = 0.5 * dq[h + k] * s[k]
        dr[h + k] = 0.5 * dq[k] * s[h + k]


MODEL = Model(
    name="simple",
    title="SimplE",
    formula="1/2 (<h_s, r, t_o> + <h_o, r-, t_s>), rows [h, t] and [r, r-]",
    citation="Kazemi and Poole, SimplE Embedding for Link Prediction in Knowledge Graphs, "
    "NeurIPS 2018",
    match="dot",
    widths=lambda dim: Widths(entity=2 * dim, relation=2 * dim, query=2 * dim),
    query=query,
    query_vjp=query_vjp,
    trilinear=True,
    cuda=CudaCode(
        query="""
            FOR_EACH(k, QUERY_WIDTH / 2) {
              int i = QUERY_WIDTH / 2 + k;
              q[k] = (Number)0.5 * s[i] * r[i];
              q[i] = (Number)0.5 * s[k] * r[k];
            }
        """,
        query_vjp="""
            FOR_EACH(k, QUERY_WIDTH / 2) {
              int i = QUERY_WIDTH / 2 + k;
              ds[k] = (Number)0.5 * dq[i] * r[k];
              ds[i] = (Number)0.5 * dq[k] * r[i];
              dr[k] = (Number)0.5 * dq[i] * s[k];
              dr[i] = (Number)0.5 * dq[k] * s[i];
            }
        """,
    ),
)
