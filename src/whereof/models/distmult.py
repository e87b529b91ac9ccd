"""DistMult: a bilinear score with a diagonal matrix per relation."""

from typing import Any

from whereof.models.model import CudaCode, Model, Widths


def query(s: Any, r: Any, q: Any) -> None:
    for k in range(q.shape[0]):
        q[k] = s[k] * r[k]


def query_vjp(s: Any, r: Any, dq: Any, ds: Any, dr: Any) -> None:
    for k in range(dq.shape[0]):
        ds[k] = dq[k] * r[k]
        dr[k] = dq[k] * s[k]


MODEL = Model(
    name="distmult",
    title="DistMult",
    formula="<s, r, o>",
    citation="Yang et al., Embedding Entities and Relations for Learning and Inference in "
    "Knowledge Bases, ICLR 2015",
    match="dot",
    widths=lambda dim: Widths(entity=dim, relation=dim, query=dim),
    query=query,
    query_vjp=query_vjp,
    trilinear=True,
    cuda=CudaCode(
        query="FOR_EACH(k, QUERY_WIDTH) q[k] = s[k] * r[k];",
        query_vjp="""
            FOR_EACH(k, QUERY_WIDTH) {
              ds[k] = dq[k] * r[k];
              dr[k] = dq[k] * s[k];
            }
        """,
    ),
)
