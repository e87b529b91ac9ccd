"""ComplEx: DistMult over the complex numbers, so that relations can be asymmetric."""

from typing import Any

from whereof.models.model import CudaCode, Model, Widths


def query(s: Any, r: Any, q: Any) -> None:
    h = q.shape[0] // 2
    for k in range(h):
        q[k] = s[k] * r[k] - s[h + k] * r[h + k]
        q[h + k] = s[k] * r[h + k] + s[h + k] * r[k]


def query_vjp(s: Any, r: Any, dq: Any, ds: Any, dr: Any) -> None:
    h = dq.shape[0] // 2
    for k in range(h):
        ds[k] = dq[k] * r[k] + dq[h + k] * r[h + k]
        ds[h + k] = dq[h + k] * r[k] - dq[k] * r[h + k]
        dr[k] = dq[k] * s[k] + dq[h + k] * s[h + k]
        dr[h + k] = dq[h + k] * s[k] - dq[k] * s[h + k]


MODEL = Model(
    name="complex",
    title="ComplEx",
    formula="Re <s, r, conj(o)>",
    citation="Trouillon et al., Complex Embeddings for Simple Link Prediction, ICML 2016",
    match="dot",
    widths=lambda dim: Widths(entity=2 * dim, relation=2 * dim, query=2 * dim),
    query=query,
    query_vjp=query_vjp,
    entity_parts=2,
    relation_parts=2,
    trilinear=True,
    cuda=CudaCode(
        query="""
            FOR_EACH(k, QUERY_WIDTH / 2) {
              int i = QUERY_WIDTH / 2 + k;
              q[k] = s[k] * r[k] - s[i] * r[i];
              q[i] = s[k] * r[i] + s[i] * r[k];
            }
        """,
        query_vjp="""
            FOR_EACH(k, QUERY_WIDTH / 2) {
              int i = QUERY_WIDTH / 2 + k;
              ds[k] = dq[k] * r[k] + dq[i] * r[i];
              ds[i] = dq[i] * r[k] - dq[k] * r[i];
              dr[k] = dq[k] * s[k] + dq[i] * s[i];
              dr[i] = dq[i] * s[k] - dq[k] * s[i];
            }
        """,
    ),
)
