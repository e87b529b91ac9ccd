"""Scoring many rows equals scoring each; match gradients against finite differences."""

import numpy as np
import pytest

from whereof.models.match import (
    MATCH_IDS,
    add_query_gradients,
    add_row_gradient,
    match,
    score_rows,
)

WIDTH = 6
KINDS = [("dot", WIDTH), ("dot", WIDTH + 1), ("l1", WIDTH), ("l2", WIDTH)]


def make_query_and_rows(query_width: int, n_rows: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Rows carry moments behind them, which no score may read."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, 3 * WIDTH))
    rows[:, WIDTH:] = np.nan
    return rng.normal(size=query_width), rows


@pytest.mark.parametrize(("kind", "query_width"), KINDS)
@pytest.mark.parametrize("n_ids", [0, 1, 7, 50])
def test_scoring_all_rows_equals_scoring_each(kind: str, query_width: int, n_ids: int) -> None:
    q, rows = make_query_and_rows(query_width)
    ids = np.random.default_rng(1).integers(0, len(rows), n_ids).astype(np.int32)
    scores = np.full(n_ids, np.nan)
    score_rows(MATCH_IDS[kind], q, rows, ids, WIDTH, scores)
    each = [match(MATCH_IDS[kind], q, rows[i], WIDTH) for i in ids]
    np.testing.assert_allclose(scores, each, rtol=1e-14)


@pytest.mark.parametrize(("kind", "query_width"), KINDS)
def test_scores_are_what_their_name_says(kind: str, query_width: int) -> None:
    q, rows = make_query_and_rows(query_width)
    row = rows[0, :WIDTH]
    offset = q[WIDTH:].sum()
    wanted = {
        "dot": q[:WIDTH] @ row + offset,
        "l1": -np.abs(q[:WIDTH] - row).sum(),
        "l2": -np.linalg.norm(q[:WIDTH] - row),
    }
    assert match(MATCH_IDS[kind], q, rows[0], WIDTH) == pytest.approx(wanted[kind], rel=1e-12)


@pytest.mark.parametrize(("kind", "query_width"), KINDS)
def test_row_gradients_match_finite_differences(kind: str, query_width: int) -> None:
    q, rows = make_query_and_rows(query_width)
    row, gradient = rows[0, :WIDTH].copy(), np.ones(WIDTH)
    add_row_gradient(MATCH_IDS[kind], q, row, 0.7, WIDTH, gradient)
    for k in range(WIDTH):
        kept, values = row[k], []
        for row[k] in (kept + 1e-6, kept - 1e-6):
            values.append(match(MATCH_IDS[kind], q, row, WIDTH))
        row[k] = kept
        slope = 0.7 * (values[0] - values[1]) / 2e-6
        assert gradient[k] == pytest.approx(1 + slope, abs=1e-8), "it adds to what is there"


@pytest.mark.parametrize(("kind", "query_width"), KINDS)
@pytest.mark.parametrize("n_ids", [1, 4, 7])
def test_query_gradients_match_finite_differences(kind: str, query_width: int, n_ids: int) -> None:
    q, rows = make_query_and_rows(query_width)
    rng = np.random.default_rng(2)
    ids, weights = rng.integers(0, len(rows), n_ids).astype(np.int32), rng.normal(size=n_ids)
    gradient = np.ones(query_width)
    add_query_gradients(MATCH_IDS[kind], q, rows, ids, weights, WIDTH, gradient)
    for k in range(query_width):
        kept, values = q[k], []
        for q[k] in (kept + 1e-6, kept - 1e-6):
            scores = [match(MATCH_IDS[kind], q, rows[i], WIDTH) for i in ids]
            values.append(weights @ scores)
        q[k] = kept
        slope = (values[0] - values[1]) / 2e-6
        assert gradient[k] == pytest.approx(1 + slope, abs=1e-8)


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_a_perfect_hit_has_no_slope(kind: str) -> None:
    row, gradient = np.arange(WIDTH, dtype=float), np.zeros(WIDTH)
    add_row_gradient(MATCH_IDS[kind], row.copy(), row, 1.0, WIDTH, gradient)
    assert not gradient.any()
