"""Losses: values at known scores, derivatives by finite differences, extreme scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whereof.training.losses import sigmoid_loss, softmax_loss, squared_loss

LOSSES = [softmax_loss, sigmoid_loss]
SCORES = st.lists(st.floats(-20, 20), min_size=1, max_size=6)


@pytest.mark.parametrize("loss", LOSSES)
@given(scores=SCORES)
def test_slopes_match_finite_differences(loss, scores) -> None:
    slopes = np.array(scores)
    loss(slopes)
    for j in range(len(scores)):
        up, down = np.array(scores), np.array(scores)
        up[j] += 1e-5
        down[j] -= 1e-5
        assert slopes[j] == pytest.approx((loss(up) - loss(down)) / 2e-5, abs=1e-8)


def test_losses_of_equal_scores() -> None:
    assert softmax_loss(np.zeros(4)) == pytest.approx(np.log(4))
    assert sigmoid_loss(np.zeros(4)) == pytest.approx(np.log(2))


def test_squared_loss_is_half_the_square_of_the_miss() -> None:
    scores = np.array([2.5])
    assert squared_loss(scores, 4.0) == 1.125
    assert scores[0] == -1.5


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_losses_stay_finite_far_out(loss, dtype) -> None:
    scores = np.array([-1e4, 1e4, -1e4], dtype)
    n = 1 if loss is softmax_loss else 3
    assert loss(scores) == pytest.approx(2e4 / n)
    np.testing.assert_allclose(scores, [-1 / n, 1 / n, 0], atol=1e-6)
    assert loss(np.array([1e4, -1e4, -1e4], dtype)) == 0
