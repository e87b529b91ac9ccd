"""Half precision compared with NumPy's, and recording in every precision."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from training.helpers import make_problem, train
from whereof.training._trace import from_half, record, to_half

ALL_BITS = np.arange(1 << 16, dtype=np.uint16)
ALL_HALVES = ALL_BITS.view(np.float16).astype(np.float64)


def numpy_half(number: float) -> np.uint16:
    with np.errstate(over="ignore"):
        return np.float64(number).astype(np.float16).view(np.uint16)


def test_every_half_reads_as_numpy_reads_it() -> None:
    numbers = np.array([from_half(int(bits)) for bits in ALL_BITS])
    assert np.array_equal(numbers, ALL_HALVES, equal_nan=True)
    assert np.array_equal(np.signbit(numbers[numbers == 0]), [False, True])


def test_every_half_writes_back_to_its_own_bits() -> None:
    kept = ~np.isnan(ALL_HALVES)
    assert [to_half(number) for number in ALL_HALVES[kept]] == ALL_BITS[kept].tolist()


@given(st.floats(width=64))
@example(65519.999)
@example(65520.0)
@example(2.0**-25)  # a tie between zero and the least subnormal
@example(np.nextafter(2.0**-25, 1))
@example(-0.0)
@example(1023.5 * 2.0**-24)  # a subnormal that rounds up to the least normal
def test_numbers_round_as_in_numpy(number: float) -> None:
    if np.isnan(number):
        assert np.isnan(from_half(to_half(number)))
    else:
        assert to_half(number) == numpy_half(number)


@given(st.integers(0, 0x7BFE), st.sampled_from([-1.0, 1.0]), st.sampled_from([0.49, 0.5, 0.51]))
def test_numbers_between_two_halves_go_to_the_nearer_and_ties_to_even(
    bits: int, sign: float, part: float
) -> None:
    low, high = ALL_HALVES[bits], ALL_HALVES[bits + 1]
    number = sign * (low + part * (high - low))
    assert to_half(number) == numpy_half(number)


@pytest.mark.parametrize("precision", [np.float16, np.float32, np.float64])
def test_credit_is_added_in_the_precision_of_the_trace(precision: type) -> None:
    rng = np.random.default_rng(0)
    row, credit = rng.normal(size=50).astype(precision), rng.normal(size=50).astype(np.float32)
    wanted = (row.astype(np.float64) + credit).astype(precision)
    record(row.view(np.uint16) if precision is np.float16 else row, credit)
    np.testing.assert_array_equal(row, wanted)


@pytest.mark.slow  # compiles the training step for halves
def test_a_trace_of_halves_is_close_to_one_of_singles() -> None:
    settings = {"precision": "float32", "credit": "step"}
    singles = train(make_problem(**settings)).trace
    halves = train(make_problem(**settings, trace_precision="float16")).trace
    assert halves.dtype == np.float16
    assert np.abs(singles).max() > 0.1
    np.testing.assert_allclose(halves.astype(np.float32), singles, rtol=0, atol=1e-3)
