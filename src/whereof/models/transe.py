"""TransE: a relation is a translation; the score is minus an L1 or L2 distance."""

from dataclasses import replace
from typing import Any

from whereof.models.model import CudaCode, Model, Widths


def query(s: Any, r: Any, q: Any) -> None:
    for k in range(q.shape[0]):
        q[k] = s[k] + r[k]


def query_vjp(s: Any, r: Any, dq: Any, ds: Any, dr: Any) -> None:
    for k in range(dq.shape[0]):
        ds[k] = dq[k]
        dr[k] = dq[k]


MODEL = Model(
    name="transe",
    title="TransE (L1)",
    formula="-|s + r - o|_1",
    citation="Bordes et al., Translating Embeddings for Modeling Multi-relational Data, "
    "NeurIPS 2013",
    match="l1",
    widths=lambda dim: Widths(entity=dim, relation=dim, query=dim),
    query=query,
    query_vjp=query_vjp,
    cuda=CudaCode(
        query="FOR_EACH(k, QUERY_WIDTH) q[k] = s[k] + r[k];",
        query_vjp="FOR_EACH(k, QUERY_WIDTH) ds[k] = dr[k] = dq[k];",
    ),
)

L2 = replace(MODEL, name="transe-l2", title="TransE (L2)", formula="-|s + r - o|_2", match="l2")
