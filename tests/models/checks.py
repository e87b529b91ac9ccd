"""Checks for every model, ours or others'."""

import numpy as np

from models.formulas import Formula, Vector
from whereof.models import Model
from whereof.models.match import MATCH_IDS, match


def random_rows(model: Model, dim: int, seed: int = 0) -> tuple[Vector, Vector, Vector]:
    """Rows of a subject, a relation and an object."""
    widths, rng = model.widths(dim), np.random.default_rng(seed)
    return tuple(rng.normal(size=n) for n in (widths.entity, widths.relation, widths.entity))


def query_of(model: Model, s: Vector, r: Vector, dim: int) -> Vector:
    q = np.full(model.widths(dim).query, np.nan)
    model.query(s, r, q)
    return q


def check_query_vjp(model: Model, dim: int) -> None:
    """Compare query_vjp with central differences, in every coordinate of both rows."""
    s, r, _ = random_rows(model, dim)
    dq = np.random.default_rng(1).normal(size=model.widths(dim).query)
    ds, dr = np.full_like(s, np.nan), np.full_like(r, np.nan)
    model.query_vjp(s, r, dq, ds, dr)
    for row, slopes in ((s, ds), (r, dr)):
        for k in range(len(row)):
            kept, values = row[k], []
            for row[k] in (kept + 1e-5, kept - 1e-5):
                values.append(dq @ query_of(model, s, r, dim))
            row[k] = kept
            np.testing.assert_allclose(slopes[k], (values[0] - values[1]) / 2e-5, atol=1e-8)


def check_score(model: Model, formula: Formula, dim: int) -> None:
    """Compare the match of the query with the formula of the score."""
    for seed in range(5):
        s, r, o = random_rows(model, dim, seed)
        score = match(MATCH_IDS[model.match], query_of(model, s, r, dim), o, len(o))
        np.testing.assert_allclose(score, formula(s, r, o)[0], rtol=1e-12, atol=1e-12)


def check_slopes(model: Model, formula: Formula, dim: int) -> None:
    """Compare the formula's derivatives with central differences: this tests the oracle too."""
    rows = random_rows(model, dim)
    slopes = formula(*rows)[1]
    for row, slope in zip(rows, slopes, strict=True):
        assert slope.shape == row.shape
        for k in range(len(row)):
            kept, values = row[k], []
            for row[k] in (kept + 1e-5, kept - 1e-5):
                values.append(formula(*rows)[0])
            row[k] = kept
            np.testing.assert_allclose(slope[k], (values[0] - values[1]) / 2e-5, atol=1e-8)
