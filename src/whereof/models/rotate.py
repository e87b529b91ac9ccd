"""RotatE: a relation rotates every complex coordinate of the subject."""

import math
from typing import Any

from whereof.models.model import CudaCode, Model, Widths


def query(s: Any, r: Any, q: Any) -> None:
    h = r.shape[0]
    for k in range(h):
        cos, sin = math.cos(r[k]), math.sin(r[k])
        q[k] = s[k] * cos - s[h + k] * sin
        q[h + k] = s[k] * sin + s[h + k] * cos


def query_vjp(s: Any, r: Any, dq: Any, ds: Any, dr: Any) -> None:
    h = r.shape[0]
    for k in range(h):
        cos, sin = math.cos(r[k]), math.sin(r[k])
        re, im = s[k] * cos - s[h + k] * sin, s[k] * sin + s[h + k] * cos
        ds[k] = dq[k] * cos + dq[h + k] * sin
        ds[h + k] = dq[h + k] * cos - dq[k] * sin
        dr[k] = dq[h + k] * re - dq[k] * im


MODEL = Model(
    name="rotate",
    title="RotatE",
    formula="-|s e^(ir) - o|_2",
    citation="Sun et al., RotatE: Knowledge Graph Embedding by Relational Rotation in Complex "
    "Space, ICLR 2019",
    match="l2",
    widths=lambda dim: Widths(entity=2 * dim, relation=dim, query=2 * dim),
    query=query,
    query_vjp=query_vjp,
    entity_parts=2,
    relation_phases=True,
    cuda=CudaCode(
        query="""
            FOR_EACH(k, RELATION_WIDTH) {
              int i = RELATION_WIDTH + k;
              Number c = cos(r[k]), d = sin(r[k]);
              q[k] = s[k] * c - s[i] * d;
              q[i] = s[k] * d + s[i] * c;
            }
        """,
        query_vjp="""
            FOR_EACH(k, RELATION_WIDTH) {
              int i = RELATION_WIDTH + k;
              Number c = cos(r[k]), d = sin(r[k]);
              Number re = s[k] * c - s[i] * d, im = s[k] * d + s[i] * c;
              ds[k] = dq[k] * c + dq[i] * d;
              ds[i] = dq[i] * c - dq[k] * d;
              dr[k] = dq[i] * re - dq[k] * im;
            }
        """,
    ),
)
