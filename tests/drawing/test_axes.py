"""Ticks are round, even and around the data; numbers stand where they belong."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whereof.drawing._axes import Scale, nice_ticks, tick_texts

FINITE = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-100)


@given(st.lists(FINITE, min_size=1, max_size=5))
def test_ticks_cover_the_data_evenly(values: list[float]) -> None:
    ticks = nice_ticks(values)
    room = 1e-6 * (ticks[-1] - ticks[0])
    assert ticks[0] - room <= min(values) <= max(values) <= ticks[-1] + room
    assert 2 <= len(ticks) <= 8
    steps = [after - before for before, after in pairwise(ticks)]
    assert max(steps) == pytest.approx(min(steps), rel=1e-3)
    assert len(set(tick_texts(ticks))) == len(ticks)


def test_ticks_are_round() -> None:
    assert nice_ticks([0.03, 0.97]) == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    assert nice_ticks([0, 261]) == (0.0, 100.0, 200.0, 300.0)
    assert nice_ticks([0.86, 0.93]) == (0.86, 0.88, 0.9, 0.92, 0.94)


def test_what_is_no_number_is_passed_over() -> None:
    assert nice_ticks([None, math.nan, math.inf, 1.0, 2.0]) == nice_ticks([1.0, 2.0])
    assert nice_ticks([]) == nice_ticks([0.0, 1.0])


def test_one_value_stands_within_a_range() -> None:
    for value in (0.0, 5.0, -3.0):
        ticks = nice_ticks([value, value])
        assert ticks[0] < value < ticks[-1]


def test_tick_texts_have_the_digits_they_need() -> None:
    assert tick_texts((0.0, 0.25, 0.5)) == ["0.00", "0.25", "0.50"]
    assert tick_texts((0.0, 0.5, 1.0), percent=True) == ["0%", "50%", "100%"]
    assert tick_texts((-2000.0, 0.0)) == ["\N{MINUS SIGN}2,000", "0"]


def test_a_scale_runs_either_way() -> None:
    assert Scale((0.0, 1.0), 10, 110).at(0.25) == 35
    assert Scale((0.0, 1.0), 110, 10).at(0.25) == 85
